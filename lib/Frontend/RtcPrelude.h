// What a run-time compiler lacks of the C library, for the names that a slice uses.
#pragma once

#include <set>
#include <string>

namespace retile::frontend {

/// Lines under `#ifdef __CUDACC_RTC__` that define those of `names` that host headers would: int64_t, INFINITY, FLT_MAX,
/// std::numeric_limits. Empty when there are none.
std::string rtcPrelude(const std::set<std::string, std::less<>>& names);

} // namespace retile::frontend
