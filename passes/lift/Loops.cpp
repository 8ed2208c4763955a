// Counted loops as dimensions, and variables that advance with them.
//
//   for (k = 0; k < K; ++k) { acc += *p++; }   ->   dimension k in [0, K); p = p0 + k
#include "Lifter.h"
#include "retile/KernelModel/Normalize.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;
using model::Type;

static bool isVariable(ExprRef expr, int variable) {
  while (expr->kind == ExprKind::Cast && expr->type.kind == Type::Int)
    expr = expr->operands[0];
  return expr->kind == ExprKind::Variable && expr->variable == variable;
}

std::optional<Lifter::Counted> Lifter::counted(const Stmt& stmt, std::string& why) {
  Counted result;
  why = "a loop that is not a counted loop";
  if (stmt.step.size() != 1 || stmt.step[0]->kind != StmtKind::Assign || !stmt.value) return std::nullopt;
  const Stmt& step = *stmt.step[0];
  result.variable = step.variable;
  Evaluator evaluate = evaluator();
  // An initial value: a declaration, an assignment, or what the variable holds.
  std::optional<Polynomial> from;
  if (stmt.init.empty()) {
    Value held = evaluate.variable(result.variable);
    if (held.kind == Value::Integer) from = held.value;
  } else if (stmt.init.size() == 1 && stmt.init[0]->variable == result.variable && stmt.init[0]->value &&
             (stmt.init[0]->kind == StmtKind::Declare || stmt.init[0]->text == "=")) {
    from = evaluate.integer(stmt.init[0]->value);
  }
  if (!from) return std::nullopt;
  result.from = *from;
  std::map<int, int> assigned;
  model::collectAssigned(stmt.body, assigned);
  if (assigned.count(result.variable)) {
    why = "a loop whose variable changes in its body";
    return std::nullopt;
  }
  std::optional<Polynomial> amount;
  if (step.text == "+=" || step.text == "-=") amount = evaluate.integer(step.value);
  if (step.text == "=" && step.value->kind == ExprKind::Binary && step.value->text == "+") {
    for (int n : {0, 1})
      if (isVariable(step.value->operands[n], result.variable)) amount = evaluate.integer(step.value->operands[1 - n]);
  }
  if (!amount) return std::nullopt;
  if (step.text == "-=") amount = -*amount;
  result.step = *amount;
  // The bound.
  if (stmt.value->kind != ExprKind::Binary) return std::nullopt;
  std::string op = stmt.value->text;
  bool left = isVariable(stmt.value->operands[0], result.variable), right = isVariable(stmt.value->operands[1], result.variable);
  if (left == right) return std::nullopt;
  if (right) {
    static const std::map<std::string, std::string> mirrored{{"<", ">"}, {">", "<"}, {"<=", ">="}, {">=", "<="}, {"!=", "!="}};
    auto found = mirrored.find(op);
    if (found == mirrored.end()) return std::nullopt;
    op = found->second;
  }
  ExprRef boundExpr = stmt.value->operands[left ? 1 : 0];
  while (boundExpr->kind == ExprKind::Cast && boundExpr->implicit && boundExpr->operands[0]->type.kind == Type::Int)
    boundExpr = boundExpr->operands[0];
  auto bound = evaluate.integer(boundExpr);
  if (!bound) {
    why = "a loop whose bound is not affine: " + print(out.kernel, stmt.value);
    return std::nullopt;
  }
  for (const auto& [variable, times] : assigned) {
    // A bound that changes inside the loop is no bound.
    Environment without = environment;
    environment[variable] = Value{};
    bool depends = !evaluator().integer(boundExpr);
    environment = without;
    if (depends) {
      why = "a loop whose bound changes in its body";
      return std::nullopt;
    }
  }
  const Type& compared = stmt.value->operands[0]->type;
  if (compared.kind == Type::Int && !compared.isSigned && !proveNonNegative(*bound)) {
    if (!evaluate.isSizesOnly(*bound)) return std::nullopt;
    evaluate.assume(*bound, "an unsigned loop bound does not wrap");
  }
  auto constantStep = amount->constant();
  result.isDown = constantStep && *constantStep < 0;
  if (result.isDown) {
    if (*constantStep != -1 || !compared.isSigned) return std::nullopt;
    if (op == ">=") result.to = *bound;
    else if (op == ">") result.to = *bound + Polynomial(1);
    else return std::nullopt;
    return result;
  }
  if (constantStep && *constantStep <= 0) return std::nullopt;
  if (op == "<" || (op == "!=" && constantStep == 1)) result.to = *bound;
  else if (op == "<=") result.to = *bound + Polynomial(1);
  else return std::nullopt;
  return result;
}

