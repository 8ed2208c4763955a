#include "Diagnostics.h"

#include "Types.h"

#include "clang/Basic/DiagnosticLex.h"

namespace retile::frontend {
namespace {

/// The text of the line that `where` is in.
std::string sourceLine(const clang::SourceManager& sources, clang::SourceLocation where) {
  const auto [file, offset] = sources.getDecomposedLoc(sources.getExpansionLoc(where));
  bool invalid = false;
  const llvm::StringRef buffer = sources.getBufferData(file, &invalid);
  if (invalid || offset > buffer.size())
    return "";
  const size_t begin = buffer.substr(0, offset).rfind('\n') + 1;
  return buffer.substr(begin).take_until([](char c) { return c == '\n' || c == '\r'; }).str();
}

Message toMessage(Message::Severity severity, const clang::Diagnostic& info) {
  llvm::SmallString<128> text;
  info.FormatDiagnostic(text);
  Message message{severity, {}, text.str().str(), ""};
  if (info.hasSourceManager() && info.getLocation().isValid()) {
    message.location = location(info.getSourceManager(), info.getLocation());
    message.sourceLine = sourceLine(info.getSourceManager(), info.getLocation());
  }
  return message;
}

} // namespace

void DiagnosticList::HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) {
  DiagnosticConsumer::HandleDiagnostic(level, info);
  const bool located = info.hasSourceManager() && info.getLocation().isValid();
  const clang::SourceLocation where =
      located ? info.getSourceManager().getExpansionLoc(info.getLocation()) : clang::SourceLocation();
  if (level >= clang::DiagnosticsEngine::Error) {
    errors.push_back({where, {}, toMessage(Message::Error, info), {}});
    if (info.getID() == clang::diag::err_pp_file_not_found && !missingHeader)
      missingHeader = errors.back().message.text;
  } else if (level == clang::DiagnosticsEngine::Note && !errors.empty()) {
    if (located)
      errors.back().involved.push_back(where);
    if (errors.back().notes.size() < 3)
      errors.back().notes.push_back(toMessage(Message::Note, info));
  }
}

std::vector<Message> forgiven(const std::vector<const ParseError*>& errors, bool strict, size_t limit) {
  std::vector<Message> out;
  for (size_t i = 0; i < errors.size() && i < limit; ++i) {
    out.push_back(errors[i]->message);
    out.back().severity = strict ? Message::Error : Message::Warning;
    out.insert(out.end(), errors[i]->notes.begin(), errors[i]->notes.end());
  }
  if (errors.size() > limit)
    out.push_back(
        {Message::Note, {}, std::to_string(errors.size() - limit) + " more errors that touch no kernel", ""});
  return out;
}

} // namespace retile::frontend
