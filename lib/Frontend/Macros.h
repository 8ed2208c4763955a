// The user's macros: which of them are sizes that a tuner may override, and what a piece of text needs of
// them.
#pragma once

#include "ClangHeaders.h"

#include <cstdint>
#include <set>

namespace retile::frontend {

/// One #define in user code or on the command line.
struct MacroRecord {
  std::string name;
  const clang::MacroInfo* info = nullptr;
  clang::SourceLocation defined;
  clang::SourceLocation undefined; ///< invalid: never
  bool guarded = false;            ///< directly in an #ifndef of its own name
  bool commandLine = false;
  std::optional<std::int64_t> value; ///< the body is one integer literal
};

/// One #include in user code.
struct IncludeRecord {
  std::string name; ///< as spelled between the quotes or brackets
  bool angled = false;
  bool system = false; ///< the file that was found is not the user's
};

/// What the preprocessor saw, in order.
struct MacroLog {
  std::vector<IncludeRecord> includes;
  std::set<std::string> systemIncludes; ///< names that other headers include
  std::vector<MacroRecord> records;
  /// Where the name of a macro with a value was expanded: its place, and the index of the record.
  std::vector<std::pair<clang::SourceLocation, size_t>> expansions;
};

/// Callbacks that fill `log`, which must outlive the parse.
std::unique_ptr<clang::PPCallbacks> logMacros(clang::Preprocessor& preprocessor, MacroLog& log);

/// Object-like macros that are one integer literal, that the user may override (#ifndef-guarded, or given by
/// -D), and whose every expansion is an integer literal in run-time code of a function body: a different
/// value changes nothing but that number. See architecture.md, Sizes.
class TunableMacros {
public:
  TunableMacros() = default;
  TunableMacros(clang::ASTContext& context, const MacroLog& log,
                const std::vector<const clang::FunctionDecl*>& userFunctions);

  /// The macro that `literal` came out of, directly or as an argument of other macros.
  std::optional<std::string> nameFor(const clang::IntegerLiteral* literal,
                                     const clang::SourceManager& sources) const;

  const std::map<std::string, std::int64_t>& values() const { return tunable; }

private:
  std::map<std::string, std::int64_t> tunable;
};

} // namespace retile::frontend
