// Integer polynomials over sizes and iteration dimensions: what subscripts, bounds and guards evaluate to.
//
//   A[(y + dy) * pitch + x]   ->   y*pitch + dy*pitch + x
//
// Division, remainder, minimum and maximum are atoms of their own, with polynomials inside; two atoms are equal when
// their text is. Coefficients are 64-bit; an overflow makes the whole polynomial invalid, and that is sticky.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace retile::poly {

class Polynomial;

/// A name, or a quasi-affine operation on polynomials.
struct Atom {
  enum Kind { Symbol, FloorDiv, Mod, Min, Max };
  Kind kind = Symbol;
  std::string text;               ///< the name, or the printed operation: its identity
  std::vector<Polynomial> operands;
};
using AtomRef = std::shared_ptr<const Atom>;

class Polynomial {
public:
  /// Product of atoms, sorted by text; empty is 1.
  using Monomial = std::vector<std::string>;

  Polynomial() = default;
  Polynomial(std::int64_t constant);
  static Polynomial symbol(const std::string& name);
  static Polynomial of(const AtomRef& atom);
  static Polynomial floorDiv(const Polynomial& a, const Polynomial& b);
  static Polynomial mod(const Polynomial& a, const Polynomial& b);
  static Polynomial minimum(const Polynomial& a, const Polynomial& b);
  static Polynomial maximum(const Polynomial& a, const Polynomial& b);

  Polynomial operator+(const Polynomial& other) const;
  Polynomial operator-(const Polynomial& other) const;
  Polynomial operator*(const Polynomial& other) const;
  Polynomial operator-() const;
  bool operator==(const Polynomial& other) const { return valid && other.valid && terms == other.terms; }

  bool isValid() const { return valid; }
  bool isZero() const { return terms.empty(); }
  std::optional<std::int64_t> constant() const;
  /// The constant term.
  std::int64_t constantTerm() const;
  /// The name, when the polynomial is one symbol with coefficient 1.
  std::optional<std::string> asSymbol() const;
  /// All symbols, also those inside divisions.
  std::set<std::string> symbols() const;
  bool mentions(const std::string& name) const { return symbols().count(name) != 0; }
  /// Coefficient polynomial of `name` where it occurs to the first power; nullopt if it occurs otherwise.
  std::optional<Polynomial> coefficient(const std::string& name) const;
  /// Replaces a symbol everywhere, inside divisions too.
  Polynomial substitute(const std::string& name, const Polynomial& by) const;

  /// Text in isl's notation, where a product of two symbols becomes a parameter named by `productName`; nullopt where
  /// `dims` are multiplied with anything but a number, or the divisor is not a number.
  std::optional<std::string> toIsl(const std::set<std::string>& dims) const;
  /// C text with minimal parentheses; operations as floordiv(a, b), floormod, min, max.
  std::string toText() const;

  const std::map<Monomial, std::int64_t>& monomials() const { return terms; }
  AtomRef atom(const std::string& text) const;

private:
  static Polynomial operation(Atom::Kind kind, const char* name, const Polynomial& a, const Polynomial& b);
  void adopt(const Polynomial& other);
  void add(const Monomial& monomial, std::int64_t coefficient);

  bool valid = true;
  std::map<Monomial, std::int64_t> terms;
  std::map<std::string, AtomRef> atoms;
};

/// a / b rounded towards minus infinity; b is not 0.
std::int64_t floorDivide(std::int64_t a, std::int64_t b);

/// The isl parameter that stands for a product of symbols, as `M*K` -> `M_x_K`.
std::string productName(const Polynomial::Monomial& monomial);

} // namespace retile::poly
