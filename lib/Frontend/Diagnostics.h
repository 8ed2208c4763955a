// Clang's diagnostics as a list, with where they are, so that each kernel can be judged by those that touch
// it.
#pragma once

#include "retile/Frontend/Frontend.h"

#include "ClangHeaders.h"

namespace retile::frontend {

/// An error of the parse with the notes that follow it.
struct ParseError {
  clang::SourceLocation location;              ///< expansion location; invalid for errors of the command line
  std::vector<clang::SourceLocation> involved; ///< of its notes: instantiations that led to it
  Message message;
  std::vector<Message> notes;
};

/// Keeps errors, drops warnings: the user's compiler reports those.
class DiagnosticList : public clang::DiagnosticConsumer {
public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override;

  std::vector<ParseError> errors;
  std::optional<std::string> missingHeader; ///< the first include that was not found
};

/// The errors that no kernel is blamed for, with their notes, at most `limit` of them and then a count.
std::vector<Message> forgiven(const std::vector<const ParseError*>& errors, bool strict, size_t limit = 20);

} // namespace retile::frontend
