// The plan passes, one function each; see Passes.def for their order.
#pragma once

#include "retile/Transform/Plan.h"

namespace retile::transform {

#define RETILE_PLAN_PASS(function, flag, what) void function(const Lifted& lifted, TransformPlan& plan);
#define RETILE_TEXT_PASS RETILE_PLAN_PASS
#include "../Passes.def"
#undef RETILE_PLAN_PASS

/// Whether loaded numbers are subscripts or bounds. A point outside of the domain must then not run on what a tile or a run of
/// registers holds there, which is nothing that the data promise.
bool dataSteers(const Lifted& lifted);

} // namespace retile::transform
