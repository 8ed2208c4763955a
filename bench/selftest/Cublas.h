// The vendor's SGEMM as a yardstick, opened at run time.
#pragma once

#include <optional>

namespace retile::selftest {

/// Median milliseconds of cublasSgemm (fp32, no TF32) for square matrices, in a process of its own; nullopt
/// without cuBLAS.
std::optional<double> cublasMilliseconds(int ordinal, int n);

} // namespace retile::selftest
