#include "SourceUnits.h"

namespace retile::frontend {
namespace {

bool hasBody(const clang::Decl* decl) {
  if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl))
    return !linkage->decls_empty() && hasBody(*linkage->decls_begin());
  if (const auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl))
    decl = pattern->getTemplatedDecl();
  const auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl);
  return function && function->doesThisDeclarationHaveABody() && !function->isDefaulted() &&
         !function->isDeleted();
}

} // namespace

std::vector<Identifier> identifiers(llvm::StringRef text, const clang::LangOptions& language) {
  std::vector<Identifier> out;
  const std::string copy = text.str();
  clang::Lexer lexer(clang::SourceLocation(), language, copy.data(), copy.data(), copy.data() + copy.size());
  clang::Token token;
  clang::tok::TokenKind before = clang::tok::unknown;
  while (true) {
    const bool last = lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::raw_identifier)) {
      const size_t offset = token.getRawIdentifier().data() - copy.data();
      const bool inside = offset < copy.size();
      if (inside)
        out.push_back({text.substr(offset, token.getLength()),
                       before == clang::tok::period || before == clang::tok::arrow});
    }
    before = token.getKind();
    if (last || token.is(clang::tok::eof))
      return out;
  }
}

SourceUnits::SourceUnits(clang::ASTContext& context)
    : sources(context.getSourceManager()), language(context.getLangOpts()) {
  std::vector<const clang::DeclContext*> contexts;
  gather(context.getTranslationUnitDecl(), contexts);
  merge();
}

llvm::StringRef SourceUnits::text(const SourceUnit& unit) const {
  return sources.getBufferData(unit.file).slice(unit.begin, unit.end);
}

void SourceUnits::gather(const clang::DeclContext* within, std::vector<const clang::DeclContext*>& contexts) {
  for (const clang::Decl* decl : within->decls()) {
    const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl);
    if (!linkage && (decl->isImplicit() || !isUserCode(sources, decl->getLocation())))
      continue;
    if (linkage && !isUserCode(sources, linkage->getBeginLoc()))
      continue;
    if (llvm::isa<clang::NamespaceDecl>(decl) || (linkage && linkage->hasBraces())) {
      contexts.push_back(llvm::cast<clang::DeclContext>(decl));
      gather(contexts.back(), contexts);
      contexts.pop_back();
    } else if (!llvm::isa<clang::EmptyDecl>(decl)) {
      add(decl, contexts);
    }
  }
}

std::optional<SourceUnit> SourceUnits::made(const clang::Decl* decl) const {
  SourceUnit unit;
  unit.start = sources.getExpansionLoc(decl->getBeginLoc());
  const clang::SourceLocation last = sources.getExpansionRange(decl->getEndLoc()).getEnd();
  if (unit.start.isInvalid() || last.isInvalid())
    return std::nullopt;
  unit.file = sources.getFileID(unit.start);
  if (sources.getFileID(last) != unit.file)
    return std::nullopt;
  unit.begin = sources.getFileOffset(unit.start);
  unit.end = sources.getFileOffset(last) + clang::Lexer::MeasureTokenLength(last, sources, language);
  unit.isExpansion = decl->getLocation().isMacroID() &&
                     sources.getExpansionLoc(decl->getLocation()) == unit.start &&
                     sources.getExpansionLoc(decl->getEndLoc()) == unit.start;
  unit.decls = {decl};
  if (!hasBody(decl))
    closeWithSemicolon(unit);
  return unit;
}

void SourceUnits::add(const clang::Decl* decl, const std::vector<const clang::DeclContext*>& contexts) {
  auto unit = made(decl);
  if (!unit)
    return;
  unit->contexts = contexts;
  units.push_back(std::move(*unit));
}

std::optional<std::pair<unsigned, unsigned>> SourceUnits::extentOf(const clang::Decl* decl) const {
  const auto unit = made(decl);
  if (!unit || unit->isExpansion)
    return std::nullopt;
  return std::pair(unit->begin, unit->end);
}

/// Moves the end behind the next semicolon at this nesting; a macro use may go without one.
void SourceUnits::closeWithSemicolon(SourceUnit& unit) const {
  const llvm::StringRef buffer = sources.getBufferData(unit.file);
  clang::Lexer lexer(sources.getLocForStartOfFile(unit.file), language, buffer.begin(),
                     buffer.begin() + unit.end, buffer.end());
  clang::Token token;
  for (int depth = 0; depth >= 0;) {
    const bool last = lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::semi) && depth == 0) {
      unit.end = sources.getFileOffset(token.getEndLoc());
      return;
    }
    if (last || token.is(clang::tok::eof) || unit.isExpansion)
      return;
    if (token.isOneOf(clang::tok::l_paren, clang::tok::l_brace, clang::tok::l_square))
      ++depth;
    if (token.isOneOf(clang::tok::r_paren, clang::tok::r_brace, clang::tok::r_square))
      --depth;
  }
}

/// Joins units whose texts overlap and notes which unit each declaration is in.
void SourceUnits::merge() {
  std::sort(units.begin(), units.end(), [&](const SourceUnit& a, const SourceUnit& b) {
    if (a.start != b.start)
      return sources.isBeforeInTranslationUnit(a.start, b.start);
    return a.end > b.end;
  });
  std::vector<SourceUnit> joined;
  for (SourceUnit& unit : units) {
    if (!joined.empty() && joined.back().file == unit.file && unit.begin < joined.back().end &&
        unit.begin >= joined.back().begin) {
      SourceUnit& into = joined.back();
      into.end = std::max(into.end, unit.end);
      into.decls.insert(into.decls.end(), unit.decls.begin(), unit.decls.end());
    } else {
      joined.push_back(std::move(unit));
    }
  }
  units = std::move(joined);
  for (size_t i = 0; i < units.size(); ++i)
    for (const clang::Decl* decl : units[i].decls)
      byDecl[decl] = static_cast<int>(i);
}

int SourceUnits::unitOf(const clang::Decl* decl) const {
  while (decl) {
    if (auto found = byDecl.find(decl); found != byDecl.end())
      return found->second;
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl)) {
      if (const clang::FunctionTemplateDecl* described = function->getDescribedFunctionTemplate())
        if (auto found = byDecl.find(described); found != byDecl.end())
          return found->second;
      if (const clang::FunctionDecl* pattern = function->getTemplateInstantiationPattern();
          pattern && pattern != function)
        return unitOf(pattern);
    }
    if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(decl))
      if (const clang::ClassTemplateDecl* described = record->getDescribedClassTemplate())
        if (auto found = byDecl.find(described); found != byDecl.end())
          return found->second;
    const clang::DeclContext* around = decl->getLexicalDeclContext();
    decl = around && !around->isTranslationUnit() ? llvm::cast<clang::Decl>(around) : nullptr;
  }
  return -1;
}

} // namespace retile::frontend
