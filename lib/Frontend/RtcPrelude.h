// What a run-time compiler lacks of the C library, for the names that a slice uses.
#pragma once

#include <set>
#include <string>

namespace retile::frontend {

/// Lines under `#ifdef __CUDACC_RTC__` that define those of `names` that host headers would: int64_t,
/// INFINITY, FLT_MAX, std::numeric_limits. `usesStd`: the slice has `std::` in it. Empty when nothing is
/// needed.
std::string rtcPrelude(const std::set<std::string, std::less<>>& names, bool usesStd);

} // namespace retile::frontend
