// Timing on the device with events.
#pragma once

#include "DeviceSession.h"

#include <functional>

namespace retile::backend::cuda {

/// Warms up, then repeats until the interval of the median is tight (1%) and minSeconds have passed, at most
/// ten times minSeconds; two runs are interleaved 0 1 1 0. A repetition is as many launches as make 0.2 ms,
/// one when the cache is flushed before each. Tensors that are read and written get their contents back
/// before each repetition. `alive` is called after every repetition.
Reply measure(DeviceSession& session, const MeasureRequest& request, const std::function<void()>& alive);

/// Bytes read and written per second by copies of 256 MiB on the device, the best of twenty.
double copyBandwidth(DeviceSession& session);

} // namespace retile::backend::cuda
