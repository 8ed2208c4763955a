// The manifest's expression language: parse once, evaluate many times.
#pragma once

#include "retile/Support/Expected.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace retile::manifest {

using Bindings = std::map<std::string, std::int64_t, std::less<>>;

/// How names are written in C++.
using Spelling = std::map<std::string, std::string>;

class Program;

/// A parsed expression; cheap to copy. See docs/manifest.md, "Expressions".
class Expression {
public:
  static Expected<Expression> parse(const std::string& text);
  /// Error on an unknown name, overflow, or division by zero. What `&&`, `||` and `?:` leave out is not
  /// evaluated.
  Expected<std::int64_t> evaluate(const Bindings& bindings) const;
  /// Free names.
  std::set<std::string> names() const;
  /// The same as a C++ expression over `long long`, for dispatchers: names are written as `spelling` says,
  /// else left alone, and what C++ lacks is `retile::host::floordiv`, `floormod`, `ceildiv`, `minimum`,
  /// `maximum`, `absolute`.
  std::string toCxx(const Spelling& spelling = {}) const;
  /// For inner loops: the value of `slots[i]` is the i-th of Program::run's. Error on a name that is no slot.
  Expected<Program> compile(const std::vector<std::string>& slots) const;

  struct Node;

private:
  std::shared_ptr<const Node> root;
};

/// An expression whose names are positions. Safe to share between threads.
class Program {
public:
  /// Null on overflow or division by zero.
  std::optional<std::int64_t> run(const std::int64_t* slots) const;

  struct Instruction;

private:
  friend class Expression;
  std::shared_ptr<const std::vector<Instruction>> code;
};

} // namespace retile::manifest
