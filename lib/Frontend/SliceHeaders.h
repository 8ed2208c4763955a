// The #include lines of a slice.
#pragma once

#include "Macros.h"

#include <set>
#include <string>

namespace retile::frontend {

/// The file's system headers that device code can need, for a slice that uses these names. Those that a
/// run-time compiler has built in, or has no copy of, are in `#ifndef __CUDACC_RTC__`.
std::string sliceHeaders(const MacroLog& log, const std::set<std::string, std::less<>>& names);

} // namespace retile::frontend
