// Bounds registers through the second argument of __launch_bounds__: at least MIN_BLOCKS blocks are to be resident.
// It hurts when the compiler has to spill for it; the tuner sees the spills before it measures.
#include "Passes.h"

namespace retile::transform {

void planOccupancy(const Lifted&, TransformPlan& plan) {
  plan.parameters.push_back({"MIN_BLOCKS", "blocks that are to be resident on a multiprocessor", {1, 2, 3, 4}, 1});
}

} // namespace retile::transform
