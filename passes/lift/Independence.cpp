// Proves that two different points never touch the same element when one of them writes it.
//
// For every pair of accesses to an array, one a write: the points that reach a common element, minus the identity, must be
// an empty relation for all sizes. What is left is a race in the original, and a kernel with one is refused: its result
// depends on the schedule, so no rewrite can be checked against it.
#include "Lifter.h"

namespace retile::lift {

using transform::Access;

void Lifter::proveIndependence() {
  std::string first, second, differ;
  for (size_t n = 0; n < out.parallel.size(); ++n) {
    const std::string& name = out.parallel[n].name;
    first += (first.empty() ? "" : ", ") + name;
    second += (second.empty() ? "" : ", ") + name + "__";
    differ += (differ.empty() ? "" : " or ") + name + " < " + name + "__ or " + name + " > " + name + "__";
  }
  auto tuple = [](std::string dims, const Access& access, const char* suffix) {
    for (const auto* names : {&access.loops, &access.unknowns})
      for (const auto& name : *names)
        dims += ", " + name + suffix;
    return dims;
  };
  for (const Access& write : out.accesses) {
    if (!write.isWrite) continue;
    for (const Access& other : out.accesses) {
      if (other.array != write.array || (other.isWrite && &other < &write)) continue;
      // Combinations of one kind commute.
      if (write.isAtomic && other.isAtomic && write.combine == other.combine) continue;
      auto a = poly::Map::parse(out.islAccess(write)), b = poly::Map::parse(out.islAccess(other, "@T"));
      auto conflicts = a && b ? a->conflictsWith(*b) : std::nullopt;
      auto distinct = poly::Map::parse(out.islParameters() + "{ S[" + tuple(first, write, "") + "] -> T[" +
                                       tuple(second, other, "__") + "] : " + differ + " }");
      auto race = conflicts && distinct ? conflicts->intersect(*distinct) : std::nullopt;
      auto empty = race ? race->isEmpty() : std::nullopt;
      if (empty && *empty) continue;
      std::string what = "'" + write.array + "' between threads: one writes [" + describe(write) + "], another " +
                         (other.isWrite ? "writes" : "reads") + " [" + describe(other) + "]";
      bool certain = empty && !write.isMay && !other.isMay;
      if (certain) return refuse(write.location, "a race on " + what);
      fail(write.location, "cannot exclude a race on " + what);
      break;
    }
  }
}

std::string Lifter::describe(const Access& access) {
  std::string text;
  for (const auto& subscript : access.subscripts)
    text += (text.empty() ? "" : ", ") + subscript.toText();
  return text;
}

} // namespace retile::lift
