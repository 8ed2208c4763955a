// Which sizes a kernel is tuned and verified at.
#pragma once

#include "retile/Manifest/Manifest.h"
#include "retile/Tuner/Backend.h"

#include <string>
#include <vector>

namespace retile::tuner {

/// "A=1,B=2" as given on the command line. Error on anything else, naming it.
Expected<Bindings> parseSizes(const std::string& text);

/// Error when no kernel of the manifest knows a name in `given`; lists the known ones.
Status checkSizeNames(const manifest::Manifest& manifest, const Bindings& given);

struct ChosenSizes {
  Bindings sizes;
  std::string note; ///< what was chosen for the user and why; empty when everything was given
};

/// Values for every size of `kernel`: those given, then the call site's constants, and for the rest the
/// smallest power of two with a working set of four times the L2 (1 MiB on cpu). Error when a given size is
/// outside its range, or when no choice meets the kernel's size assumptions.
Expected<ChosenSizes> chooseSizes(const manifest::Kernel& kernel, const Bindings& given,
                                  const DeviceInfo& device);

/// The same for verification: what is not given is small and odd.
Expected<ChosenSizes> chooseSmallSizes(const manifest::Kernel& kernel, const Bindings& given,
                                       const DeviceInfo& device);

/// Small sizes to verify at, the most telling first: distinct primes, one below and above a power of two,
/// ones, and for kernels that need divisibility multiples of powers of two. Each meets the size assumptions.
std::vector<Bindings> smallSizes(const manifest::Kernel& kernel, const Bindings& given,
                                 const DeviceInfo& device);

/// The first `size` assumption that fails at `sizes`; empty when all hold.
std::string failedAssumption(const manifest::Kernel& kernel, const Bindings& sizes, const DeviceInfo& device);

/// The value of an expression over sizes and device limits, when it has one.
std::optional<std::int64_t> valueOf(const manifest::ExprText& text, const Bindings& bindings);

/// Bytes of all tensors; nullopt when an extent has no value or is negative.
std::optional<std::int64_t> workingSet(const manifest::Kernel& kernel, const Bindings& sizes,
                                       const DeviceInfo& device);

} // namespace retile::tuner
