// Tiles and coarsens the parallel dimensions: TILE_d points a block, ITEMS_d points a thread, RUN_d neighbours of the
// innermost dimension to one thread (cyclic, vector-cyclic or blocked distribution).
//
// Legality: points are independent. It hurts where there are few points: a thread with many items needs many registers
// and leaves fewer threads to hide latency.
#include "Passes.h"

#include <algorithm>

namespace retile::transform {

static std::vector<std::int64_t> powers(std::int64_t from, std::int64_t to, std::int64_t with) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = from; value <= to; value *= 2)
    values.push_back(value);
  if (std::find(values.begin(), values.end(), with) == values.end()) values.push_back(with);
  std::sort(values.begin(), values.end());
  return values;
}

void planTile(const Lifted& lifted, TransformPlan& plan) {
  size_t count = lifted.parallel.size(), tiledDims = 0;
  for (size_t n = 0; n < count; ++n) {
    const Dim& dim = lifted.parallel[n];
    DimPlan one;
    one.name = dim.name;
    one.upper = upperName(dim.name);
    one.axis = static_cast<int>(count - 1 - n);
    auto threads = dim.isBlockIndex ? std::optional<std::int64_t>(1) : lifted.block[dim.axis].constant();
    one.threads = threads.value_or(count == 1 ? 256 : n + 1 == count ? 32 : 8);
    one.tiled = one.threads > 1 || n + 1 == count;
    one.hasRun = n + 1 == count;
    tiledDims += one.tiled;
    plan.dims.push_back(one);
  }
  std::string threads, items;
  for (size_t n = 0; n < count; ++n) {
    const DimPlan& one = plan.dims[n];
    if (!one.tiled) continue;
    bool inner = n + 1 == count, alone = tiledDims == 1;
    std::string tile = "TILE_" + one.upper, item = "ITEMS_" + one.upper;
    std::int64_t low = alone ? 32 : inner ? 8 : 1, high = alone ? 8192 : inner ? 256 : 128;
    plan.parameters.push_back({tile, "points of " + one.name + " per block", powers(low, high, one.threads), one.threads});
    plan.parameters.push_back({item, "points of " + one.name + " per thread", powers(1, alone ? 32 : 16, 1), 1});
    plan.constraints.emplace_back(tile + " % " + item + " == 0", "a thread takes whole items");
    if (inner) {
      plan.parameters.push_back({"RUN_" + one.upper, "neighbours in " + one.name + " that one thread takes together", {1, 2, 4, 8}, 1});
      plan.constraints.emplace_back(item + " % RUN_" + one.upper + " == 0", "items come in whole runs");
    }
    threads += (threads.empty() ? "" : " * ") + ("(" + tile + " / " + item + ")");
    items += (items.empty() ? "" : " * ") + item;
    if (one.axis == 2) plan.constraints.emplace_back(tile + " / " + item + " <= 64", "threads of a block along z");
  }
  plan.constraints.emplace_back(threads + " <= MAX_THREADS", "threads per block");
  std::int64_t original = 1;
  for (const DimPlan& one : plan.dims)
    original *= one.threads;
  plan.constraints.emplace_back(threads + " >= " + std::to_string(std::min<std::int64_t>(original, 32)), "at least a warp, or what the original had");
  plan.constraints.emplace_back(items + " <= 256", "items per thread fit into registers");
}

} // namespace retile::transform