/// Variables that advance by a loop-invariant amount each iteration hold `start + iteration * amount`; all others that the
/// body assigns are unknown inside it.
void Lifter::enterInductions(const Stmt& stmt, const Counted& loop) {
  std::map<int, int> assigned;
  model::collectAssigned(stmt.body, assigned);
  Environment before = environment;
  for (const auto& [variable, times] : assigned)
    environment[variable] = Value{};
  Polynomial index = Polynomial::symbol(out.loops[openLoops.back()].name);
  auto step = loop.step.constant();
  for (const StmtRef& inner : stmt.body) {
    bool advances = inner->kind == StmtKind::Assign && (inner->text == "+=" || inner->text == "-=") && assigned[inner->variable] == 1;
    if (!advances || !step || loop.isDown) continue;
    auto start = before.find(inner->variable);
    auto amount = evaluator().integer(inner->value);
    Value held;
    if (start != before.end()) held = start->second;
    else held = [&] {
      // A kernel parameter that nobody has touched yet.
      Environment saved = environment;
      environment.erase(inner->variable);
      Value value = evaluator().variable(inner->variable);
      environment = saved;
      return value;
    }();
    if (held.kind == Value::Unknown || !amount || amount->mentions(out.loops[openLoops.back()].name)) continue;
    Polynomial iteration = *step == 1 ? index - loop.from : Polynomial::floorDiv(index - loop.from, Polynomial(*step));
    Polynomial change = iteration * *amount;
    held.value = inner->text == "+=" ? held.value + change : held.value - change;
    environment[inner->variable] = held;
  }
}

std::string Lifter::loopName(const std::string& wanted) const {
  std::string name = wanted;
  std::set<std::string> taken = dimNames();
  for (const auto& [size, info] : out.sizes)
    taken.insert(size);
  while (taken.count(name))
    name += "_";
  return name;
}

void Lifter::loop(const Stmt& stmt, std::vector<StmtRef>& into) {
  std::string why;
  auto found = counted(stmt, why);
  if (!found || !found->step.constant() || isReadBehind(stmt)) return dataLoop(stmt, into);
  bool leaves = model::hasExit(stmt.body, StmtKind::Return) || model::hasExit(stmt.body, StmtKind::Break);
  Dim dim;
  const model::Variable& variable = out.kernel.variables[found->variable];
  dim.kind = Dim::Sequential;
  dim.type = variable.type;
  dim.variable = found->variable;
  dim.name = loopName(variable.name);
  dim.from = found->isDown ? found->to : found->from;
  dim.to = found->isDown ? found->from + Polynomial(1) : found->to;
  dim.step = found->isDown ? Polynomial(-1) : found->step;
  dim.uniform = !found->isDown && mayDepth == 0 && !leaves;
  for (const Polynomial* bound : {&dim.from, &dim.to})
    for (const auto& name : bound->symbols()) {
      bool isUniformLoop = false;
      for (size_t open : openLoops)
        isUniformLoop = isUniformLoop || (out.loops[open].name == name && out.loops[open].uniform);
      dim.uniform = dim.uniform && (out.isSize(name) || isUniformLoop);
    }
  size_t index = out.loops.size();
  out.loops.push_back(dim);
  openLoops.push_back(index);
  Environment before = environment;
  enterInductions(stmt, *found);
  Value counter;
  counter.kind = Value::Integer;
  counter.value = Polynomial::symbol(dim.name);
  environment[found->variable] = counter;
  Stmt kept = stmt;
  kept.body.clear();
  kept.init.clear();
  kept.step.clear();
  // The header is evaluated before and between iterations: it may load, but only what the walk can see.
  kept.value = nullptr;
  kept.variable = static_cast<int>(index);
  walk(stmt.body, kept.body);
  openLoops.pop_back();
  std::map<int, int> assigned;
  model::collectAssigned(stmt.body, assigned);
  environment = before;
  for (const auto& [variable, times] : assigned)
    environment[variable] = Value{};
  environment[found->variable] = Value{};
  into.push_back(std::make_shared<Stmt>(std::move(kept)));
}

} // namespace retile::lift
