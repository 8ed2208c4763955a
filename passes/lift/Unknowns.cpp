// Integers that only the data knows: what is loaded and used as a subscript or bound, and what is made from
// it.
//
//   int c = col[j];  s += x[c];            ->   x[q1] for any q1
//   int r = c / 4;  if (r > 7) r = 7;      ->   q3 with (q2 > 7 and q3 = 7) or (q2 <= 7 and q3 = q2), 4 q2 <=
//   c < 4 q2 + 4
//
// An unknown is a dimension of isl relations that is another one in each instance of a statement. Its
// constraints hold for all data: proofs may use them. What only the test data keep to is Unknown::range,
// which no proof sees.
#include "Lifter.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Type;
using model::Variable;
using transform::Unknown;

Evaluator Lifter::dataEvaluator() {
  Evaluator result = evaluator();
  result.variable = [this](int variable) { return valueOf(variable, true); };
  result.standIn = [this](const ExprRef& expr) { return standIn(expr); };
  result.dimsNow = [this] { return dimNames(); };
  return result;
}

std::string Lifter::addUnknown(const std::string& constraints, const std::string& source) {
  Unknown made;
  for (size_t n = out.unknowns.size();; ++n) {
    made.name = "q" + std::to_string(n) + "_";
    if (!out.isSize(made.name) && !out.dim(made.name) && !out.unknowns.count(made.name))
      break;
  }
  made.constraints = constraints;
  made.source = source;
  out.unknowns[made.name] = made;
  return made.name;
}

/// The unknowns among the names, and those and the loops that have closed that their constraints name in
/// turn.
std::vector<std::string> Lifter::unknownsIn(std::set<std::string> names) const {
  // More than any proof could use: the rest stays unconstrained.
  constexpr size_t most = 12;
  std::vector<std::string> found;
  std::set<std::string> seen;
  std::vector<std::string> queue(names.begin(), names.end());
  for (size_t n = 0; n < queue.size(); ++n) {
    const std::string name = queue[n];
    if (!seen.insert(name).second)
      continue;
    auto unknown = out.unknowns.find(name);
    bool isClosedLoop = false;
    for (size_t loop = 0; loop < out.loops.size(); ++loop)
      isClosedLoop = isClosedLoop || (out.loops[loop].name == name &&
                                      std::find(openLoops.begin(), openLoops.end(), loop) == openLoops.end());
    if (unknown == out.unknowns.end() && !isClosedLoop)
      continue;
    found.push_back(name);
    if (unknown == out.unknowns.end() || found.size() > most)
      continue;
    for (const auto& next : poly::namesIn(unknown->second.constraints))
      queue.push_back(next);
  }
  return found;
}

static std::string typeRange(const std::string& name, const Type& type) {
  if (type.kind == Type::Bool)
    return "0 <= " + name + " <= 1";
  if (type.kind != Type::Int)
    return "";
  if (type.bits < 32) {
    std::int64_t low = type.isSigned ? -(std::int64_t{1} << (type.bits - 1)) : 0,
                 high = low + (std::int64_t{1} << type.bits) - 1;
    return std::to_string(low) + " <= " + name + " <= " + std::to_string(high);
  }
  return type.isSigned ? "" : name + " >= 0";
}

/// u = a / c and u = a % c as C has them, for a constant c > 0.
static std::string quotient(const std::string& u, const std::string& a, const std::string& c) {
  return "((" + a + " >= 0 and " + u + " = floor((" + a + ")/" + c + ")) or (" + a + " < 0 and " + u +
         " = -floor((-(" + a + "))/" + c + ")))";
}
static std::string remainder(const std::string& u, const std::string& a, const std::string& c) {
  return "((" + a + " >= 0 and " + u + " = (" + a + ") mod " + c + ") or (" + a + " < 0 and " + u +
         " = -((-(" + a + ")) mod " + c + ")))";
}

