// Loops that run as often as the data say, and those that leave early. They stay as they are spelled, inside
// of the point.
//
//   for (j = row_ptr[i]; j < row_ptr[i + 1]; ++j)   ->   dimension j in [q1, q2), which only the data know
//   while (lo < hi) { ... }                          ->   a dimension without bounds; what it assigns is
//   unknown inside it
#include "Lifter.h"
#include "retile/KernelModel/Normalize.h"
#include "retile/KernelModel/Visit.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;
using model::Type;
using model::Variable;

static bool mentionsAny(const ExprRef& expr, const std::map<int, int>& variables) {
  return model::anyExpr(expr, [&](const Expr& node) {
    return node.kind == ExprKind::Variable && variables.count(node.variable);
  });
}

static bool hasLoad(const ExprRef& expr) {
  return model::anyExpr(expr, [](const Expr& node) { return node.kind == ExprKind::Load; });
}

/// Whether the variable of the loop is read outside of it, other than by a loop that sets it first.
bool Lifter::isReadBehind(const Stmt& loop) const {
  if (loop.step.size() != 1)
    return true;
  int variable = loop.step[0]->variable;
  for (const StmtRef& init : loop.init)
    if (init->kind == StmtKind::Declare && init->variable == variable)
      return false;
  auto reads = [&](const ExprRef& expr) { return mentionsAny(expr, {{variable, 1}}); };
  auto scan = [&](auto&& self, const std::vector<StmtRef>& stmts) -> bool {
    for (const StmtRef& stmt : stmts) {
      bool sets =
          stmt->kind == StmtKind::For && stmt->init.size() == 1 && stmt->init[0]->variable == variable;
      bool isSame = stmt->kind == StmtKind::For && stmt->step.size() == 1 && stmt->step[0] == loop.step[0];
      if (sets || isSame)
        continue;
      if (reads(stmt->value) || (stmt->target && stmt->kind != StmtKind::Assign && reads(stmt->target)))
        return true;
      for (const auto* inner : {&stmt->init, &stmt->step, &stmt->body, &stmt->otherwise})
        if (self(self, *inner))
          return true;
    }
    return false;
  };
  return scan(scan, out.kernel.body);
}

/// from, to and step of a loop whose bounds are loaded; nullopt where they could change while it runs.
std::optional<Lifter::Counted> Lifter::dataCounted(const Stmt& stmt) {
  if (stmt.kind != StmtKind::For || stmt.step.size() != 1 || stmt.step[0]->kind != StmtKind::Assign ||
      !stmt.value)
    return std::nullopt;
  const Stmt& step = *stmt.step[0];
  Counted result;
  result.variable = step.variable;
  const Variable& variable = out.kernel.variables[step.variable];
  if (variable.type.kind != Type::Int || variable.type.bits < 32 || stmt.value->kind != ExprKind::Binary)
    return std::nullopt;
  std::map<int, int> assigned;
  model::collectAssigned(stmt.body, assigned);
  if (assigned.count(step.variable) || step.text != "+=")
    return std::nullopt;
  auto amount = evaluator().integer(step.value);
  if (!amount || !amount->constant() || *amount->constant() <= 0)
    return std::nullopt;
  result.step = *amount;
  auto unwrap = [](ExprRef expr) {
    while (expr->kind == ExprKind::Cast && expr->implicit && expr->operands[0]->type.kind == Type::Int)
      expr = expr->operands[0];
    return expr;
  };
  ExprRef left = unwrap(stmt.value->operands[0]), right = unwrap(stmt.value->operands[1]);
  bool isLeft = left->kind == ExprKind::Variable && left->variable == step.variable;
  bool isRight = right->kind == ExprKind::Variable && right->variable == step.variable;
  if (isLeft == isRight)
    return std::nullopt;
  const ExprRef& bound = isLeft ? right : left;
  const std::string op = stmt.value->text;
  bool isLess = op == (isLeft ? "<" : ">"), isAtMost = op == (isLeft ? "<=" : ">=");
  if (!isLess && !isAtMost)
    return std::nullopt;
  assigned[step.variable] = 1;
  bool stores = false;
  model::forEachStmt(stmt.body, [&](const Stmt& inner) {
    stores = stores || inner.kind == StmtKind::Store || inner.kind == StmtKind::Atomic ||
             inner.kind == StmtKind::Opaque;
  });
  if (mentionsAny(bound, assigned) || (hasLoad(bound) && stores))
    return std::nullopt;
  Evaluator evaluate = dataEvaluator();
  Value from = evaluate.variable(step.variable);
  for (const StmtRef& init : stmt.init)
    if (init->variable == step.variable && init->value)
      from = held(variable.type, init->value);
  auto to = evaluate.integer(bound);
  if (from.kind != Value::Integer || !to || !from.value.toIsl(dimNames()) || !to->toIsl(dimNames()))
    return std::nullopt;
  result.from = from.value;
  result.to = isLess ? *to : *to + Polynomial(1);
  return result;
}

