// The legal configurations of one kernel at given sizes on a device.
//
// The parameters are ordered so that constraints bind early. After the first k of them are chosen, the rest
// depends only on those of the k that an open constraint still names; prefixes that agree on these share
// their number of completions. This counts and indexes spaces of any size without listing them: independent
// groups of parameters never multiply.
#pragma once

#include "retile/Manifest/Manifest.h"
#include "retile/Tuner/Backend.h"

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace retile::tuner {

/// What `kernel`'s expressions may name besides parameters: its sizes and the device's limits.
Bindings deviceBindings(const Bindings& sizes, const DeviceInfo& device);

/// Canonical text, as "TILE_I=16,TILE_J=32".
std::string toString(const Bindings& bindings);

class Space {
public:
  /// Adds to the kernel's constraints that a launch fits the device: positive grid and block, threads a
  /// block, and dynamic shared memory. A constraint that overflows or divides by zero excludes the
  /// configuration. Error when the space cannot be solved within the work limit.
  static Expected<Space> open(const manifest::Kernel& kernel, const Bindings& sizes,
                              const DeviceInfo& device);

  /// Number of legal configurations; at most 2^63 is reported.
  std::uint64_t count() const;
  /// The legal configuration number `index` < count(), in a fixed order.
  Config at(std::uint64_t index) const;
  /// Uniform over the legal configurations; count() must not be 0.
  Config sample(std::mt19937_64& random) const;
  bool contains(const Config& config) const;
  /// Every legal configuration that differs from `config` in one parameter, parameters and values in manifest
  /// order.
  std::vector<Config> neighbours(const Config& config) const;
  /// The `original` values, legal or not.
  const Config& identity() const;
  /// Why `config` is illegal: the first constraint that fails, with its reason; empty when it is legal.
  std::string explain(const Config& config) const;

  const std::vector<manifest::Parameter>& parameters() const;

private:
  struct Solver;
  std::shared_ptr<const Solver> solver;
};

} // namespace retile::tuner