Value Lifter::standIn(const ExprRef& expr) {
  Value value;
  value.kind = Value::Integer;
  if (auto known = stoodIn.find(expr.get()); known != stoodIn.end()) {
    value.value = Polynomial::symbol(known->second);
    return value;
  }
  Evaluator evaluate = dataEvaluator();
  auto operand = [&](size_t n) -> std::optional<std::string> {
    auto number = evaluate.integer(expr->operands[n]);
    return number ? number->toIsl(dimNames()) : std::nullopt;
  };
  std::string constraints, source;
  auto with = [&](const std::string& constraint) {
    constraints += (constraints.empty() || constraint.empty() ? "" : " and ") + constraint;
  };
  const std::string u = addUnknown("", "");
  with(typeRange(u, expr->kind == ExprKind::Cast && expr->operands[0]->type.kind == Type::Bool
                        ? expr->operands[0]->type
                        : expr->type));
  bool isConstantOperation = expr->kind == ExprKind::Binary && expr->type.bits >= 32;
  if (expr->kind == ExprKind::Load) {
    Value pointer = evaluate.evaluate(expr->operands[0]);
    if (pointer.kind == Value::Pointer) {
      const Variable& base = out.kernel.variables[pointer.base];
      if (base.kind == Variable::Parameter || base.kind == Variable::Global)
        source = base.name;
    }
  } else if (expr->kind == ExprKind::Select) {
    auto holds = evaluate.condition(expr->operands[0]), fails = evaluate.condition(expr->operands[0], true);
    auto a = operand(1), b = operand(2);
    if (a && b)
      with("((" + (holds ? *holds + " and " : "") + u + " = " + *a + ") or (" +
           (fails ? *fails + " and " : "") + u + " = " + *b + "))");
  } else if (isConstantOperation && (expr->text == "/" || expr->text == "%" || expr->text == "&")) {
    auto divisor = evaluate.integer(expr->operands[1]);
    auto constant = divisor ? divisor->constant() : std::nullopt;
    auto a = constant && *constant > 0 && expr->text != "&" ? operand(0) : std::nullopt;
    if (a)
      with(expr->text == "/" ? quotient(u, *a, std::to_string(*constant))
                             : remainder(u, *a, std::to_string(*constant)));
    if (expr->text == "&" && constant && *constant >= 0)
      with("0 <= " + u + " <= " + std::to_string(*constant));
    auto text = divisor ? divisor->toIsl(dimNames()) : std::nullopt;
    if (expr->text == "%" && !constant && text && evaluate.isSizesOnly(*divisor))
      with((expr->type.isSigned ? "-(" + *text + ") < " + u : "0 <= " + u) + " and " + u + " < " + *text);
  }
  Unknown& made = out.unknowns[u];
  made.constraints = constraints;
  made.source = source;
  stoodIn[expr.get()] = u;
  value.value = Polynomial::symbol(u);
  return value;
}

/// What a variable of this type holds after it is set.
Value Lifter::held(const Type& type, const ExprRef& value) {
  bool isNarrow = type.kind == Type::Int && type.bits < 32;
  Value exact = isNarrow ? Value{} : evaluator().evaluate(value);
  if (exact.kind != Value::Unknown)
    return exact;
  Value found = dataEvaluator().evaluate(value);
  if (type.kind != Type::Int || (!isNarrow && found.kind == Value::Integer))
    return found;
  Value narrow;
  narrow.kind = Value::Integer;
  std::string name = addUnknown("", "");
  std::string range = typeRange(name, type);
  // What fits keeps its value.
  const Type& from = value->type;
  auto text = found.kind == Value::Integer ? found.value.toIsl(dimNames()) : std::nullopt;
  bool fits = from.kind == Type::Int &&
              (from.bits < type.bits || (from.bits == type.bits && from.isSigned == type.isSigned));
  if (fits && text)
    range += (range.empty() ? "" : " and ") + (name + " = " + *text);
  Unknown& made = out.unknowns[name];
  made.constraints = range;
  if (auto same = found.value.asSymbol(); fits && same && out.unknowns.count(*same))
    made.source = out.unknowns[*same].source;
  narrow.value = Polynomial::symbol(name);
  return narrow;
}

/// The value behind a branch.
Value Lifter::joined(const Value& a, const Value& b, const std::optional<std::string>& whenA,
                     const std::optional<std::string>& whenB) {
  if (a.kind != b.kind || a.base != b.base || a.kind == Value::Unknown)
    return {};
  if (a.value == b.value)
    return a;
  auto ta = a.value.toIsl(dimNames()), tb = b.value.toIsl(dimNames());
  if (!ta || !tb)
    return {};
  std::string u = addUnknown("", "");
  out.unknowns[u].constraints = "((" + (whenA ? *whenA + " and " : "") + u + " = " + *ta + ") or (" +
                                (whenB ? *whenB + " and " : "") + u + " = " + *tb + "))";
  Value value = a;
  value.value = Polynomial::symbol(u);
  return value;
}

} // namespace retile::lift
