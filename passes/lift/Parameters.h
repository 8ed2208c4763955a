// Kernel parameters that the kernel changes.
#pragma once

#include "retile/KernelModel/Model.h"

namespace retile::lift {

/// Gives every parameter that the kernel assigns to a variable of its own, so that points do not share what
/// changes.
void copyChangedParameters(model::Kernel& kernel);

} // namespace retile::lift
