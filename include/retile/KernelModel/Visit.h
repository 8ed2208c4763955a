// Walks over expressions and statements, for passes that only look.
#pragma once

#include "retile/KernelModel/Model.h"

namespace retile::model {

/// Calls action(const Expr&) for the expression and everything in it, outermost first. A null expression is empty.
template <class Action> void forEachExpr(const ExprRef& expr, Action&& action) {
  if (!expr) return;
  action(*expr);
  for (const ExprRef& operand : expr->operands)
    forEachExpr(operand, action);
}

/// Whether test(const Expr&) holds for the expression or anything in it.
template <class Test> bool anyExpr(const ExprRef& expr, Test&& test) {
  bool found = false;
  forEachExpr(expr, [&](const Expr& node) { found = found || test(node); });
  return found;
}

/// Calls action(const Stmt&) for every statement at any depth, in order; loop headers are left out.
template <class Action> void forEachStmt(const std::vector<StmtRef>& stmts, Action&& action) {
  for (const StmtRef& stmt : stmts) {
    action(*stmt);
    forEachStmt(stmt->body, action);
    forEachStmt(stmt->otherwise, action);
  }
}

} // namespace retile::model
