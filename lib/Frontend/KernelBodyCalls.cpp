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

/// Scalars, and records of them that copying copies bit by bit; also by a reference that nobody writes through.
static bool isPlainValue(QualType type) {
  if (type->isReferenceType() && !type->getPointeeType().isConstQualified()) return false;
  type = type.getNonReferenceType();
  if (isScalarByValue(type)) return true;
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || !record->hasTrivialCopyConstructor() || !record->hasTrivialDestructor()) return false;
  return llvm::all_of(record->fields(), [](const FieldDecl* field) { return isPlainValue(field->getType()) && !field->isMutable(); });
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
  const auto* method = dyn_cast<CXXMethodDecl>(function);
  const auto* constructor = dyn_cast<CXXConstructorDecl>(function);
  bool isOperator = function->isOverloadedOperator() && !function->isTemplated();
  if (!function->getDeclName().isIdentifier() && !isOperator && !constructor) return false;
  if (unsigned builtin = function->getBuiltinID()) return context.BuiltinInfo.isConst(builtin) && isToolkitArithmetic(function);
  if (!isUserCode(function)) return !method && isToolkitArithmetic(function);
  const FunctionDecl* definition = function->getDefinition();
  bool isValue = constructor ? isPlainValue(context.getCanonicalTagType(constructor->getParent())) : isPlainValue(function->getReturnType());
  if (!definition || !definition->getBody() || !isValue || function->getReturnType()->isReferenceType() ||
      !llvm::all_of(function->parameters(), [](const ParmVarDecl* p) { return isPlainValue(p->getType()); }))
    return false;
  if (method && !constructor && !method->isStatic() && (!method->isConst() || method->isVirtual())) return false;
  PurityVisitor visitor;
  if (constructor)
    for (const CXXCtorInitializer* init : cast<CXXConstructorDecl>(definition)->inits())
      visitor.TraverseStmt(init->getInit());
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
    int before = -1;
    if (discarded != expr) {
      model::Variable result;
      result.name = "before";
      result.type = convertType(context, expr->getType());
      before = atomic.variable = newVariable(std::move(result));
    }
    emit(std::move(atomic), expr->getExprLoc());
    return before >= 0 ? variableExpr(before) : make(ExprKind::Literal, context.VoidTy, expr, "");
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

ExprRef BodyBuilder::inlineCall(const CallExpr* expr, const FunctionDecl* callee, ExprRef object) {
  inlining.push_back(callee);
  // A member operator's first operand is its object.
  unsigned first = 0;
  if (const auto* method = dyn_cast<CXXMethodDecl>(callee); method && !method->isStatic()) {
    if (!object) object = place(expr->getArg(first++));
    thisPlaces.push_back(object);
  } else {
    object = nullptr;
  }
  auto savedVariables = variableOf;
  auto savedPlaces = placeOf;
  int savedResult = resultVariable;
  for (unsigned n = 0; n < callee->getNumParams(); ++n) {
    const ParmVarDecl* parameter = callee->getParamDecl(n);
    if (n + first >= expr->getNumArgs()) break;
    const Expr* argument = expr->getArg(n + first);
    if (parameter->getType()->isReferenceType()) {
      placeOf[parameter] = place(argument);
      continue;
    }
    model::Stmt declaration;
    declaration.kind = StmtKind::Declare;
    declaration.value = value(argument);
    declaration.variable = declareVariable(parameter);
    emit(std::move(declaration), argument->getExprLoc());
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
  if (structured) {
    for (auto& stmt : body)
      sink->push_back(stmt);
  } else {
    model::Stmt scope;
    scope.kind = StmtKind::Block;
    scope.body = std::move(body);
    emit(std::move(scope), expr->getExprLoc());
  }
  if (object) thisPlaces.pop_back();
  int result = resultVariable;
  resultVariable = savedResult;
  variableOf = std::move(savedVariables);
  placeOf = std::move(savedPlaces);
  inlining.pop_back();
  if (result < 0) return make(ExprKind::Literal, context.VoidTy, expr, "");
  return variableExpr(result);
}

/// Builtins of the compiler that are constants: INFINITY and the like, by their bits.
std::optional<ExprRef> BodyBuilder::builtin(const CallExpr* expr, const FunctionDecl* callee) {
  if (!callee->getBuiltinID() || !expr->getType()->isRealFloatingType()) return std::nullopt;
  Expr::EvalResult result;
  if (!expr->EvaluateAsRValue(result, context) || !result.Val.isFloat() || result.HasSideEffects) return std::nullopt;
  const llvm::APFloat& folded = result.Val.getFloat();
  if (folded.isFinite()) return std::nullopt;
  llvm::SmallString<32> digits;
  folded.bitcastToAPInt().toString(digits, 16, false);
  bool isDouble = context.getTypeSize(expr->getType()) == 64;
  return make(ExprKind::Literal, expr->getType(), expr,
              (isDouble ? "__longlong_as_double((long long)0x" : "__int_as_float((int)0x") + digits.str().str() + (isDouble ? "ull)" : "u)"));
}

/// A method: kept as spelled where it only computes, else inlined.
ExprRef BodyBuilder::method(const CXXMemberCallExpr* expr) {
  const CXXMethodDecl* callee = expr->getMethodDecl();
  const auto* member = dyn_cast<MemberExpr>(expr->getCallee()->IgnoreParens());
  const CXXMethodDecl* definition = callee ? dyn_cast_or_null<CXXMethodDecl>(callee->getDefinition()) : nullptr;
  if (!member || !definition || callee->isVirtual()) return opaque(expr, "a member function call");
  const Expr* base = expr->getImplicitObjectArgument();
  ExprRef object;
  if (!member->isArrow()) object = place(base);
  else if (isa<CXXThisExpr>(base->IgnoreParenImpCasts()) && !thisPlaces.empty()) object = thisPlaces.back();
  else object = dereference(value(base), base->getType()->getPointeeType(), expr);
  if (callee->getDeclName().isIdentifier() && isPure(callee)) {
    std::vector<ExprRef> operands{object};
    for (const Expr* argument : expr->arguments())
      if (!isa<CXXDefaultArgExpr>(argument)) operands.push_back(value(argument));
    return make(ExprKind::Call, expr->getType(), expr, "." + callee->getNameAsString(), std::move(operands));
  }
  if (isUserCode(definition) && definition->getBody() && !llvm::is_contained(inlining, definition) && inlining.size() < 16)
    return inlineCall(expr, definition, object);
  return opaque(expr, "the call of '" + callee->getNameAsString() + "'");
}

ExprRef BodyBuilder::list(const InitListExpr* expr) {
  std::vector<ExprRef> operands;
  if (!expr->isSemanticForm() && expr->getSemanticForm()) expr = expr->getSemanticForm();
  bool isArray = expr->getType()->isArrayType();
  for (const Expr* init : expr->inits()) {
    const auto* inner = dyn_cast<InitListExpr>(init->IgnoreImplicit());
    if (isa<ImplicitValueInitExpr>(init) && isArray) break;
    operands.push_back(inner ? list(inner) : value(init));
  }
  return make(ExprKind::Call, expr->getType(), expr, (isArray ? "" : convertType(context, expr->getType()).name) + "{", std::move(operands));
}

ExprRef BodyBuilder::call(const CallExpr* expr) {
  const FunctionDecl* callee = expr->getDirectCallee();
  if (!callee) return opaque(expr, "a call through a pointer");
  if (auto folded = builtin(expr, callee)) return *folded;
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
