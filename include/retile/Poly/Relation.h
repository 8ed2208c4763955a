// Integer sets and maps, in isl's notation as text and behind an opaque handle: no isl type leaves lib/Poly. All work is
// bounded by an operation quota; a question that exceeds it has no answer (nullopt), which callers treat as "not proved".
#pragma once

#include "retile/Poly/Polynomial.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retile::poly {

/// Identifiers in a piece of isl text.
std::set<std::string> namesIn(const std::string& text);

/// One affine constraint: `value >= 0`, or `value == 0`.
struct Constraint {
  Polynomial value;
  bool isEquality = false;
};

/// A union of conjunctions.
using Disjunction = std::vector<std::vector<Constraint>>;

/// A parametric set `[n] -> { S[i, j] : ... }`.
class Set {
public:
  static std::optional<Set> parse(const std::string& text);
  std::optional<Set> intersect(const Set& other) const;
  std::optional<Set> subtract(const Set& other) const;
  std::optional<Set> unite(const Set& other) const;
  /// Simplified given that `context` holds.
  std::optional<Set> gist(const Set& context) const;
  std::optional<Set> coalesce() const;
  /// Keeps dimensions [first, first + count).
  std::optional<Set> projectOnto(unsigned first, unsigned count) const;
  std::optional<bool> isEmpty() const;
  std::optional<bool> isSubsetOf(const Set& other) const;
  /// Values that the maximum (minimum) of a dimension takes, a polynomial a piece; the pieces' conditions are dropped, so
  /// the maximum (minimum) over the list bounds the dimension from above (below). nullopt if it is unbounded.
  std::optional<std::vector<Polynomial>> maximum(unsigned dim) const;
  std::optional<std::vector<Polynomial>> minimum(unsigned dim) const;
  /// The constraints, with divisions as floordiv atoms; nullopt if a division could not be recovered.
  std::optional<Disjunction> constraints() const;
  std::string text() const;

  struct Impl;

private:
  std::shared_ptr<const Impl> impl;
  friend class Map;
};

/// A parametric map `[n] -> { S[i, j] -> A[x] : ... }`.
class Map {
public:
  static std::optional<Map> parse(const std::string& text);
  std::optional<Set> range() const;
  std::optional<Set> domain() const;
  std::optional<Map> intersectDomain(const Set& set) const;
  /// Pairs of domain elements that reach a common element: `this` composed with the inverse of `other`.
  std::optional<Map> conflictsWith(const Map& other) const;
  std::optional<Map> intersect(const Map& other) const;
  std::optional<bool> isEmpty() const;
  std::string text() const;

  struct Impl;

private:
  std::shared_ptr<const Impl> impl;
};

} // namespace retile::poly
