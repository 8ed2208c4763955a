// Model expressions as C++ text, with the conversions that the types ask for.
#pragma once

#include "retile/KernelModel/Model.h"

#include <functional>

namespace retile::model {

/// Prints expressions. `leaf` may give the text of any expression in place of the default (a load as a tile access, a
/// variable as an array element); it answers an empty string to decline. What it returns must be a postfix expression.
class ExprPrinter {
public:
  explicit ExprPrinter(const Kernel& kernel, std::function<std::string(const Expr&)> leaf = nullptr)
      : kernel(kernel), leaf(std::move(leaf)) {}

  std::string print(const ExprRef& expr) const { return print(*expr, 0); }

private:
  const Kernel& kernel;
  std::function<std::string(const Expr&)> leaf;

  std::string print(const Expr& expr, int minimumPrecedence) const;
};

} // namespace retile::model
