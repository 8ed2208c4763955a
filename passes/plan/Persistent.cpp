// Persistent blocks: BLOCKS_d blocks a multiprocessor, each taking tile after tile of dimension d, a grid apart.
//
//   for (i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)   ->   for (tile = blockIdx.x; ...; tile += gridDim.x)
//
// Only where the original has such a loop; elsewhere a block a tile was never slower. 0 is a block a tile. Legal because
// points are independent. It hurts where tiles take unequal time: the last blocks work alone.
#include "Passes.h"

namespace retile::transform {

void planPersistent(const Lifted& lifted, TransformPlan& plan) {
  for (size_t n = 0; n < plan.dims.size(); ++n) {
    const Dim& dim = lifted.parallel[n];
    DimPlan& one = plan.dims[n];
    if (!dim.isStrided || !one.tiled) continue;
    one.persistent = true;
    PlanParameter blocks{"BLOCKS_" + one.upper, "blocks a multiprocessor that walk over " + one.name + "; 0: a block a tile", {0, 1, 2, 4, 8, 16, 32}, usualBlocksPerMultiprocessor};
    if (lifted.axisKnown[dim.axis]) {
      blocks.meaning += "; -1: as many as the original";
      blocks.values.insert(blocks.values.begin(), -1);
      blocks.original = -1;
    }
    plan.parameters.push_back(blocks);
  }
}

} // namespace retile::transform
