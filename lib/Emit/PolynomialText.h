// Polynomials as text for the two places that read them: device code and the manifest.
#pragma once

#include "retile/Poly/Polynomial.h"

#include <functional>

namespace retile::emit {

using poly::Polynomial;

enum class Dialect { Device, Manifest };

/// `name` maps a symbol to its text; `whole` may give the text of a whole product, as `strideA` for M*K, or "".
std::string polynomialText(const Polynomial& value, Dialect dialect,
                           const std::function<std::string(const std::string&)>& name = nullptr,
                           const std::function<std::string(const Polynomial&)>& whole = nullptr);

/// In parentheses where it is a sum.
std::string factorText(const std::string& text);

} // namespace retile::emit
