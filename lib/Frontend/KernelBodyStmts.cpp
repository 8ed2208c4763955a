// Control: AST statements as model statements.
#include "KernelBodyBuilder.h"
#include "Types.h"

namespace retile::frontend {

using namespace clang;
using model::StmtKind;

void BodyBuilder::emit(model::Stmt stmt, SourceLocation at) {
  stmt.location = location(sources, at);
  sink->push_back(std::make_shared<const model::Stmt>(std::move(stmt)));
}

BodyBuilder::Stmts BodyBuilder::inSink(const std::function<void()>& work) {
  Stmts collected;
  Stmts* outer = sink;
  sink = &collected;
  work();
  sink = outer;
  return collected;
}

BodyBuilder::Stmts BodyBuilder::nested(const Stmt* stmt) {
  return inSink([&] {
    if (stmt) convert(stmt);
  });
}

BodyBuilder::Stmts BodyBuilder::convertBody(const Stmt* body) { return nested(body); }

void BodyBuilder::opaqueStmt(const Stmt* stmt, const std::string& why) {
  note(stmt->getBeginLoc(), why);
  model::Stmt opaque;
  opaque.kind = StmtKind::Opaque;
  opaque.text = text(stmt);
  emit(std::move(opaque), stmt->getBeginLoc());
}

void BodyBuilder::declare(const VarDecl* variable) {
  if (variable->isConstexpr() && variable->getType()->isIntegralOrEnumerationType() && !variable->hasInit()) return;
  QualType type = variable->getType();
  if (type->isReferenceType() && variable->getInit()) {
    placeOf[variable] = place(variable->getInit());
    return;
  }
  model::Stmt stmt;
  stmt.kind = StmtKind::Declare;
  const Expr* init = variable->getInit();
  bool isShared = variable->hasAttr<CUDASharedAttr>();
  if (variable->isStaticLocal() && !isShared) note(variable->getLocation(), "a static local variable");
  bool zeroed = false;
  if (init && type->isArrayType()) {
    const auto* list = dyn_cast<InitListExpr>(init->IgnoreParenImpCasts());
    const Expr* filler = list ? list->getArrayFiller() : nullptr;
    zeroed = list && (list->getNumInits() == 0 || (list->getNumInits() == 1 && constant(list->getInit(0)) == 0)) &&
             (!filler || isa<ImplicitValueInitExpr>(filler) || isa<InitListExpr>(filler));
    if (!zeroed && list && !isShared) stmt.value = this->list(list);
    else if (!zeroed) note(variable->getLocation(), "an initialised local array");
    init = nullptr;
  }
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  bool isOwnRecord = record && record->hasDefinition() && !isShared && !sources.isInSystemHeader(sources.getExpansionLoc(record->getLocation()));
  if (isOwnRecord && (!record->hasTrivialCopyConstructor() || !record->hasTrivialDestructor()))
    note(variable->getLocation(), "a variable of class type '" + type.getAsString() + "', which cannot be copied bit by bit");
  if (const auto* made = init ? dyn_cast<CXXConstructExpr>(init->IgnoreParenImpCasts()) : nullptr;
      made && isOwnRecord && made->getNumArgs() == 0 && !made->getConstructor()->isTrivial() && !isPure(made->getConstructor()))
    note(variable->getLocation(), "the constructor of '" + type.getAsString() + "'");
  if (init && isa<CXXConstructExpr>(init->IgnoreParenImpCasts()) &&
      cast<CXXConstructExpr>(init->IgnoreParenImpCasts())->getNumArgs() == 0)
    init = nullptr;
  if (init) stmt.value = value(init);
  stmt.variable = declareVariable(variable);
  out.variables[stmt.variable].initialisedToZero = zeroed;
  emit(std::move(stmt), variable->getLocation());
}

std::string BodyBuilder::unrollPragma(const AttributedStmt* stmt) {
  for (const Attr* attribute : stmt->getAttrs()) {
    const auto* hint = dyn_cast<LoopHintAttr>(attribute);
    if (!hint) continue;
    if (hint->getOption() == LoopHintAttr::UnrollCount && hint->getValue())
      if (auto count = constant(hint->getValue())) return "#pragma unroll " + std::to_string(*count);
    if (hint->getOption() == LoopHintAttr::Unroll)
      return hint->getState() == LoopHintAttr::Disable ? "#pragma unroll 1" : "#pragma unroll";
  }
  return "";
}

void BodyBuilder::convertFor(const ForStmt* stmt, const std::string& pragma) {
  model::Stmt loop;
  loop.kind = StmtKind::For;
  loop.pragma = pragma;
  loop.init = nested(stmt->getInit());
  if (stmt->getConditionVariable()) return opaqueStmt(stmt, "a loop that declares a variable in its condition");
  if (stmt->getCond()) {
    Stmts before = inSink([&] { loop.value = value(stmt->getCond()); });
    if (!before.empty()) return opaqueStmt(stmt, "a loop condition with a side effect");
  }
  loop.body = nested(stmt->getBody());
  loop.step = inSink([&] {
    if (stmt->getInc()) discard(stmt->getInc());
  });
  emit(std::move(loop), stmt->getForLoc());
}

void BodyBuilder::convertWhile(const Stmt* stmt, const Expr* condition, const Stmt* body, bool isDo) {
  model::Stmt loop;
  loop.kind = StmtKind::While;
  loop.isDo = isDo;
  Stmts before = inSink([&] { loop.value = value(condition); });
  if (!before.empty()) return opaqueStmt(stmt, "a loop condition with a side effect");
  loop.body = nested(body);
  emit(std::move(loop), stmt->getBeginLoc());
}

/// For its effects alone: nobody needs what a postfix increment was before.
void BodyBuilder::discard(const Expr* expr) {
  expr = expr->IgnoreParens();
  if (const auto* op = dyn_cast<UnaryOperator>(expr); op && op->isIncrementDecrementOp()) {
    advance(op, place(op->getSubExpr()));
    return;
  }
  if (const auto* pair = dyn_cast<BinaryOperator>(expr); pair && pair->getOpcode() == BO_Comma) {
    discard(pair->getLHS());
    discard(pair->getRHS());
    return;
  }
  discarded = expr;
  value(expr);
  discarded = nullptr;
}

void BodyBuilder::convert(const Stmt* stmt) {
  if (isa<NullStmt>(stmt)) return;
  if (const auto* block = dyn_cast<CompoundStmt>(stmt)) {
    for (const Stmt* child : block->body())
      convert(child);
    return;
  }
  if (const auto* declaration = dyn_cast<DeclStmt>(stmt)) {
    for (const Decl* decl : declaration->decls()) {
      if (const auto* variable = dyn_cast<VarDecl>(decl)) declare(variable);
    }
    return;
  }
  if (const auto* attributed = dyn_cast<AttributedStmt>(stmt)) {
    if (const auto* loop = dyn_cast<ForStmt>(attributed->getSubStmt()))
      return convertFor(loop, unrollPragma(attributed));
    return convert(attributed->getSubStmt());
  }
  if (const auto* loop = dyn_cast<ForStmt>(stmt)) return convertFor(loop, "");
  if (const auto* loop = dyn_cast<WhileStmt>(stmt)) return convertWhile(stmt, loop->getCond(), loop->getBody(), false);
  if (const auto* loop = dyn_cast<DoStmt>(stmt)) return convertWhile(stmt, loop->getCond(), loop->getBody(), true);
  if (const auto* branch = dyn_cast<IfStmt>(stmt)) {
    if (branch->getInit()) convert(branch->getInit());
    if (branch->hasVarStorage()) return opaqueStmt(stmt, "an if that declares a variable in its condition");
    if (auto known = branch->isConstexpr() ? constant(branch->getCond()) : std::nullopt) {
      if (const Stmt* taken = *known ? branch->getThen() : branch->getElse()) convert(taken);
      return;
    }
    model::Stmt out;
    out.kind = StmtKind::If;
    out.value = value(branch->getCond());
    out.body = nested(branch->getThen());
    out.otherwise = nested(branch->getElse());
    return emit(std::move(out), branch->getIfLoc());
  }
  if (const auto* ret = dyn_cast<ReturnStmt>(stmt)) {
    model::Stmt out;
    out.kind = StmtKind::Return;
    if (ret->getRetValue()) {
      model::ExprRef result = value(ret->getRetValue());
      if (resultVariable >= 0) {
        model::Stmt assign;
        assign.kind = StmtKind::Assign;
        assign.variable = resultVariable;
        assign.target = variableExpr(resultVariable);
        assign.text = "=";
        assign.value = result;
        emit(std::move(assign), ret->getReturnLoc());
      }
    }
    return emit(std::move(out), ret->getReturnLoc());
  }
  if (isa<BreakStmt>(stmt) || isa<ContinueStmt>(stmt)) {
    model::Stmt out;
    out.kind = isa<BreakStmt>(stmt) ? StmtKind::Break : StmtKind::Continue;
    return emit(std::move(out), stmt->getBeginLoc());
  }
  if (isa<GCCAsmStmt>(stmt)) return opaqueStmt(stmt, "inline assembly");
  if (isa<SwitchStmt>(stmt)) return opaqueStmt(stmt, "a switch statement");
  if (isa<GotoStmt>(stmt) || isa<LabelStmt>(stmt)) return opaqueStmt(stmt, "a goto");
  if (const auto* expr = dyn_cast<Expr>(stmt)) return discard(expr);
  opaqueStmt(stmt, std::string("a statement of kind ") + stmt->getStmtClassName());
}

} // namespace retile::frontend
