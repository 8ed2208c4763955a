#include "ExpressionTree.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace retile::manifest {

static const char* floorDivide(std::int64_t a, std::int64_t b, std::int64_t& result) {
  if (b == 0)
    return "division by zero";
  if (a == std::numeric_limits<std::int64_t>::min() && b == -1)
    return "overflow";
  result = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
  return nullptr;
}

static const char* floorModulo(std::int64_t a, std::int64_t b, std::int64_t& result) {
  if (b == 0)
    return "division by zero";
  std::int64_t rest = b == -1 ? 0 : a % b;
  result = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  return nullptr;
}

static const char* ceilDivide(std::int64_t a, std::int64_t b, std::int64_t& result) {
  std::int64_t rest = 0;
  if (const char* failure = floorDivide(a, b, result))
    return failure;
  floorModulo(a, b, rest);
  result += rest != 0;
  return nullptr;
}

const char* apply(Op op, std::int64_t a, std::int64_t b, std::int64_t& result) {
  switch (op) {
  case Op::Mul:
    return __builtin_mul_overflow(a, b, &result) ? "overflow" : nullptr;
  case Op::Add:
    return __builtin_add_overflow(a, b, &result) ? "overflow" : nullptr;
  case Op::Sub:
    return __builtin_sub_overflow(a, b, &result) ? "overflow" : nullptr;
  case Op::Div:
    return floorDivide(a, b, result);
  case Op::Mod:
    return floorModulo(a, b, result);
  case Op::CeilDiv:
    return ceilDivide(a, b, result);
  case Op::Min:
    return result = std::min(a, b), nullptr;
  case Op::Max:
    return result = std::max(a, b), nullptr;
  case Op::Lt:
    return result = a < b, nullptr;
  case Op::Le:
    return result = a <= b, nullptr;
  case Op::Gt:
    return result = a > b, nullptr;
  case Op::Ge:
    return result = a >= b, nullptr;
  case Op::Eq:
    return result = a == b, nullptr;
  default:
    return result = a != b, nullptr;
  }
}

namespace {

/// Evaluates a tree; the first failure sticks and every later value is meaningless.
class Evaluator {
public:
  explicit Evaluator(const Bindings& bindings) : bindings(bindings) {}
  std::string failure;

  std::int64_t value(const Node& node) {
    switch (node.op) {
    case Op::Literal:
      return node.value;
    case Op::Name:
      return lookUp(node.name);
    case Op::And:
      return operand(node, 0) && operand(node, 1);
    case Op::Or:
      return operand(node, 0) || operand(node, 1);
    case Op::If:
      return operand(node, 0) ? operand(node, 1) : operand(node, 2);
    case Op::Not:
      return !operand(node, 0);
    case Op::Negate:
      return applied(Op::Sub, 0, operand(node, 0));
    case Op::Abs: {
      std::int64_t inner = operand(node, 0);
      return inner < 0 ? applied(Op::Sub, 0, inner) : inner;
    }
    default:
      return folded(node);
    }
  }

private:
  std::int64_t fail(std::string why) {
    if (failure.empty())
      failure = std::move(why);
    return 0;
  }

  std::int64_t operand(const Node& node, std::size_t index) {
    return failure.empty() ? value(*node.operands[index]) : 0;
  }

  std::int64_t lookUp(const std::string& name) {
    auto found = bindings.find(name);
    return found != bindings.end() ? found->second : fail(fmt::format("unknown name '{}'", name));
  }

  std::int64_t applied(Op op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    const char* why = apply(op, a, b, result);
    return why ? fail(why) : result;
  }

  /// Binary operators have two operands, min and max may have any number.
  std::int64_t folded(const Node& node) {
    std::int64_t result = operand(node, 0);
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      std::int64_t next = operand(node, i);
      result = failure.empty() ? applied(node.op, result, next) : 0;
    }
    return result;
  }

  const Bindings& bindings;
};

} // namespace

Expected<std::int64_t> Expression::evaluate(const Bindings& bindings) const {
  Evaluator evaluator(bindings);
  std::int64_t result = evaluator.value(*root);
  if (!evaluator.failure.empty())
    return Error{evaluator.failure, ""};
  return result;
}

static void collectNames(const Node& node, std::set<std::string>& names) {
  if (node.op == Op::Name)
    names.insert(node.name);
  for (const Tree& operand : node.operands)
    collectNames(*operand, names);
}

std::set<std::string> Expression::names() const {
  std::set<std::string> names;
  collectNames(*root, names);
  return names;
}

namespace {

/// Spells a tree in C++.
class Speller {
public:
  explicit Speller(const Spelling& spelling) : spelling(spelling) {}

  std::string spell(const Node& node) const {
    switch (node.op) {
    case Op::Literal:
      return fmt::format("{}LL", node.value);
    case Op::Name: {
      auto found = spelling.find(node.name);
      return found == spelling.end() ? node.name : found->second;
    }
    case Op::Negate:
      return fmt::format("(-{})", operand(node, 0));
    case Op::Not:
      return fmt::format("(!{})", operand(node, 0));
    case Op::If:
      return fmt::format("({} ? {} : {})", operand(node, 0), operand(node, 1), operand(node, 2));
    case Op::Abs:
      return fmt::format("retile::host::absolute({})", operand(node, 0));
    case Op::Min:
      return call("minimum", node);
    case Op::Max:
      return call("maximum", node);
    case Op::Div:
      return call("floordiv", node);
    case Op::Mod:
      return call("floormod", node);
    case Op::CeilDiv:
      return call("ceildiv", node);
    default:
      return infix(node);
    }
  }

private:
  std::string operand(const Node& node, std::size_t index) const { return spell(*node.operands[index]); }

  /// min(a, b, c) as f(f(a, b), c).
  std::string call(const char* function, const Node& node) const {
    std::string text = operand(node, 0);
    for (std::size_t i = 1; i < node.operands.size(); ++i)
      text = fmt::format("retile::host::{}({}, {})", function, text, operand(node, i));
    return text;
  }

  std::string infix(const Node& node) const {
    auto found = std::find_if(std::begin(binaryOperators), std::end(binaryOperators),
                              [&](const BinaryOperator& candidate) { return candidate.op == node.op; });
    return fmt::format("({} {} {})", operand(node, 0), found->spelling, operand(node, 1));
  }

  const Spelling& spelling;
};

} // namespace

std::string Expression::toCxx(const Spelling& spelling) const { return Speller(spelling).spell(*root); }

} // namespace retile::manifest
