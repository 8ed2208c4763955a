// Before: the definition of a kernel in a file. After: its template parameters with the arguments of one
// instance, its parameter list and body as written, and where the loops of the body stand.
//
//   template <typename T, int N> __global__ void k(T* a, int n) { for (int i = 0; i < N; ++i) ... }   as
//   k<float, 4>
//   ->  "typename T = float, int N = 4" | "T* a, int n" | "{ for ... }" | i at 2
//
// Refused, with the reason as whyNot: text that a macro makes, parameter packs, launch attributes that a
// template would lose.
#include "KernelText.h"
#include "Types.h"

namespace retile::frontend {

using namespace clang;

namespace {

/// Finds the loops that the text shows, and which functions are called.
class BodyVisitor : public ConstDynamicRecursiveASTVisitor {
public:
  std::vector<const ForStmt*> loops;
  std::set<const ForStmt*> withPragma;
  std::vector<const FunctionDecl*> callees;
  bool usesBlockIndex = false;

  bool VisitForStmt(const ForStmt* loop) override {
    loops.push_back(loop);
    return true;
  }
  bool VisitAttributedStmt(const AttributedStmt* stmt) override {
    if (const auto* loop = dyn_cast<ForStmt>(stmt->getSubStmt()))
      withPragma.insert(loop);
    return true;
  }
  bool VisitCallExpr(const CallExpr* call) override {
    if (const FunctionDecl* callee = call->getDirectCallee())
      callees.push_back(callee);
    return true;
  }
  bool VisitCXXConstructExpr(const CXXConstructExpr* made) override {
    callees.push_back(made->getConstructor());
    return true;
  }
  bool VisitDeclRefExpr(const DeclRefExpr* use) override {
    if (use->getDecl()->getDeclName().isIdentifier())
      usesBlockIndex =
          usesBlockIndex || use->getDecl()->getName() == "blockIdx" || use->getDecl()->getName() == "gridDim";
    return true;
  }
};

bool readsBlockIndex(const FunctionDecl* function, std::set<const FunctionDecl*>& seen) {
  const FunctionDecl* definition = function->getDefinition();
  if (!definition || !definition->getBody() || !seen.insert(definition).second)
    return false;
  BodyVisitor visitor;
  visitor.TraverseStmt(definition->getBody());
  return visitor.usesBlockIndex || llvm::any_of(visitor.callees, [&](const FunctionDecl* callee) {
           return readsBlockIndex(callee, seen);
         });
}

class TextCutter {
public:
  TextCutter(ASTContext& context, const FunctionDecl* kernel)
      : context(context), sources(context.getSourceManager()), kernel(kernel) {}

  model::SourceText run() {
    const FunctionDecl* pattern = kernel->getTemplateInstantiationPattern();
    pattern = pattern ? pattern : kernel;
    pattern = pattern->getDefinition() ? pattern->getDefinition() : pattern;
    for (const Attr* attribute : pattern->attrs())
      if (isa<CUDAClusterDimsAttr>(attribute))
        refuse("thread block clusters");
    bindTemplate(pattern);
    cutParameters(pattern);
    cutBody(pattern);
    std::set<const FunctionDecl*> seen;
    BodyVisitor visitor;
    visitor.TraverseStmt(kernel->getDefinition()->getBody());
    for (const FunctionDecl* callee : visitor.callees)
      out.callsUseBlockIndex = out.callsUseBlockIndex || readsBlockIndex(callee, seen);
    return std::move(out);
  }

private:
  ASTContext& context;
  const SourceManager& sources;
  const FunctionDecl* kernel;
  model::SourceText out;

  void refuse(const std::string& why) {
    if (out.whyNot.empty())
      out.whyNot = why;
  }

  /// Characters [begin, end) of one file, or nothing where a macro is involved.
  std::optional<std::string> textBetween(SourceLocation begin, SourceLocation end) {
    if (begin.isInvalid() || end.isInvalid() || begin.isMacroID() || end.isMacroID())
      return std::nullopt;
    bool invalid = false;
    auto text = Lexer::getSourceText(CharSourceRange::getCharRange(begin, end), sources,
                                     context.getLangOpts(), &invalid);
    if (invalid)
      return std::nullopt;
    return text.str();
  }

