#include "Macros.h"

#include "Collect.h"

#include <set>

namespace retile::frontend {
namespace {

/// The value of a body that is one integer literal: 256, (256), -1, (-1), 64u. Nothing else has one.
std::optional<std::int64_t> integerBody(const clang::Preprocessor& preprocessor,
                                        const clang::MacroInfo& info) {
  if (info.isFunctionLike() || info.isBuiltinMacro())
    return std::nullopt;
  llvm::ArrayRef<clang::Token> tokens = info.tokens();
  while (tokens.size() >= 3 && tokens.front().is(clang::tok::l_paren) &&
         tokens.back().is(clang::tok::r_paren))
    tokens = tokens.drop_front().drop_back();
  const bool negative = tokens.size() == 2 && tokens.front().is(clang::tok::minus);
  if (negative)
    tokens = tokens.drop_front();
  if (tokens.size() != 1 || tokens[0].isNot(clang::tok::numeric_constant))
    return std::nullopt;
  const std::string text = preprocessor.getSpelling(tokens[0]);
  llvm::StringRef digits = llvm::StringRef(text).rtrim("uUlL");
  std::int64_t value = 0;
  if (digits.getAsInteger(0, value))
    return std::nullopt;
  return negative ? -value : value;
}

class MacroLogger : public clang::PPCallbacks {
public:
  MacroLogger(clang::Preprocessor& preprocessor, MacroLog& log)
      : preprocessor(preprocessor), sources(preprocessor.getSourceManager()), log(log) {}

  void MacroDefined(const clang::Token& name, const clang::MacroDirective* directive) override {
    const clang::SourceLocation at = name.getLocation();
    const bool commandLine = sources.isWrittenInCommandLineFile(at);
    if (!commandLine && !isUserCode(sources, at))
      return;
    MacroRecord record;
    record.name = name.getIdentifierInfo()->getName().str();
    record.info = directive->getMacroInfo();
    record.defined = at;
    record.commandLine = commandLine;
    record.guarded = !guards.empty() && guards.back() == record.name;
    record.value = integerBody(preprocessor, *record.info);
    byInfo[record.info] = log.records.size();
    log.records.push_back(std::move(record));
  }

  void MacroUndefined(const clang::Token& name, const clang::MacroDefinition& definition,
                      const clang::MacroDirective*) override {
    if (auto found = byInfo.find(definition.getMacroInfo()); found != byInfo.end())
      log.records[found->second].undefined = name.getLocation();
  }

  void MacroExpands(const clang::Token&, const clang::MacroDefinition& definition, clang::SourceRange range,
                    const clang::MacroArgs*) override {
    if (auto found = byInfo.find(definition.getMacroInfo());
        found != byInfo.end() && log.records[found->second].value)
      log.expansions.emplace_back(range.getBegin(), found->second);
  }

  void InclusionDirective(clang::SourceLocation hash, const clang::Token&, llvm::StringRef name, bool angled,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, llvm::StringRef,
                          llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind kind) override {
    if (!file)
      return;
    if (!isUserCode(sources, hash))
      log.systemIncludes.insert(name.str());
    else
      log.includes.push_back({name.str(), angled, clang::SrcMgr::isSystem(kind)});
  }

  void Ifndef(clang::SourceLocation, const clang::Token& name, const clang::MacroDefinition&) override {
    guards.push_back(name.getIdentifierInfo() ? name.getIdentifierInfo()->getName().str() : "");
  }
  void Ifdef(clang::SourceLocation, const clang::Token&, const clang::MacroDefinition&) override {
    guards.emplace_back();
  }
  void If(clang::SourceLocation, clang::SourceRange range, ConditionValueKind) override {
    guards.push_back(notDefined(range));
  }
  void Elif(clang::SourceLocation, clang::SourceRange, ConditionValueKind, clang::SourceLocation) override {
    other();
  }
  void Else(clang::SourceLocation, clang::SourceLocation) override { other(); }
  void Endif(clang::SourceLocation, clang::SourceLocation) override {
    if (!guards.empty())
      guards.pop_back();
  }

private:
  clang::Preprocessor& preprocessor;
  const clang::SourceManager& sources;
  MacroLog& log;
  llvm::DenseMap<const clang::MacroInfo*, size_t> byInfo;
  std::vector<std::string> guards; ///< by open conditional: the name it tests not to be defined, or nothing

  void other() {
    if (!guards.empty())
      guards.back().clear();
  }

