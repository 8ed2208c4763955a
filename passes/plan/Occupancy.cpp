// Bounds registers through the second argument of __launch_bounds__: at least MIN_BLOCKS blocks are to be resident.
// It hurts when the compiler has to spill for it; the tuner sees the spills before it measures. 0 says nothing: the
// compiler then schedules for another balance of registers and occupancy than with 1.
#include "Passes.h"

namespace retile::transform {

void planOccupancy(const Lifted& lifted, TransformPlan& plan) {
  PlanParameter blocks{"MIN_BLOCKS", "blocks that are to be resident on a multiprocessor; 0: not said", {0, 1, 2, 3, 4}, lifted.kernel.minBlocks.value_or(0)};
  if (blocks.original > blocks.values.back()) blocks.values.push_back(blocks.original);
  plan.parameters.push_back(blocks);
}

} // namespace retile::transform
