#include "retile/Poly/Polynomial.h"

#include <algorithm>

namespace retile::poly {

std::int64_t floorDivide(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

Polynomial::Polynomial(std::int64_t constant) {
  if (constant != 0) terms[{}] = constant;
}

Polynomial Polynomial::symbol(const std::string& name) {
  auto atom = std::make_shared<Atom>();
  atom->text = name;
  return of(atom);
}

Polynomial Polynomial::of(const AtomRef& atom) {
  Polynomial p;
  for (const Polynomial& operand : atom->operands)
    p.valid = p.valid && operand.valid;
  p.terms[{atom->text}] = 1;
  p.atoms[atom->text] = atom;
  return p;
}

void Polynomial::adopt(const Polynomial& other) {
  valid = valid && other.valid;
  atoms.insert(other.atoms.begin(), other.atoms.end());
}

void Polynomial::add(const Monomial& monomial, std::int64_t coefficient) {
  std::int64_t& slot = terms[monomial];
  if (__builtin_add_overflow(slot, coefficient, &slot)) valid = false;
  if (slot == 0) terms.erase(monomial);
}

Polynomial Polynomial::operator+(const Polynomial& other) const {
  Polynomial sum = *this;
  sum.adopt(other);
  for (const auto& [monomial, coefficient] : other.terms)
    sum.add(monomial, coefficient);
  return sum;
}

Polynomial Polynomial::operator-() const {
  Polynomial negated = *this;
  for (auto& [monomial, coefficient] : negated.terms)
    if (__builtin_sub_overflow(std::int64_t{0}, coefficient, &coefficient)) negated.valid = false;
  return negated;
}

Polynomial Polynomial::operator-(const Polynomial& other) const { return *this + -other; }

Polynomial Polynomial::operator*(const Polynomial& other) const {
  Polynomial product;
  product.adopt(*this);
  product.adopt(other);
  for (const auto& [a, ca] : terms)
    for (const auto& [b, cb] : other.terms) {
      Monomial merged;
      std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
      std::int64_t coefficient;
      if (__builtin_mul_overflow(ca, cb, &coefficient)) product.valid = false;
      product.add(merged, coefficient);
    }
  return product;
}

std::optional<std::int64_t> Polynomial::constant() const {
  if (!valid) return std::nullopt;
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  return std::nullopt;
}

std::int64_t Polynomial::constantTerm() const {
  auto found = terms.find({});
  return found == terms.end() ? 0 : found->second;
}

std::optional<std::string> Polynomial::asSymbol() const {
  if (!valid || terms.size() != 1 || terms.begin()->second != 1 || terms.begin()->first.size() != 1) return std::nullopt;
  const std::string& text = terms.begin()->first.front();
  if (atoms.at(text)->kind != Atom::Symbol) return std::nullopt;
  return text;
}

AtomRef Polynomial::atom(const std::string& text) const { return atoms.at(text); }

std::set<std::string> Polynomial::symbols() const {
  std::set<std::string> names;
  for (const auto& [monomial, coefficient] : terms)
    for (const std::string& text : monomial) {
      const AtomRef& atom = atoms.at(text);
      if (atom->kind == Atom::Symbol) names.insert(text);
      for (const Polynomial& operand : atom->operands)
        names.merge(operand.symbols());
    }
  return names;
}

std::optional<Polynomial> Polynomial::coefficient(const std::string& name) const {
  Polynomial result;
  for (const auto& [monomial, coefficient] : terms) {
    Polynomial rest(coefficient);
    int power = 0;
    for (const std::string& text : monomial) {
      const AtomRef& atom = atoms.at(text);
      if (text == name) {
        ++power;
        continue;
      }
      for (const Polynomial& operand : atom->operands)
        if (operand.mentions(name)) return std::nullopt;
      rest = rest * of(atom);
    }
    if (power > 1) return std::nullopt;
    if (power == 1) result = result + rest;
  }
  return result;
}

Polynomial Polynomial::operation(Atom::Kind kind, const char* name, const Polynomial& a, const Polynomial& b) {
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->text = std::string(name) + "(" + a.toText() + ", " + b.toText() + ")";
  atom->operands = {a, b};
  return of(atom);
}

Polynomial Polynomial::floorDiv(const Polynomial& a, const Polynomial& b) {
  auto ca = a.constant(), cb = b.constant();
  if (cb && *cb == 1) return a;
  if (ca && cb && *cb != 0) return Polynomial(floorDivide(*ca, *cb));
  // (k*q + r) / k = q + r/k exactly.
  if (cb && *cb > 1) {
    Polynomial quotient, rest;
    for (const auto& [monomial, coefficient] : a.terms) {
      Polynomial term;
      term.adopt(a);
      if (coefficient % *cb == 0) {
        term.terms[monomial] = coefficient / *cb;
        quotient = quotient + term;
      } else {
        term.terms[monomial] = coefficient;
        rest = rest + term;
      }
    }
    if (rest.isZero()) return quotient;
    if (!quotient.isZero()) return quotient + floorDiv(rest, b);
  }
  // a is a multiple of the symbol b.
  if (auto divisor = b.asSymbol()) {
    auto factor = a.coefficient(*divisor);
    if (factor && a == *factor * b) return *factor;
  }
  return operation(Atom::FloorDiv, "floordiv", a, b);
}

Polynomial Polynomial::mod(const Polynomial& a, const Polynomial& b) {
  auto ca = a.constant(), cb = b.constant();
  if (ca && cb && *cb > 0) return Polynomial(*ca - floorDivide(*ca, *cb) * *cb);
  return operation(Atom::Mod, "floormod", a, b);
}

Polynomial Polynomial::minimum(const Polynomial& a, const Polynomial& b) {
  if (a == b) return a;
  if (auto difference = (a - b).constant()) return *difference <= 0 ? a : b;
  return operation(Atom::Min, "min", a, b);
}

Polynomial Polynomial::maximum(const Polynomial& a, const Polynomial& b) {
  if (a == b) return a;
  if (auto difference = (a - b).constant()) return *difference >= 0 ? a : b;
  return operation(Atom::Max, "max", a, b);
}

Polynomial Polynomial::substitute(const std::string& name, const Polynomial& by) const {
  if (!mentions(name)) return *this;
  Polynomial result;
  result.valid = valid;
  for (const auto& [monomial, coefficient] : terms) {
    Polynomial product(coefficient);
    for (const std::string& text : monomial) {
      const AtomRef& atom = atoms.at(text);
      if (atom->kind == Atom::Symbol) {
        product = product * (text == name ? by : symbol(text));
        continue;
      }
      Polynomial a = atom->operands[0].substitute(name, by), b = atom->operands[1].substitute(name, by);
      switch (atom->kind) {
      case Atom::FloorDiv: product = product * floorDiv(a, b); break;
      case Atom::Mod: product = product * mod(a, b); break;
      case Atom::Min: product = product * minimum(a, b); break;
      default: product = product * maximum(a, b); break;
      }
    }
    result = result + product;
  }
  return result;
}

std::string productName(const Polynomial::Monomial& monomial) {
  std::string name;
  for (const std::string& part : monomial)
    name += (name.empty() ? "" : "_x_") + part;
  return name;
}

std::optional<std::string> Polynomial::toIsl(const std::set<std::string>& dims) const {
  if (!valid) return std::nullopt;
  std::string out;
  for (const auto& [monomial, coefficient] : terms) {
    std::string factor;
    bool plain = true;
    for (const std::string& text : monomial) {
      plain = plain && atoms.at(text)->kind == Atom::Symbol;
      for (const std::string& name : atoms.at(text)->kind == Atom::Symbol ? std::set<std::string>{text} : std::set<std::string>{})
        if (dims.count(name) && monomial.size() > 1) return std::nullopt;
    }
    if (monomial.size() > 1) {
      if (!plain) return std::nullopt;
      factor = productName(monomial);
    } else if (monomial.size() == 1) {
      const AtomRef& atom = atoms.at(monomial.front());
      if (atom->kind == Atom::Symbol) {
        factor = atom->text;
      } else {
        auto a = atom->operands[0].toIsl(dims), b = atom->operands[1].toIsl(dims);
        auto divisor = atom->operands[1].constant();
        if (!a || !b) return std::nullopt;
        bool isDivision = atom->kind == Atom::FloorDiv || atom->kind == Atom::Mod;
        if (isDivision && (!divisor || *divisor <= 0)) return std::nullopt;
        if (atom->kind == Atom::FloorDiv) factor = "floor((" + *a + ")/" + *b + ")";
        if (atom->kind == Atom::Mod) factor = "((" + *a + ") mod " + *b + ")";
        if (atom->kind == Atom::Min) factor = "min(" + *a + "," + *b + ")";
        if (atom->kind == Atom::Max) factor = "max(" + *a + "," + *b + ")";
      }
    }
    std::int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
    out += coefficient < 0 ? (out.empty() ? "-" : " - ") : (out.empty() ? "" : " + ");
    if (factor.empty()) out += std::to_string(magnitude);
    else out += magnitude == 1 ? factor : std::to_string(magnitude) + "*" + factor;
  }
  return out.empty() ? "0" : out;
}

std::string Polynomial::toText() const {
  // Positive terms first: "n - 1", not "-1 + n"; longer products first, the constant last.
  std::vector<std::pair<Monomial, std::int64_t>> ordered(terms.begin(), terms.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    if ((a.second > 0) != (b.second > 0)) return a.second > 0;
    return a.first.size() > b.first.size();
  });
  std::string out;
  for (const auto& [monomial, coefficient] : ordered) {
    std::int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
    out += coefficient < 0 ? (out.empty() ? "-" : " - ") : (out.empty() ? "" : " + ");
    std::string product;
    for (const std::string& text : monomial)
      product += (product.empty() ? "" : " * ") + text;
    if (product.empty()) out += std::to_string(magnitude);
    else out += magnitude == 1 ? product : std::to_string(magnitude) + " * " + product;
  }
  return out.empty() ? "0" : out;
}

} // namespace retile::poly