  /// NAME of `#if !defined(NAME)` and of `#if !defined NAME`.
  std::string notDefined(clang::SourceRange range) const {
    llvm::StringRef text = clang::Lexer::getSourceText(clang::CharSourceRange::getCharRange(range), sources,
                                                       preprocessor.getLangOpts())
                               .trim();
    if (!text.consume_front("!"))
      return "";
    text = text.ltrim();
    if (!text.consume_front("defined"))
      return "";
    text = text.trim();
    if (text.consume_front("("))
      text = text.take_until([](char c) { return c == ')'; }).trim();
    return llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; }) ? text.str() : "";
  }
};

/// Where the name of the macro stands whose body `at` came out of; invalid for a place that is in no macro.
clang::SourceLocation expansionPoint(const clang::SourceManager& sources, clang::SourceLocation at) {
  while (at.isMacroID() && sources.isMacroArgExpansion(at))
    at = sources.getImmediateSpellingLoc(at);
  return at.isMacroID() ? sources.getImmediateExpansionRange(at).getBegin() : clang::SourceLocation();
}

/// The places of integer literals that only run-time code of function bodies reads.
class RunTimeLiterals {
public:
  RunTimeLiterals(const clang::SourceManager& sources) : sources(sources) {}

  void statement(const clang::Stmt* at) {
    // Constant expressions (case labels, template values, constexpr conditions) are part of the program's
    // shape.
    if (!at || llvm::isa<clang::ConstantExpr>(at))
      return;
    if (const auto* literal = llvm::dyn_cast<clang::IntegerLiteral>(at)) {
      if (auto point = expansionPoint(sources, literal->getLocation()); point.isValid())
        good.insert(point);
      return;
    }
    if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(at); branch && branch->isConstexpr())
      return children(at, branch->getCond());
    if (const auto* declared = llvm::dyn_cast<clang::DeclStmt>(at)) {
      for (const clang::Decl* decl : declared->decls())
        if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
            variable && !usableAsConstant(variable))
          statement(variable->getInit());
      return;
    }
    children(at, nullptr);
  }

  bool contains(clang::SourceLocation point) const { return good.contains(point); }

private:
  const clang::SourceManager& sources;
  std::set<clang::SourceLocation> good;

  void children(const clang::Stmt* at, const clang::Stmt* except) {
    for (const clang::Stmt* child : at->children())
      if (child != except)
        statement(child);
  }

  static bool usableAsConstant(const clang::VarDecl* variable) {
    return variable->isConstexpr() || variable->isStaticLocal() ||
           (variable->getType().isConstQualified() && variable->getType()->isIntegralOrEnumerationType());
  }
};

} // namespace

std::unique_ptr<clang::PPCallbacks> logMacros(clang::Preprocessor& preprocessor, MacroLog& log) {
  return std::make_unique<MacroLogger>(preprocessor, log);
}

TunableMacros::TunableMacros(clang::ASTContext& context, const MacroLog& log,
                             const std::vector<const clang::FunctionDecl*>& userFunctions) {
  std::map<std::string, int> definitions;
  std::map<std::string, std::int64_t> candidates;
  for (const MacroRecord& record : log.records) {
    ++definitions[record.name];
    const bool reserved = llvm::StringRef(record.name).starts_with("_");
    if (record.value && (record.guarded || record.commandLine) && record.undefined.isInvalid() && !reserved)
      candidates[record.name] = *record.value;
  }
  if (candidates.empty())
    return;
  RunTimeLiterals literals(context.getSourceManager());
  for (const clang::FunctionDecl* function : userFunctions)
    literals.statement(function->getBody());
  for (const auto& [point, record] : log.expansions)
    if (!literals.contains(point))
      candidates.erase(log.records[record].name);
  for (const auto& [name, value] : candidates)
    if (definitions[name] == 1)
      tunable.emplace(name, value);
}

std::optional<std::string> TunableMacros::nameFor(const clang::IntegerLiteral* literal,
                                                  const clang::SourceManager& sources) const {
  if (tunable.empty())
    return std::nullopt;
  const clang::SourceLocation point = expansionPoint(sources, literal->getLocation());
  if (point.isInvalid())
    return std::nullopt;
  clang::SmallString<32> buffer;
  const llvm::StringRef text =
      clang::Lexer::getSpelling(sources.getSpellingLoc(point), buffer, sources, clang::LangOptions());
  const std::string name = text.str();
  return tunable.contains(name) ? std::optional(name) : std::nullopt;
}

} // namespace retile::frontend
