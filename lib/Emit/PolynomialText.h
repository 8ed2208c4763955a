// Polynomials as text for the two places that read them: device code and the manifest.
#pragma once

#include "retile/Poly/Polynomial.h"

#include <functional>

namespace retile::emit {

using poly::Polynomial;

enum class Dialect { Device, Manifest };

struct PolynomialNames {
  /// Maps a symbol to its text.
  std::function<std::string(const std::string&)> name;
  /// May give the text of a whole product, as `strideA` for M*K, or "".
  std::function<std::string(const Polynomial&)> whole;
  /// Whether a symbol's variable is an unsigned int: a difference then wraps below zero.
  std::function<bool(const std::string&)> isUnsigned;
};

/// In `modulo`, the text may wrap as 32-bit numbers do, which subscripts within an array never show.
std::string polynomialText(const Polynomial& value, Dialect dialect, const PolynomialNames& names = {}, bool modulo = false);

/// In parentheses where it is a sum.
std::string factorText(const std::string& text);

} // namespace retile::emit
