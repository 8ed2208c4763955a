// Verification without measuring: configurations drawn from the space, each compared with the original.
#pragma once

#include "retile/Tuner/Space.h"

#include <atomic>
#include <string>
#include <vector>

namespace retile::tuner {

struct VerifyReport {
  std::uint64_t valid = 0; ///< legal configurations at these sizes
  std::uint64_t verified = 0, mismatched = 0, failed = 0;
  std::string unsupported;          ///< why the device cannot run it; only when the backend says so
  std::vector<std::string> details; ///< the first few configurations that did not verify, with reasons
};

struct VerifyOnlyOptions {
  std::uint64_t configurations = 1, seed = 1;
  int jobs = 0;
  const std::atomic<bool>* stop = nullptr;
};

/// Verifies the identity, then distinct configurations drawn uniformly, at most all legal ones.
VerifyReport verifyOnly(Backend& backend, const manifest::Kernel& kernel, const Bindings& sizes,
                        const VerifyOnlyOptions& options);

} // namespace retile::tuner
