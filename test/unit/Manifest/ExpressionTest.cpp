#include "retile/Manifest/Expression.h"

#include <gtest/gtest.h>
#include <random>

using namespace retile;
using namespace retile::manifest;

static std::optional<std::int64_t> value(const std::string& text, const Bindings& bindings = {}) {
  auto expression = Expression::parse(text);
  if (!expression)
    return std::nullopt;
  auto result = expression->evaluate(bindings);
  return result ? std::optional(*result) : std::nullopt;
}

static std::string failure(const std::string& text, const Bindings& bindings = {}) {
  auto expression = Expression::parse(text);
  if (!expression)
    return expression.error().message;
  auto result = expression->evaluate(bindings);
  return result ? "" : result.error().message;
}

TEST(Expression, FollowsCPrecedence) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("10 - 4 - 3"), 3);
  EXPECT_EQ(value("1 < 2 == 1"), 1);
  EXPECT_EQ(value("1 || 0 && 0"), 1);
  EXPECT_EQ(value("0 ? 1 : 1 ? 2 : 3"), 2);
  EXPECT_EQ(value("!0 + !7"), 1);
  EXPECT_EQ(value("- -3"), 3);
  EXPECT_EQ(value("2 != 2 || 3 >= 3"), 1);
}

TEST(Expression, DividesTowardsMinusInfinity) {
  EXPECT_EQ(value("-7 / 2"), -4);
  EXPECT_EQ(value("-7 % 2"), 1);
  EXPECT_EQ(value("7 / -2"), -4);
  EXPECT_EQ(value("7 % -2"), -1);
  EXPECT_EQ(value("ceildiv(7, 2)"), 4);
  EXPECT_EQ(value("ceildiv(-7, 2)"), -3);
  EXPECT_EQ(value("ceildiv(8, 2)"), 4);
}

TEST(Expression, HasFunctions) {
  EXPECT_EQ(value("min(3, 1, 2)"), 1);
  EXPECT_EQ(value("max(3)"), 3);
  EXPECT_EQ(value("abs(-5)"), 5);
  EXPECT_EQ(failure("ceildiv(1)"), "wrong number of arguments for 'ceildiv' at column 11 of 'ceildiv(1)'");
  EXPECT_EQ(failure("pow(1, 2)"), "unknown function 'pow' at column 5 of 'pow(1, 2)'");
}

TEST(Expression, NeverInventsAValue) {
  EXPECT_EQ(failure("9223372036854775807 + 1"), "overflow");
  EXPECT_EQ(failure("-9223372036854775807 - 2"), "overflow");
  EXPECT_EQ(failure("4294967296 * 4294967296"), "overflow");
  EXPECT_EQ(failure("abs(-9223372036854775807 - 1)"), "overflow");
  EXPECT_EQ(failure("(-9223372036854775807 - 1) / -1"), "overflow");
  EXPECT_EQ(value("(-9223372036854775807 - 1) % -1"), 0);
  EXPECT_EQ(failure("1 / 0"), "division by zero");
  EXPECT_EQ(failure("1 % 0"), "division by zero");
  EXPECT_EQ(failure("ceildiv(1, 0)"), "division by zero");
  EXPECT_EQ(failure("N + 1"), "unknown name 'N'");
}

TEST(Expression, LeavesOutWhatShortCircuits) {
  EXPECT_EQ(value("0 && 1 / 0"), 0);
  EXPECT_EQ(value("5 || 1 / 0"), 1);
  EXPECT_EQ(value("1 ? 2 : 1 / 0"), 2);
}

TEST(Expression, RefusesMalformedText) {
  for (const char* text : {"", " ", "1 +", "(1", "1)", "1 2", "1.5", "0x10", "9223372036854775808", "a b",
                           "? 1 : 2", "1 ? 2", "min()", "min(1,", "1 = 2", "&1", "#", "\xff"})
    EXPECT_FALSE(Expression::parse(text)) << text;
}

TEST(Expression, BoundsDepthAndLength) {
  EXPECT_FALSE(Expression::parse(std::string(100'000, '(')));
  EXPECT_FALSE(Expression::parse(std::string(60'000, '(')));
  EXPECT_FALSE(Expression::parse(std::string(60'000, '-') + "1"));
  EXPECT_FALSE(Expression::parse(std::string(60'000, '!') + "1"));
  std::string chain = "1", ternaries;
  for (int i = 0; i < 10'000; ++i) {
    chain += "+1";
    ternaries += "1?1:";
  }
  EXPECT_FALSE(Expression::parse(chain));
  EXPECT_FALSE(Expression::parse(ternaries + "1"));
}

TEST(Expression, ListsNames) {
  EXPECT_EQ(Expression::parse("N * min(M, N) + 1")->names(), (std::set<std::string>{"M", "N"}));
}

TEST(Expression, SpellsCxx) {
  EXPECT_EQ(Expression::parse("N / 2 + M % 3")->toCxx(),
            "(retile::host::floordiv(N, 2LL) + retile::host::floormod(M, 3LL))");
  EXPECT_EQ(Expression::parse("min(N, 2, 3) < -M ? !N : 0")->toCxx({{"N", "size_N"}}),
            "((retile::host::minimum(retile::host::minimum(size_N, 2LL), 3LL) < (-M)) ? (!size_N) : 0LL)");
}

/// A random expression over a and b.
static std::string generate(std::mt19937& random, int depth) {
  static const char* operators[] = {"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||"};
  auto inner = [&] { return generate(random, depth - 1); };
  if (depth == 0)
    return random() % 3 ? std::string(random() % 2 ? "a" : "b") : std::to_string(random() % 5);
  switch (random() % 8) {
  case 0:
    return "min(" + inner() + ", " + inner() + ")";
  case 1:
    return "(" + inner() + " ? " + inner() + " : " + inner() + ")";
  case 2:
    return "ceildiv(" + inner() + ", " + inner() + ")";
  case 3:
    return (random() % 2 ? "(-" : "(!") + inner() + ")";
  case 4:
    return "abs(" + inner() + ")";
  default:
    return "(" + inner() + " " + operators[random() % std::size(operators)] + " " + inner() + ")";
  }
}

TEST(Program, AgreesWithTheTree) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text = generate(random, 1 + static_cast<int>(random() % 5));
    auto expression = Expression::parse(text);
    ASSERT_TRUE(expression) << text;
    auto program = expression->compile({"a", "b"});
    ASSERT_TRUE(program);
    for (std::int64_t a : {-3, 0, 5})
      for (std::int64_t b : {-2, 0, 7}) {
        const std::int64_t slots[] = {a, b};
        EXPECT_EQ(program->run(slots), value(text, {{"a", a}, {"b", b}})) << text << " at " << a << ", " << b;
      }
  }
}

TEST(Program, RefusesUnknownNames) {
  EXPECT_EQ(Expression::parse("a + c")->compile({"a", "b"}).error().message, "unknown name 'c'");
}

TEST(Program, RunsTheDeepestTree) {
  std::string text = "1";
  for (int i = 0; i < 190; ++i)
    text = "1 + (" + text + ")";
  auto expression = Expression::parse(text);
  ASSERT_TRUE(expression);
  EXPECT_EQ(expression->compile({})->run(nullptr), 191);
}
