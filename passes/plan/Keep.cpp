// Keeps an output element in a register across the loops of a point.
//
//   C[i][j] = beta*C[i][j]; for (k) C[i][j] += ...   ->   c = C[i][j]; c = beta*c; for (k) c += ...; C[i][j] = c
//
// Legality: the element is the point's own (no other point touches it, which independence proved), every access to the
// array is to this element, and the original stores it unconditionally. A product that the original stores is rounded
// there: Emit spells that rounding out.
#include "Passes.h"

namespace retile::transform {

void planKeep(const Lifted& lifted, TransformPlan& plan) {
  auto jammed = jammedLoops(lifted);
  for (const auto& [name, array] : lifted.arrays) {
    if (!array.isWritten || !array.symbol.empty()) continue;
    const Access* first = nullptr;
    bool same = true, inLoop = false, storesAlways = false;
    for (const Access& access : lifted.accesses) {
      if (access.array != name) continue;
      if (!first) first = &access;
      same = same && !access.isSpelled && !access.isAtomic && access.subscripts == first->subscripts && !access.isMay && access.conditions.empty();
      for (const auto& loop : access.loops) {
        inLoop = inLoop || jammed.count(loop);
        same = same && jammed.count(loop) && !access.flat.mentions(loop);
      }
      storesAlways = storesAlways || (access.isWrite && access.loops.empty());
    }
    bool loadsAlways = first && !first->isWrite && first->loops.empty();
    if (!same || !inLoop || !(storesAlways || loadsAlways)) continue;
    if (array.element.kind != model::Type::Float && array.element.kind != model::Type::Int) continue;
    plan.kept.push_back(name);
    plan.parameters.push_back({"KEEP_" + upperName(name), "1: the element of " + name + " stays in a register across the loops", {0, 1}, 0});
  }
}

} // namespace retile::transform
