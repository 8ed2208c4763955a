// Integer expressions as polynomials, conditions as isl constraints.
#pragma once

#include "retile/Transform/Lifted.h"

#include <functional>
#include <optional>

namespace retile::lift {

using poly::Polynomial;

/// What a scalar variable holds at a point of the program.
struct Value {
  enum Kind { Unknown, Integer, Pointer } kind = Unknown;
  Polynomial value;                  ///< Integer; of a Pointer its offset in elements
  int base = -1;                     ///< Pointer: the parameter, global or array variable it points into
};

using Environment = std::map<int, Value>;

/// Evaluates under an environment. `prove` asks whether a polynomial is non-negative wherever the current statement runs.
class Evaluator {
public:
  std::function<Value(int variable)> variable;
  std::function<std::optional<Polynomial>(const std::string& builtin)> builtin;
  std::function<bool(const Polynomial&)> prove;
  /// Called for a value over sizes alone that has to be >= 0 for the arithmetic to be what it looks like.
  std::function<void(const Polynomial&, const std::string& why)> assume;
  std::function<bool(const Polynomial&)> isSizesOnly;
  /// What stands for an integer that cannot be computed; may be null.
  std::function<Value(const model::ExprRef&)> standIn;
  std::set<std::string> dims;        ///< names that are dimensions, not sizes
  std::function<std::set<std::string>()> dimsNow; ///< the same, where evaluating adds to them; may be null

  Value evaluate(const model::ExprRef& expr) const;
  std::optional<Polynomial> integer(const model::ExprRef& expr) const;
  /// isl constraints equivalent to the condition; nullopt where it is not affine.
  std::optional<std::string> condition(const model::ExprRef& expr, bool negated = false) const;

private:
  bool isNeverNegative(const model::ExprRef& expr) const;
  Value known(const model::ExprRef& expr) const;
  std::optional<Polynomial> binary(const model::Expr& expr) const;
  std::optional<std::string> comparison(const model::Expr& expr, bool negated) const;
};

/// A host expression over host parameters and macros; nullopt where it is not one. Divisions are of non-negative numbers.
std::optional<Polynomial> evaluateHost(const model::ExprRef& expr);

} // namespace retile::lift
