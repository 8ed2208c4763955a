// Verification of one kernel's configurations against its original, at several sizes. Not installed.
#pragma once

#include "retile/Tuner/Space.h"

#include <utility>
#include <vector>

namespace retile::tuner {

/// Whether `config` meets the kernel's constraints at `sizes`; without solving the space.
bool isLegal(const manifest::Kernel& kernel, const Bindings& sizes, const DeviceInfo& device,
             const Config& config);

/// A configuration compiled for every size at which it is verified.
struct Binaries {
  Compiled tuned;                                  ///< at the sizes asked for
  std::vector<std::pair<Bindings, Compiled>> small; ///< nothing when `tuned` failed
};

/// Compiles the original once per choice of macro sizes, and a candidate again only where macro sizes differ.
class Verifier {
public:
  /// `small` are the sizes tried besides the ones asked for; of those that are legal for a configuration at
  /// most `smallRuns` are run.
  Verifier(Backend& backend, const manifest::Kernel& kernel, std::vector<Bindings> small,
           std::size_t smallRuns, std::uint64_t seed);

  /// The original compiled for the macro sizes in `sizes`.
  const Compiled& reference(const Bindings& sizes);

  /// May be called from several threads at once, and while verify() runs.
  Binaries compile(const Config& config, const Bindings& sizes) const;

  /// The first result that is not Ok, else Ok with the time of all runs. `tunedSeconds` is that of the runs at `sizes`.
  VerifyResult verify(const Config& config, const Bindings& sizes, const Binaries& binaries,
                      double* tunedSeconds = nullptr);

private:
  Bindings macros(const Bindings& sizes) const;
  VerifyResult verifyAt(const Config& config, const Bindings& at, const Compiled& compiled);

  Backend& backend;
  const manifest::Kernel& kernel;
  std::vector<Bindings> small;
  std::size_t smallRuns;
  std::uint64_t seed;
  std::map<Bindings, Compiled> references;
};

} // namespace retile::tuner
