// Calls: intrinsics that touch memory or synchronise, pure functions kept as spelled, everything else inlined.
#include "KernelBodyBuilder.h"
#include "Types.h"
#include "retile/KernelModel/Normalize.h"

namespace retile::frontend {

using namespace clang;
using model::ExprKind;
using model::ExprRef;
using model::StmtKind;

bool BodyBuilder::isUserCode(const FunctionDecl* function) const {
  return !sources.isInSystemHeader(sources.getExpansionLoc(function->getLocation()));
}

namespace {

/// Looks for anything in a function that depends on or changes more than its arguments.
class PurityVisitor : public ConstDynamicRecursiveASTVisitor {
public:
  bool pure = true;
  std::vector<const FunctionDecl*> callees;

  bool VisitArraySubscriptExpr(const ArraySubscriptExpr*) override { return fail(); }
  bool VisitGCCAsmStmt(const GCCAsmStmt*) override { return fail(); }
  bool VisitPseudoObjectExpr(const PseudoObjectExpr*) override { return fail(); }
  bool VisitUnaryOperator(const UnaryOperator* op) override {
    return op->getOpcode() == UO_Deref || op->getOpcode() == UO_AddrOf ? fail() : true;
  }
  bool VisitDeclRefExpr(const DeclRefExpr* use) override {
    const auto* variable = dyn_cast<VarDecl>(use->getDecl());
    bool isMemory = variable && variable->hasGlobalStorage() && !variable->isConstexpr() &&
                    !variable->getType().isConstQualified();
    bool isShared = variable && (variable->hasAttr<CUDASharedAttr>() || variable->hasAttr<CUDAConstantAttr>() ||
                                 variable->hasAttr<CUDADeviceAttr>());
    return isMemory || (isShared && !variable->isConstexpr()) ? fail() : true;
  }
  bool VisitCallExpr(const CallExpr* call) override {
    if (const FunctionDecl* callee = call->getDirectCallee()) callees.push_back(callee);
    else return fail();
    return true;
  }

private:
  bool fail() { return pure = false; }
};

} // namespace

static bool isScalarByValue(QualType type) {
  QualType canonical = type.getCanonicalType();
  return !type->isReferenceType() && (canonical->isArithmeticType() || canonical->isEnumeralType());
}

static bool touchesThreads(llvm::StringRef name) {
  static const char* const parts[] = {"sync", "shfl", "atomic", "ballot", "activemask", "__any", "__all", "clock", "printf",
                                      "malloc", "threadfence", "__trap", "assert", "nanosleep", "__reduce_", "__match_"};
  return llvm::any_of(parts, [&](const char* part) { return name.contains(part); });
}

/// Arithmetic of the toolkit on scalars, half types included.
static bool isToolkitArithmetic(const FunctionDecl* function) {
  if (touchesThreads(function->getName())) return false;
  auto plain = [](QualType type) {
    return isScalarByValue(type) || (!type->isPointerType() && !type->isReferenceType() && type->isRecordType());
  };
  return plain(function->getReturnType()) &&
         llvm::all_of(function->parameters(), [&](const ParmVarDecl* p) { return plain(p->getType().getNonReferenceType()); });
}

bool BodyBuilder::isPure(const FunctionDecl* function) const {
  if (!function->getDeclName().isIdentifier()) return false;
  // What INFINITY and NAN expand to.
  if (unsigned builtin = function->getBuiltinID(); builtin && context.BuiltinInfo.isConst(builtin)) return isToolkitArithmetic(function);
  if (!isUserCode(function)) return isToolkitArithmetic(function);
  const FunctionDecl* definition = function->getDefinition();
  if (!definition || !isScalarByValue(function->getReturnType()) ||
      !llvm::all_of(function->parameters(), [](const ParmVarDecl* p) { return isScalarByValue(p->getType()); }))
    return false;
  PurityVisitor visitor;
  visitor.TraverseStmt(definition->getBody());
  if (!visitor.pure) return false;
  static thread_local std::vector<const FunctionDecl*> path;
  if (llvm::is_contained(path, definition)) return false;
  path.push_back(definition);
  bool pure = llvm::all_of(visitor.callees, [&](const FunctionDecl* callee) { return isPure(callee); });
  path.pop_back();
  return pure;
}

std::optional<ExprRef> BodyBuilder::intrinsic(const CallExpr* expr, const FunctionDecl* callee) {
  if (!callee->getDeclName().isIdentifier() || isUserCode(callee)) return std::nullopt;
  llvm::StringRef name = callee->getName();
  auto pointee = [&](const Expr* pointer, QualType type) { return dereference(value(pointer), type, expr); };
  if (name == "__syncthreads") {
    model::Stmt barrier;
    barrier.kind = StmtKind::Barrier;
    emit(std::move(barrier), expr->getExprLoc());
    return make(ExprKind::Literal, context.VoidTy, expr, "");
  }
  static const std::set<llvm::StringRef> loads{"__ldg", "__ldcs", "__ldcg", "__ldca", "__ldlu", "__ldcv"};
  if (loads.count(name) && expr->getNumArgs() == 1) return pointee(expr->getArg(0), expr->getType());
  static const std::set<llvm::StringRef> stores{"__stcs", "__stcg", "__stwb", "__stwt"};
  if (stores.count(name) && expr->getNumArgs() == 2) {
    model::Stmt store;
    store.kind = StmtKind::Store;
    store.value = value(expr->getArg(1));
    store.target = pointee(expr->getArg(0), expr->getArg(0)->getType()->getPointeeType());
    store.text = "=";
    emit(std::move(store), expr->getExprLoc());
    return make(ExprKind::Literal, context.VoidTy, expr, "");
  }
  if (name.starts_with("atomic") && expr->getNumArgs() == 2) {
    model::Stmt atomic;
    atomic.kind = StmtKind::Atomic;
    atomic.text = name.str();
    atomic.value = value(expr->getArg(1));
    atomic.target = pointee(expr->getArg(0), expr->getType());
    emit(std::move(atomic), expr->getExprLoc());
    return make(ExprKind::Opaque, expr->getType(), expr, "");
  }
  if (touchesThreads(name)) {
    model::Stmt sync;
    sync.kind = StmtKind::Sync;
    sync.text = text(expr);
    model::Variable result;
    result.name = "collective";
    result.type = convertType(context, expr->getType());
    if (result.type.kind != model::Type::Void) sync.variable = newVariable(std::move(result));
    std::vector<ExprRef> operands;
    for (const Expr* argument : expr->arguments())
      operands.push_back(value(argument));
    sync.value = make(ExprKind::Call, expr->getType(), expr, name.str(), std::move(operands));
    emit(std::move(sync), expr->getExprLoc());
    return sync.variable >= 0 ? variableExpr(sync.variable) : make(ExprKind::Literal, context.VoidTy, expr, "");
  }
  return std::nullopt;
}

ExprRef BodyBuilder::inlineCall(const CallExpr* expr, const FunctionDecl* callee) {
  inlining.push_back(callee);
  auto savedVariables = variableOf;
  auto savedPlaces = placeOf;
  int savedResult = resultVariable;
  for (unsigned n = 0; n < callee->getNumParams(); ++n) {
    const ParmVarDecl* parameter = callee->getParamDecl(n);
    if (n >= expr->getNumArgs()) break;
    if (parameter->getType()->isReferenceType()) {
      placeOf[parameter] = place(expr->getArg(n));
      continue;
    }
    model::Stmt declaration;
    declaration.kind = StmtKind::Declare;
    declaration.value = value(expr->getArg(n));
    declaration.variable = declareVariable(parameter);
    emit(std::move(declaration), expr->getArg(n)->getExprLoc());
  }
  resultVariable = -1;
  if (!callee->getReturnType()->isVoidType()) {
    model::Variable result;
    result.name = callee->getDeclName().isIdentifier() ? callee->getNameAsString() + "Result" : "result";
    result.type = convertType(context, callee->getReturnType());
    resultVariable = newVariable(std::move(result));
    model::Stmt declaration;
    declaration.kind = StmtKind::Declare;
    declaration.variable = resultVariable;
    emit(std::move(declaration), expr->getExprLoc());
  }
  Stmts body = nested(callee->getBody());
  bool structured = model::foldExits(body, StmtKind::Return);
  for (auto& stmt : body)
    sink->push_back(stmt);
  int result = resultVariable;
  resultVariable = savedResult;
  variableOf = std::move(savedVariables);
  placeOf = std::move(savedPlaces);
  inlining.pop_back();
  if (!structured)
    note(expr->getExprLoc(), "the call of '" + callee->getNameAsString() + "', which returns from inside a loop or branch");
  if (result < 0) return make(ExprKind::Literal, context.VoidTy, expr, "");
  return variableExpr(result);
}

ExprRef BodyBuilder::call(const CallExpr* expr) {
  const FunctionDecl* callee = expr->getDirectCallee();
  if (!callee) return opaque(expr, "a call through a pointer");
  if (auto modelled = intrinsic(expr, callee)) return *modelled;
  if (isPure(callee)) {
    std::vector<ExprRef> operands;
    for (const Expr* argument : expr->arguments())
      if (!isa<CXXDefaultArgExpr>(argument)) operands.push_back(value(argument));
    // Spelled as the source does, unless a template parameter stands for the function.
    std::string spelled = callee->getQualifiedNameAsString();
    const auto* named = dyn_cast<DeclRefExpr>(expr->getCallee()->IgnoreParenImpCasts());
    if (named && named->getDecl() == callee && !expr->getCallee()->getBeginLoc().isMacroID()) {
      spelled = text(expr->getCallee());
    } else if (callee->getTemplateSpecializationArgs()) {
      std::string arguments;
      llvm::raw_string_ostream stream(arguments);
      printTemplateArgumentList(stream, callee->getTemplateSpecializationArgs()->asArray(),
                                PrintingPolicy(context.getLangOpts()));
      spelled += arguments;
    }
    return make(ExprKind::Call, expr->getType(), expr, spelled, std::move(operands));
  }
  const FunctionDecl* definition = callee->getDefinition();
  if (definition && isUserCode(definition) && definition->getBody() && !llvm::is_contained(inlining, definition) &&
      inlining.size() < 16 && !isa<CXXMethodDecl>(definition))
    return inlineCall(expr, definition);
  for (const Expr* argument : expr->arguments())
    (void)value(argument);
  return opaque(expr, "the call of '" + callee->getNameAsString() + "'");
}

} // namespace retile::frontend