/// What a loop assigns is unknown at its head, and the same all through an iteration until it is assigned.
void Lifter::enterData(const std::map<int, int>& assigned, const Environment& before) {
  environment = before;
  Environment inside = before;
  for (const auto& [variable, times] : assigned) {
    const Variable& declared = out.kernel.variables[variable];
    bool isInteger = declared.type.kind == Type::Int && declared.extents.empty();
    Value value = valueOf(variable, true);
    if (isInteger)
      value = Value{Value::Integer, {}, -1};
    else if (value.kind != Value::Pointer)
      value = {};
    if (value.kind != Value::Unknown)
      value.value = Polynomial::symbol(addUnknown("", ""));
    inside[variable] = value;
  }
  environment = std::move(inside);
}

void Lifter::dataLoop(const Stmt& stmt, std::vector<StmtRef>& into) {
  Stmt kept = stmt;
  kept.init.clear();
  kept.body.clear();
  kept.step.clear();
  auto found = dataCounted(stmt);
  // Values that the header declares live in it; what it only assigns is assigned in front.
  for (const StmtRef& init : stmt.init)
    statement(init, stmt.init.size() == 1 && init->kind == StmtKind::Declare ? kept.init : into);
  std::map<int, int> assigned;
  model::collectAssigned(stmt.body, assigned);
  model::collectAssigned(stmt.step, assigned);
  Environment before = environment;

  Dim dim;
  dim.kind = Dim::Sequential;
  dim.dataBound = true;
  dim.bounded = found.has_value();
  int counter = found ? found->variable : stmt.step.size() == 1 ? stmt.step[0]->variable : -1;
  if (counter < 0)
    for (const auto& [variable, times] : assigned)
      if (counter < 0 && model::anyExpr(
                             stmt.value,
                             [&, v = variable](const Expr& node) {
                               return node.kind == ExprKind::Variable && node.variable == v;
                             }))
        counter = variable;
  dim.name = loopName(counter < 0 ? "step" : out.kernel.variables[counter].name);
  if (counter >= 0)
    dim.type = out.kernel.variables[counter].type;
  if (found) {
    dim.from = found->from;
    dim.to = found->to;
    dim.step = found->step;
  }
  size_t index = out.loops.size();
  // A counted loop's condition is tested where its bounds are what they are in front of it.
  if (found)
    kept.value = rewrite(stmt.value);
  enterData(assigned, before);
  out.loops.push_back(dim);
  openLoops.push_back(index);
  if (found) {
    Value held;
    held.kind = Value::Integer;
    held.value = Polynomial::symbol(dim.name);
    Environment atHead = environment;
    environment = before;
    environment.erase(found->variable);
    enterInductions(stmt, *found);
    Environment inductions = environment;
    environment = atHead;
    for (const auto& [variable, value] : inductions)
      if (assigned.count(variable) && value.kind != Value::Unknown)
        environment[variable] = value;
    environment[found->variable] = held;
  } else {
    stoodIn.clear();
    kept.value = rewrite(stmt.value);
  }
  kept.variable = static_cast<int>(index);
  std::optional<std::string> condition;
  if (!found && stmt.value && !stmt.isDo)
    condition = dataEvaluator().condition(stmt.value);
  if (condition)
    pathConditions.push_back(*condition);
  ++mayDepth;
  walk(stmt.body, kept.body);
  walk(stmt.step, kept.step);
  --mayDepth;
  if (condition)
    pathConditions.pop_back();
  openLoops.pop_back();
  Environment behind = before;
  for (const auto& [variable, times] : assigned) {
    Value first = [&] {
      Environment inside = std::move(environment);
      environment = before;
      Value value = valueOf(variable, true);
      environment = std::move(inside);
      return value;
    }();
    Value last = valueOf(variable, true);
    if (first.kind == Value::Pointer && (last.kind != Value::Pointer || last.base != first.base))
      fail(stmt.location, "a pointer that changes its array in a loop");
    behind[variable] = Value{};
    if (first.kind != Value::Pointer)
      continue;
    first.value = Polynomial::symbol(addUnknown("", ""));
    behind[variable] = first;
  }
  environment = behind;
  into.push_back(std::make_shared<Stmt>(std::move(kept)));
}

} // namespace retile::lift
