// The plan passes, one function each; see Passes.def for their order.
#pragma once

#include "retile/Transform/Plan.h"

namespace retile::transform {

#define RETILE_PLAN_PASS(function, flag, what) void function(const Lifted& lifted, TransformPlan& plan);
#define RETILE_TEXT_PASS RETILE_PLAN_PASS
#include "../Passes.def"
#undef RETILE_PLAN_PASS

} // namespace retile::transform
