#include "PolynomialText.h"

#include <algorithm>

namespace retile::emit {

std::string factorText(const std::string& text) {
  int depth = 0;
  for (char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0 && (c == ' ' || c == '-')) return "(" + text + ")";
  }
  return text;
}

/// Whether the value may pass below zero in unsigned arithmetic.
static bool mayWrap(const Polynomial& value, const PolynomialNames& names) {
  bool subtracts = false, isUnsigned = false;
  for (const auto& [monomial, coefficient] : value.monomials()) {
    subtracts = subtracts || coefficient < 0;
    for (const auto& part : monomial)
      isUnsigned = isUnsigned || (value.atom(part)->kind == poly::Atom::Symbol && names.isUnsigned && names.isUnsigned(part));
  }
  return subtracts && isUnsigned;
}

std::string polynomialText(const Polynomial& value, Dialect dialect, const PolynomialNames& names, bool modulo) {
  const auto& name = names.name;
  const auto& whole = names.whole;
  auto again = [&](const Polynomial& p) { return polynomialText(p, dialect, names); };
  bool signedFirst = dialect == Dialect::Device && !modulo && mayWrap(value, names);
  std::vector<std::pair<Polynomial::Monomial, std::int64_t>> terms(value.monomials().begin(), value.monomials().end());
  // Positive terms first: "n - 1", not "-1 + n"; the constant last.
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    if ((a.second > 0) != (b.second > 0)) return a.second > 0;
    if (a.first.size() != b.first.size()) return a.first.size() > b.first.size();
    return a.first < b.first;
  });
  // The first term decides in which type the sum is computed.
  bool startsNegative = !terms.empty() && terms.front().second < 0;
  std::string out = signedFirst && startsNegative ? "0LL" : "";
  for (const auto& [monomial, coefficient] : terms) {
    std::string product;
    if (whole && monomial.size() > 1) {
      Polynomial plain(1);
      bool symbols = true;
      for (const auto& text : monomial) {
        symbols = symbols && value.atom(text)->kind == poly::Atom::Symbol;
        plain = plain * Polynomial::symbol(text);
      }
      if (symbols) product = whole(plain);
    }
    if (product.empty())
      for (const auto& text : monomial) {
        auto atom = value.atom(text);
        std::string factor;
        if (atom->kind == poly::Atom::Symbol) {
          factor = name ? name(text) : text;
        } else {
          std::string a = again(atom->operands[0]), b = again(atom->operands[1]);
          bool device = dialect == Dialect::Device;
          switch (atom->kind) {
          case poly::Atom::FloorDiv:
            factor = device ? "retile::floordiv(" + a + ", " + b + ")" : "(" + factorText(a) + " / " + factorText(b) + ")";
            break;
          case poly::Atom::Mod:
            factor = device ? "retile::floormod(" + a + ", " + b + ")" : "(" + factorText(a) + " % " + factorText(b) + ")";
            break;
          case poly::Atom::Min: factor = (device ? "retile::smaller(" : "min(") + a + ", " + b + ")"; break;
          default: factor = (device ? "retile::larger(" : "max(") + a + ", " + b + ")"; break;
          }
        }
        product += (product.empty() ? "" : " * ") + factor;
      }
    std::int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
    out += coefficient < 0 ? (out.empty() ? "-" : " - ") : (out.empty() ? "" : " + ");
    if (signedFirst && out.empty()) out = "(long long)";
    if (product.empty()) out += std::to_string(magnitude);
    else out += magnitude == 1 ? product : std::to_string(magnitude) + " * " + product;
  }
  return out.empty() ? "0" : out;
}

} // namespace retile::emit
