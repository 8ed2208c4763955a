// Integer expressions as polynomials, conditions as isl constraints.
//
// Machine integers are treated as mathematical ones. Where that could differ (an unsigned difference below zero, a
// division of a negative number) the evaluator proves that it does not, models the wrap-around exactly in a comparison, or
// gives up.
#include "Evaluate.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Type;

static bool isWholeNumber(const Type& type) { return type.kind == Type::Int || type.kind == Type::Bool; }

/// `(long long)u`: what has wrapped below zero stays huge.
static bool isWideningOfUnsigned(const Expr& cast) {
  const Type& from = cast.operands[0]->type;
  return from.kind == Type::Int && !from.isSigned && from.bits < cast.type.bits;
}

static bool isPowerOfTwo(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

std::optional<Polynomial> Evaluator::integer(const ExprRef& expr) const {
  Value value = evaluate(expr);
  if (value.kind != Value::Integer || !value.value.isValid()) return std::nullopt;
  return value.value;
}

std::optional<Polynomial> Evaluator::binary(const Expr& expr) const {
  auto a = integer(expr.operands[0]), b = integer(expr.operands[1]);
  if (!a || !b) return std::nullopt;
  const std::string& op = expr.text;
  if (op == "+") return *a + *b;
  if (op == "-") return *a - *b;
  if (op == "*") return *a * *b;
  auto constant = b->constant();
  if (op == "<<" && constant && *constant >= 0 && *constant < 62) return *a * Polynomial(std::int64_t{1} << *constant);
  bool isPositiveDivisor = constant ? *constant > 0 : isSizesOnly(*b);
  if ((op == "/" || op == "%") && isPositiveDivisor) {
    // C truncates, the polynomial floors: equal where the dividend is not negative.
    if (!prove(*a)) return std::nullopt;
    return op == "/" ? Polynomial::floorDiv(*a, *b) : Polynomial::mod(*a, *b);
  }
  if (op == ">>" && constant && *constant >= 0 && *constant < 62) {
    if (!expr.operands[0]->type.isSigned && !prove(*a)) return std::nullopt;
    return Polynomial::floorDiv(*a, Polynomial(std::int64_t{1} << *constant));
  }
  if (op == "&" && constant && isPowerOfTwo(*constant + 1) && prove(*a)) return Polynomial::mod(*a, Polynomial(*constant + 1));
  return std::nullopt;
}

/// Indices of threads and blocks are never negative, nor are sums and products of such numbers.
bool Evaluator::isNeverNegative(const ExprRef& expr) const {
  static const std::set<std::string> keeping{"+", "*", "/", "%", "&", ">>", "<<"};
  if (expr->kind == ExprKind::Builtin) return true;
  if (expr->kind == ExprKind::Cast && isWholeNumber(expr->type) && isNeverNegative(expr->operands[0])) return true;
  if (expr->kind == ExprKind::Binary && keeping.count(expr->text) && isNeverNegative(expr->operands[0]) && isNeverNegative(expr->operands[1]))
    return true;
  auto value = integer(expr);
  return value && prove(*value);
}

Value Evaluator::evaluate(const ExprRef& expr) const {
  Value value = known(expr);
  bool isNumber = value.kind == Value::Integer && value.value.isValid();
  return standIn && !isNumber && value.kind != Value::Pointer && expr->type.kind == Type::Int ? standIn(expr) : value;
}

Value Evaluator::known(const ExprRef& expr) const {
  Value unknown, result;
  result.kind = Value::Integer;
  auto whole = [&](std::optional<Polynomial> p) {
    if (!p || !p->isValid()) return unknown;
    result.value = *p;
    return result;
  };
  switch (expr->kind) {
  case ExprKind::IntLiteral:
    return whole(Polynomial(expr->value));
  case ExprKind::MacroSize:
    return whole(Polynomial::symbol(expr->text));
  case ExprKind::Builtin:
    return whole(builtin(expr->text));
  case ExprKind::Variable:
  case ExprKind::Array:
    return variable(expr->variable);
  case ExprKind::Cast: {
    if (expr->type.kind == Type::Pointer) return evaluate(expr->operands[0]);
    const Type &from = expr->operands[0]->type, &to = expr->type;
    if (!isWholeNumber(from) || to.kind != Type::Int) return unknown;
    auto inner = integer(expr->operands[0]);
    if (!inner) return unknown;
    if (from.kind == Type::Bool) return unknown;
    // A narrow type would cut bits off; 32 bits and more hold every index by the no-overflow assumption.
    if (to.bits < 32 && to.bits < from.bits) return unknown;
    // A negative number becomes huge in an unsigned type, unless it is only an index on its way (comparisons look
    // through casts themselves): then it is taken modulo 2^bits, and a wider type has to see the same number.
    if (isWideningOfUnsigned(*expr) && !isNeverNegative(expr->operands[0])) return unknown;
    return whole(inner);
  }
  case ExprKind::Unary:
    if (!isWholeNumber(expr->type)) return unknown;
    if (expr->text == "-") {
      auto inner = integer(expr->operands[0]);
      return inner ? whole(-*inner) : unknown;
    }
    if (expr->text == "+") return evaluate(expr->operands[0]);
    return unknown;
  case ExprKind::Binary:
    return isWholeNumber(expr->type) ? whole(binary(*expr)) : unknown;
  case ExprKind::Select: {
    if (!isWholeNumber(expr->type)) return unknown;
    auto a = integer(expr->operands[1]), b = integer(expr->operands[2]);
    const Expr& test = *expr->operands[0];
    if (!a || !b || test.kind != ExprKind::Binary) return unknown;
    auto left = integer(test.operands[0]), right = integer(test.operands[1]);
    if (!left || !right) return unknown;
    bool less = test.text == "<" || test.text == "<=", greater = test.text == ">" || test.text == ">=";
    if ((less && *left == *a && *right == *b) || (greater && *left == *b && *right == *a))
      return whole(Polynomial::minimum(*a, *b));
    if ((greater && *left == *a && *right == *b) || (less && *left == *b && *right == *a))
      return whole(Polynomial::maximum(*a, *b));
    return unknown;
  }
  case ExprKind::Call: {
    bool isMin = expr->text == "min" || expr->text == "std::min", isMax = expr->text == "max" || expr->text == "std::max";
    if ((!isMin && !isMax) || expr->operands.size() != 2 || !isWholeNumber(expr->type)) return unknown;
    auto a = integer(expr->operands[0]), b = integer(expr->operands[1]);
    if (!a || !b) return unknown;
    return whole(isMin ? Polynomial::minimum(*a, *b) : Polynomial::maximum(*a, *b));
  }
  case ExprKind::PointerAdd: {
    Value pointer = evaluate(expr->operands[0]);
    auto index = integer(expr->operands[1]);
    if (pointer.kind != Value::Pointer || !index) return unknown;
    pointer.value = pointer.value + *index;
    return pointer;
  }
  default:
    return unknown;
  }
}

/// Through conversions between whole numbers: the number before them.
static ExprRef number(ExprRef expr) {
  while (expr->kind == ExprKind::Cast && isWholeNumber(expr->type) && isWholeNumber(expr->operands[0]->type) &&
         expr->type.bits >= 32 && !isWideningOfUnsigned(*expr))
    expr = expr->operands[0];
  return expr;
}

std::optional<std::string> Evaluator::comparison(const Expr& expr, bool negated) const {
  static const std::map<std::string, std::string> opposite{{"<", ">="}, {">=", "<"}, {">", "<="},
                                                           {"<=", ">"}, {"==", "!="}, {"!=", "=="}};
  std::string op = negated ? opposite.at(expr.text) : expr.text;
  const Type& type = expr.operands[0]->type;
  if (!isWholeNumber(type) || !isWholeNumber(expr.operands[1]->type)) return std::nullopt;
  std::array<std::optional<Polynomial>, 2> sides{integer(number(expr.operands[0])), integer(number(expr.operands[1]))};
  // In an unsigned comparison a negative side stands for itself plus 2^bits.
  bool isUnsigned = !type.isSigned && type.kind == Type::Int;
  std::array<bool, 2> mayWrap{false, false};
  std::array<std::string, 2> texts;
  for (int n : {0, 1}) {
    if (!sides[n]) return std::nullopt;
    if (isUnsigned && !prove(*sides[n])) {
      if (isSizesOnly(*sides[n])) assume(*sides[n], "an unsigned difference of sizes does not wrap");
      else if (type.bits != 32) return std::nullopt;
      else mayWrap[n] = true;
    }
    auto text = sides[n]->toIsl(dimsNow ? dimsNow() : dims);
    if (!text) return std::nullopt;
    texts[n] = *text;
  }
  std::string isl = op == "==" ? "=" : op;
  if (!mayWrap[0] && !mayWrap[1]) {
    if (op == "!=") return "(" + texts[0] + " < " + texts[1] + " or " + texts[0] + " > " + texts[1] + ")";
    return "(" + texts[0] + " " + isl + " " + texts[1] + ")";
  }
  std::string out;
  for (int w0 = 0; w0 <= (mayWrap[0] ? 1 : 0); ++w0)
    for (int w1 = 0; w1 <= (mayWrap[1] ? 1 : 0); ++w1) {
      auto sign = [&](int n, int wraps) { return mayWrap[n] ? texts[n] + (wraps ? " < 0 and " : " >= 0 and ") : ""; };
      auto side = [&](int n, int wraps) { return texts[n] + (wraps ? " + 4294967296" : ""); };
      std::string test = op == "!=" ? "(" + side(0, w0) + " < " + side(1, w1) + " or " + side(0, w0) + " > " + side(1, w1) + ")"
                                    : side(0, w0) + " " + isl + " " + side(1, w1);
      out += (out.empty() ? "(" : " or (") + sign(0, w0) + sign(1, w1) + test + ")";
    }
  return "(" + out + ")";
}

std::optional<std::string> Evaluator::condition(const ExprRef& expr, bool negated) const {
  if (expr->kind == ExprKind::Cast && (expr->implicit || expr->type.kind == Type::Bool) &&
      expr->operands[0]->type.kind == Type::Bool)
    return condition(expr->operands[0], negated);
  if (expr->kind == ExprKind::IntLiteral) return std::string((expr->value != 0) != negated ? "(1 = 1)" : "(1 = 0)");
  if (expr->kind == ExprKind::Unary && expr->text == "!") return condition(expr->operands[0], !negated);
  if (expr->kind != ExprKind::Binary) return std::nullopt;
  if (expr->text == "&&" || expr->text == "||") {
    auto a = condition(expr->operands[0], negated), b = condition(expr->operands[1], negated);
    if (!a || !b) return std::nullopt;
    bool isAnd = (expr->text == "&&") != negated;
    return "(" + *a + (isAnd ? " and " : " or ") + *b + ")";
  }
  static const std::set<std::string> comparisons{"<", "<=", ">", ">=", "==", "!="};
  if (!comparisons.count(expr->text)) return std::nullopt;
  return comparison(*expr, negated);
}

/// 1 where c does not divide a, as a polynomial: ceil(a/c) - floor(a/c).
static Polynomial hasRemainder(const Polynomial& a, const Polynomial& c) {
  return Polynomial::floorDiv(a + c - Polynomial(1), c) - Polynomial::floorDiv(a, c);
}

/// `a % c != 0` (or == 0, then *isZero).
static std::optional<Polynomial> remainderTest(const ExprRef& expr, bool& isZero) {
  ExprRef test = expr;
  while (test->kind == ExprKind::Cast)
    test = test->operands[0];
  if (test->kind != ExprKind::Binary) return std::nullopt;
  ExprRef remainder = number(test->operands[0]);
  if (test->text == "%") {
    isZero = false;
    remainder = test;
  } else if (test->text == "!=" || test->text == "==" || test->text == ">") {
    auto zero = evaluateHost(test->operands[1]);
    if (!zero || !zero->isZero()) return std::nullopt;
    isZero = test->text == "==";
  } else {
    return std::nullopt;
  }
  if (remainder->kind != ExprKind::Binary || remainder->text != "%") return std::nullopt;
  auto a = evaluateHost(remainder->operands[0]), c = evaluateHost(remainder->operands[1]);
  if (!a || !c || !c->constant()) return std::nullopt;
  return hasRemainder(*a, *c);
}

std::optional<Polynomial> evaluateHost(const ExprRef& expr) {
  if (!expr) return std::nullopt;
  switch (expr->kind) {
  case ExprKind::IntLiteral: return Polynomial(expr->value);
  case ExprKind::MacroSize: return Polynomial::symbol(expr->text);
  case ExprKind::Variable:
    if (!isWholeNumber(expr->type)) return std::nullopt;
    return Polynomial::symbol(expr->text);
  case ExprKind::Cast: {
    if (expr->operands[0]->type.kind == Type::Bool) {
      bool isZero = false;
      auto test = remainderTest(expr->operands[0], isZero);
      if (!test) return std::nullopt;
      return isZero ? Polynomial(1) - *test : *test;
    }
    return evaluateHost(expr->operands[0]);
  }
  case ExprKind::Unary: {
    auto inner = evaluateHost(expr->operands[0]);
    if (!inner || expr->text != "-") return std::nullopt;
    return -*inner;
  }
  case ExprKind::Binary: {
    bool isZero = false;
    if (expr->type.kind == Type::Bool) {
      auto test = remainderTest(expr, isZero);
      if (!test) return std::nullopt;
      return isZero ? Polynomial(1) - *test : *test;
    }
    auto a = evaluateHost(expr->operands[0]), b = evaluateHost(expr->operands[1]);
    if (!a || !b) return std::nullopt;
    if (expr->text == "+") return *a + *b;
    if (expr->text == "-") return *a - *b;
    if (expr->text == "*") return *a * *b;
    if (!isWholeNumber(expr->type)) return std::nullopt;
    if (expr->text == "/") return Polynomial::floorDiv(*a, *b);
    if (expr->text == "%") return Polynomial::mod(*a, *b);
    auto shift = b->constant();
    if (shift && *shift >= 0 && *shift < 62) {
      if (expr->text == "<<") return *a * Polynomial(std::int64_t{1} << *shift);
      if (expr->text == ">>") return Polynomial::floorDiv(*a, Polynomial(std::int64_t{1} << *shift));
    }
    return std::nullopt;
  }
  case ExprKind::Select: {
    auto a = evaluateHost(expr->operands[1]), b = evaluateHost(expr->operands[2]);
    if (!a || !b) return std::nullopt;
    bool isZero = false;
    if (auto test = remainderTest(expr->operands[0], isZero))
      return isZero ? *a + (*b - *a) * *test : *b + (*a - *b) * *test;
    const ExprRef& test = expr->operands[0];
    if (test->kind != ExprKind::Binary) return std::nullopt;
    auto left = evaluateHost(test->operands[0]), right = evaluateHost(test->operands[1]);
    if (!left || !right) return std::nullopt;
    bool less = test->text == "<" || test->text == "<=", greater = test->text == ">" || test->text == ">=";
    if ((less && *left == *a && *right == *b) || (greater && *left == *b && *right == *a)) return Polynomial::minimum(*a, *b);
    if ((greater && *left == *a && *right == *b) || (less && *left == *b && *right == *a)) return Polynomial::maximum(*a, *b);
    return std::nullopt;
  }
  case ExprKind::Call: {
    std::string name = expr->text.substr(expr->text.rfind(':') == std::string::npos ? 0 : expr->text.rfind(':') + 1);
    if ((name == "ceil" || name == "ceilf") && expr->operands.size() == 1) {
      ExprRef quotient = expr->operands[0];
      while (quotient->kind == ExprKind::Cast)
        quotient = quotient->operands[0];
      if (quotient->kind != ExprKind::Binary || quotient->text != "/") return evaluateHost(quotient);
      auto a = evaluateHost(quotient->operands[0]), b = evaluateHost(quotient->operands[1]);
      if (!a || !b) return std::nullopt;
      // ceil of an integer division is the floor that the division already took.
      if (isWholeNumber(quotient->type)) return Polynomial::floorDiv(*a, *b);
      return Polynomial::floorDiv(*a + *b - Polynomial(1), *b);
    }
    if ((name == "min" || name == "max") && expr->operands.size() == 2) {
      auto a = evaluateHost(expr->operands[0]), b = evaluateHost(expr->operands[1]);
      if (!a || !b) return std::nullopt;
      return name == "min" ? Polynomial::minimum(*a, *b) : Polynomial::maximum(*a, *b);
    }
    return std::nullopt;
  }
  default: return std::nullopt;
  }
}

} // namespace retile::lift
