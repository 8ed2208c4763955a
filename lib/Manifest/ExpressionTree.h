// The tree behind Expression, and the arithmetic that the evaluators share. Not installed.
#pragma once

#include "retile/Manifest/Expression.h"

#include <string_view>
#include <vector>

namespace retile::manifest {

enum class Op {
  Literal,
  Name,
  Negate,
  Not,
  Mul,
  Div,
  Mod,
  Add,
  Sub,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  And,
  Or,
  If,
  Min,
  Max,
  CeilDiv,
  Abs
};

struct Expression::Node {
  Op op = Op::Literal;
  std::int64_t value = 0;
  std::string name;
  std::vector<std::shared_ptr<const Node>> operands;
  int depth = 1;
};

using Node = Expression::Node;
using Tree = std::shared_ptr<const Node>;

/// Deepest tree that the parser makes; evaluators recurse or stack so far and no further.
inline constexpr int maxDepth = 400;

struct BinaryOperator {
  std::string_view spelling;
  Op op;
  int precedence;
};

/// Longer spellings first, so that "<=" is not read as "<".
inline constexpr BinaryOperator binaryOperators[] = {
    {"||", Op::Or, 1}, {"&&", Op::And, 2}, {"==", Op::Eq, 3}, {"!=", Op::Ne, 3}, {"<=", Op::Le, 4},
    {">=", Op::Ge, 4}, {"<", Op::Lt, 4},   {">", Op::Gt, 4},  {"+", Op::Add, 5}, {"-", Op::Sub, 5},
    {"*", Op::Mul, 6}, {"/", Op::Div, 6},  {"%", Op::Mod, 6}};

/// Applies a strict binary operator. Null, or why there is no result ("overflow", "division by zero").
const char* apply(Op op, std::int64_t a, std::int64_t b, std::int64_t& result);

} // namespace retile::manifest
