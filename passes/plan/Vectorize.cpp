// Loads and stores RUN neighbours of the innermost dimension with one access.
//
//   out[y*nx + x] = in[y*nx + x]   ->   four elements of a row at a time where nx is a multiple of 4
//
// Legality: the accesses of one point keep their order with respect to each element, since a point never meets another's;
// within a point only accesses that no store of the same array precedes (loads) or follows (stores) are moved. Rows and
// pointers must be aligned: a constraint on the sizes and a tested assumption on the pointers.
#include "Passes.h"

namespace retile::transform {

void planVectorize(const Lifted& lifted, TransformPlan& plan) {
  const Dim& inner = lifted.parallel.back();
  bool alignedOrigin = inner.origin.isZero();
  if (!alignedOrigin || !plan.rectangular) return;
  std::int64_t widest = 0;
  std::set<std::string> rows;
  for (size_t n = 0; n < lifted.accesses.size(); ++n) {
    const Access& access = lifted.accesses[n];
    const Array& array = lifted.arrays.at(access.array);
    if (!access.loops.empty() || access.isMay || access.isSpelled || access.isAtomic || !access.conditions.empty()) continue;
    if (!access.isWrite && dataSteers(lifted)) continue;
    if (plan.keeps(access.array) || !array.symbol.empty()) continue;
    bool plain = access.element.kind == model::Type::Float || access.element.kind == model::Type::Int;
    std::int64_t bytes = access.element.bits / 8;
    if (!plain || bytes < 1 || bytes > 8) continue;
    if (!(access.subscripts.back() - Polynomial::symbol(inner.name)).isZero()) continue;
    bool otherwiseFree = true;
    for (size_t k = 0; k + 1 < access.subscripts.size(); ++k)
      otherwiseFree = otherwiseFree && !access.subscripts[k].mentions(inner.name);
    if (!otherwiseFree) continue;
    size_t stores = 0, storesBefore = 0, readsAfter = 0;
    for (size_t m = 0; m < lifted.accesses.size(); ++m) {
      const Access& other = lifted.accesses[m];
      if (other.array != access.array) continue;
      stores += other.isWrite;
      storesBefore += other.isWrite && m < n;
      readsAfter += !other.isWrite && m > n;
    }
    if (access.isWrite ? (stores != 1 || readsAfter) : storesBefore) continue;
    plan.vectorAccesses.insert(static_cast<std::int64_t>(n));
    widest = std::max(widest, bytes);
    for (size_t k = 0; k + 1 < array.strides.size(); ++k)
      rows.insert(array.strides[k].toText());
  }
  if (plan.vectorAccesses.empty()) return;
  std::string run = "RUN_" + upperName(inner.name);
  plan.constraints.emplace_back(run + " <= " + std::to_string(16 / widest), "an access moves at most 16 bytes");
}

} // namespace retile::transform