  void bindTemplate(const FunctionDecl* pattern) {
    const FunctionTemplateDecl* described = pattern->getDescribedFunctionTemplate();
    if (!described)
      return;
    const TemplateArgumentList* arguments = kernel->getTemplateSpecializationArgs();
    if (!arguments)
      return refuse("a template without arguments");
    PrintingPolicy policy(context.getLangOpts());
    policy.PrintAsCanonical = true;
    policy.SuppressUnwrittenScope = true;
    policy.FullyQualifiedName = true;
    const TemplateParameterList* parameters = described->getTemplateParameters();
    for (unsigned n = 0; n < parameters->size(); ++n) {
      const NamedDecl* parameter = parameters->getParam(n);
      if (parameter->isParameterPack() || isa<TemplateTemplateParmDecl>(parameter) || n >= arguments->size())
        return refuse("template parameter '" + parameter->getNameAsString() +
                      "' cannot be bound by a default");
      std::string head = "typename", value;
      if (const auto* constant = dyn_cast<NonTypeTemplateParmDecl>(parameter))
        head = constant->getType().getAsString(policy);
      llvm::raw_string_ostream stream(value);
      arguments->get(n).print(policy, stream, false);
      out.templateParameters += (n ? ", " : "") + head + " " + parameter->getNameAsString() + " = " + value;
    }
  }

  void cutParameters(const FunctionDecl* pattern) {
    FunctionTypeLoc type = pattern->getFunctionTypeLoc();
    auto text =
        type ? textBetween(type.getLParenLoc().getLocWithOffset(1), type.getRParenLoc()) : std::nullopt;
    if (text)
      out.parameters = *text;
    else
      refuse("a macro makes its parameters");
  }

  /// Behind the last character of a statement, its semicolon included.
  SourceLocation endOf(const Stmt* stmt) {
    if (const auto* block = dyn_cast<CompoundStmt>(stmt))
      return block->getRBracLoc().getLocWithOffset(1);
    if (const auto* loop = dyn_cast<ForStmt>(stmt))
      return endOf(loop->getBody());
    if (const auto* loop = dyn_cast<WhileStmt>(stmt))
      return endOf(loop->getBody());
    if (const auto* branch = dyn_cast<IfStmt>(stmt))
      return endOf(branch->getElse() ? branch->getElse() : branch->getThen());
    if (const auto* attributed = dyn_cast<AttributedStmt>(stmt))
      return endOf(attributed->getSubStmt());
    if (const auto* nothing = dyn_cast<NullStmt>(stmt))
      return nothing->getSemiLoc().getLocWithOffset(1);
    if (stmt->getEndLoc().isMacroID())
      return {};
    return Lexer::findLocationAfterToken(stmt->getEndLoc(), tok::semi, sources, context.getLangOpts(), false);
  }

  static std::string counterOf(const ForStmt* loop) {
    if (const auto* declared = dyn_cast_or_null<DeclStmt>(loop->getInit()))
      if (declared->isSingleDecl())
        if (const auto* variable = dyn_cast<VarDecl>(declared->getSingleDecl()))
          return variable->getNameAsString();
    const Expr* step = loop->getInc() ? loop->getInc()->IgnoreParens() : nullptr;
    const Expr* target = nullptr;
    if (const auto* unary = dyn_cast_or_null<UnaryOperator>(step))
      target = unary->getSubExpr();
    if (const auto* pair = dyn_cast_or_null<BinaryOperator>(step); pair && pair->isAssignmentOp())
      target = pair->getLHS();
    const auto* named = target ? dyn_cast<DeclRefExpr>(target->IgnoreParenImpCasts()) : nullptr;
    return named ? named->getDecl()->getNameAsString() : "";
  }

  void cutBody(const FunctionDecl* pattern) {
    const auto* body = dyn_cast_or_null<CompoundStmt>(pattern->getBody());
    auto text = body ? textBetween(body->getLBracLoc(), endOf(body)) : std::nullopt;
    if (!text)
      return refuse("a macro makes its body");
    out.body = *text;
    const unsigned start = sources.getFileOffset(body->getLBracLoc());
    const FileID file = sources.getFileID(body->getLBracLoc());
    BodyVisitor visitor;
    visitor.TraverseStmt(body);
    for (const ForStmt* loop : visitor.loops) {
      SourceLocation begin = loop->getForLoc(), end = begin.isMacroID() ? SourceLocation() : endOf(loop);
      if (end.isInvalid() || end.isMacroID() || sources.getFileID(begin) != file ||
          sources.getFileID(end) != file)
        continue;
      model::SourceLoop found;
      found.begin = sources.getFileOffset(begin) - start;
      found.end = sources.getFileOffset(end) - start;
      found.variable = counterOf(loop);
      found.hasPragma = visitor.withPragma.count(loop) != 0;
      found.location = location(sources, begin);
      if (found.begin < found.end && found.end <= out.body.size())
        out.loops.push_back(std::move(found));
    }
    llvm::stable_sort(
        out.loops, [](const model::SourceLoop& a, const model::SourceLoop& b) { return a.begin < b.begin; });
  }
};

} // namespace

model::SourceText kernelText(ASTContext& context, const FunctionDecl* kernel) {
  return TextCutter(context, kernel).run();
}

} // namespace retile::frontend
