// Repetitions -> median and interval; compiler logs -> one line.
#pragma once

#include "retile/Tuner/Backend.h"

#include <string>
#include <vector>

namespace retile::backend {

/// Median and the distribution-free 95% interval of the median (order statistics n/2 -+ 0.98 sqrt(n); David &
/// Nagaraja, Order Statistics, 7.1). The whole range below six values.
tuner::Measurement summarize(std::vector<double> milliseconds);

/// The first line of a compiler's log that says "error", else its first line.
std::string firstError(const std::string& log);

} // namespace retile::backend
