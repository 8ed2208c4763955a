// Which block of the original runs where: several of them in a block, one after the other, or a fixed number of blocks that
// walk over all of them.
//
//   k<<<rows>>>: row blockIdx.x   ->   for (b = blockIdx.x; b < rows; b += gridDim.x) row b
//
// Legal where blocks are independent (Lifted::blocksAreFree). It pays where blocks are short against their start, and hurts
// where few of them fill the device.
#include "Passes.h"

namespace retile::transform {

void planBlocks(const Lifted& lifted, TransformPlan& plan) {
  if (!lifted.blocksAreFree) return;
  plan.coarsen = unusedName(lifted, plan, "COARSEN");
  plan.parameters.push_back({plan.coarsen, "blocks of the original that one block runs, one after the other", {1, 2, 4, 8}, 1});
  plan.persistent = unusedName(lifted, plan, "PERSISTENT");
  plan.parameters.push_back({plan.persistent, "blocks a multiprocessor that walk over all blocks of the original, 0: a grid of its own", {0, 1, 2, 4, 8}, 0});
  plan.constraints.emplace_back(plan.persistent + " == 0 || " + plan.coarsen + " == 1", "a grid of fixed size takes what it gets");
  std::vector<std::string> shared;
  bool reduces = false;
  for (const Dim& dim : lifted.parallel)
    shared.push_back(dim.name);
  for (const Dim& loop : lifted.loops) {
    if (loop.isStrided) shared.push_back(loop.name);
    reduces = reduces || loop.kind == Dim::Reduction;
  }
  for (const auto& name : shared) {
    plan.legal.push_back("coarsen(" + name + ")");
    plan.legal.push_back("tile(" + name + ")");
  }
  plan.legal.emplace_back("persistent-grid");
  if (reduces) plan.legal.emplace_back("split-reduction(fp-reassoc)");
}

} // namespace retile::transform
