// dim3 values: constructed, copied, defined once, or filled member by member.
#include "HostValues.h"

#include "Types.h"

namespace retile::frontend {

using model::ExprKind;
using model::ExprRef;

namespace {

constexpr const char* names[] = {"x", "y", "z"};

model::Type unsignedInt() {
  model::Type type;
  type.kind = model::Type::Int;
  type.bits = 32;
  type.name = "unsigned int";
  return type;
}

ExprRef one() {
  model::Expr made;
  made.kind = ExprKind::IntLiteral;
  made.type = unsignedInt();
  made.value = 1;
  made.text = "1";
  return std::make_shared<const model::Expr>(std::move(made));
}

const clang::Expr* peeled(const clang::Expr* expr) {
  while (true) {
    const clang::Expr* inner = expr->IgnoreParenImpCasts();
    if (const auto* full = llvm::dyn_cast<clang::FullExpr>(inner))
      inner = full->getSubExpr();
    else if (const auto* temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(inner))
      inner = temporary->getSubExpr();
    else if (const auto* bind = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(inner))
      inner = bind->getSubExpr();
    else if (const auto* casted = llvm::dyn_cast<clang::ExplicitCastExpr>(inner))
      inner = casted->getSubExpr();
    else if (const auto* fallback = llvm::dyn_cast<clang::CXXDefaultArgExpr>(inner))
      inner = fallback->getExpr();
    if (inner == expr)
      return expr;
    expr = inner;
  }
}

} // namespace

HostValues::Dims HostValues::soundDims(const clang::Expr* expr, unsigned order) {
  expr = peeled(expr);
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(expr))
    return constructed(made, order);
  if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(expr)) {
    Dims out{one(), one(), one()};
    for (unsigned i = 0; i < 3 && i < list->getNumInits(); ++i)
      out[i] = value(list->getInit(i), order);
    return out;
  }
  if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(expr))
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(named->getDecl()))
      return variableDims(variable, expr, order);
  if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(expr)) {
    const ExprRef condition = value(choice->getCond(), order);
    if (condition->kind == ExprKind::IntLiteral)
      return dims(condition->value ? choice->getTrueExpr() : choice->getFalseExpr(), order);
    Dims out = dims(choice->getTrueExpr(), order);
    const Dims other = dims(choice->getFalseExpr(), order);
    for (int i = 0; i < 3; ++i) {
      model::Expr made;
      made.kind = ExprKind::Select;
      made.type = unsignedInt();
      made.operands = {condition, out[i], other[i]};
      out[i] = make(std::move(made));
    }
    return out;
  }
  if (const auto* called = llvm::dyn_cast<clang::CallExpr>(expr))
    if (const clang::FunctionDecl* callee = called->getDirectCallee())
      if (const clang::Expr* result = inlined(callee, called, order))
        return dims(result, definitions.orderOf(result));
  if (expr->getType()->isIntegralOrEnumerationType())
    return {value(expr, order), one(), one()};
  return members(expr, opaque(expr));
}

HostValues::Dims HostValues::constructed(const clang::CXXConstructExpr* at, unsigned order) {
  const clang::CXXConstructorDecl* constructor = at->getConstructor();
  if (at->getNumArgs() >= 1 && at->getArg(0)->getType()->isRecordType() &&
      (constructor->isCopyOrMoveConstructor() || at->getNumArgs() == 1))
    return dims(at->getArg(0), order);
  Dims out{one(), one(), one()};
  for (unsigned i = 0; i < 3 && i < at->getNumArgs(); ++i)
    if (!llvm::isa<clang::CXXDefaultArgExpr>(at->getArg(i)))
      out[i] = value(at->getArg(i), order);
  return out;
}

HostValues::Dims HostValues::members(const clang::Expr* at, const ExprRef& base) {
  Dims out;
  for (int i = 0; i < 3; ++i) {
    model::Expr made;
    made.kind = base->kind == ExprKind::Opaque ? ExprKind::Opaque : ExprKind::Member;
    made.type = unsignedInt();
    made.text = base->kind == ExprKind::Opaque ? base->text + "." + names[i] : names[i];
    if (base->kind != ExprKind::Opaque)
      made.operands = {base};
    made.location = base->location;
    out[i] = make(std::move(made));
  }
  return out;
}

HostValues::Dims HostValues::variableDims(const clang::VarDecl* variable, const clang::Expr* at,
                                          unsigned order) {
  if (auto found = boundDims.find(variable); found != boundDims.end())
    return found->second;
  if (variable->hasGlobalStorage() && variable->getInit() && variable->getType().isConstQualified())
    return dims(variable->getInit(), order);
  return {component(at, variable, 0, order), component(at, variable, 1, order),
          component(at, variable, 2, order)};
}

/// One component: the last write to all of the variable or to that member.
ExprRef HostValues::component(const clang::Expr* at, const clang::VarDecl* variable, int index,
                              unsigned order) {
  const std::string name = variable->getNameAsString();
  const auto known = definitions.reaching(variable, order, index);
  if (!known || variable->hasGlobalStorage())
    return members(at, opaque(at, name))[index];
  const Write* write = *known;
  if (!write)
    return members(at, definitions.isHostParameter(variable) ? make(node(ExprKind::Variable, at, {}, name))
                                                             : opaque(at, name))[index];
  if (!write->value)
    return write->isDefault && write->member < 0 ? one() : members(at, opaque(at, name))[index];
  const ExprRef made =
      write->member == index ? value(write->value, write->order) : dims(write->value, write->order)[index];
  return stillCurrent(made, write->value, write->order) ? made : members(at, opaque(at, name))[index];
}

} // namespace retile::frontend
