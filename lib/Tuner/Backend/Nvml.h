// The management library, when there is one: whether the device slowed itself down.
#pragma once

#include "DeviceSession.h"

#include <string>

namespace retile::backend::cuda {

/// "the device was throttled (heat)" at this moment; empty when it is not, or when libnvidia-ml cannot tell.
std::string throttleReason(const DeviceSession& session);

} // namespace retile::backend::cuda
