// The embedded CPU device; see docs/ and architecture.md, "Devices".
#pragma once

#include "Arena.h"
#include "Compare.h"
#include "CpuCompile.h"

#include "retile/Tuner/Backend.h"

#include <deque>
#include <memory>
#include <string>

namespace retile::backend {

/// Deadlines of one run of a kernel; tests shorten them.
struct CpuLimits {
  double referenceSeconds = 120;
  double candidateSeconds = 5; ///< at least; else
  double candidateFactor = 20; ///< times the original
};

class CpuBackend final : public tuner::Backend {
public:
  static Expected<std::unique_ptr<CpuBackend>> open(const tuner::BackendOptions& options,
                                                    CpuLimits limits = {});

  const tuner::DeviceInfo& info() const override { return device; }
  tuner::Compiled compile(const tuner::Candidate& candidate) override { return compiler->compile(candidate); }
  tuner::VerifyResult verify(const tuner::Candidate& candidate, const tuner::Compiled& compiled,
                             const tuner::Compiled& reference, std::uint64_t seed) override;
  tuner::Measurement measure(const tuner::Candidate& candidate, const tuner::Compiled& compiled,
                             std::uint64_t seed, const tuner::MeasureOptions& options) override;
  std::pair<tuner::Measurement, tuner::Measurement>
  measurePair(const tuner::Candidate& a, const tuner::Compiled& ca, const tuner::Candidate& b,
              const tuner::Compiled& cb, std::uint64_t seed, const tuner::MeasureOptions& options) override;

private:
  /// What the original made of one problem, and the inputs that it started from.
  struct Reference {
    std::string key;
    tuner::Outcome outcome = tuner::Outcome::Ok;
    std::string detail;
    double seconds = 0;
    Contents initial, first, second; ///< first and second: after runs 0 and 1
    std::vector<Tolerance> tolerances;
  };

  CpuBackend(std::unique_ptr<CpuCompiler> compiler, CpuLimits limits)
      : compiler(std::move(compiler)), limits(limits) {}
  std::shared_ptr<const Reference> reference(const Problem& problem, const tuner::Compiled& compiled);
  std::shared_ptr<Reference> runReference(const Problem& problem, const tuner::Compiled& compiled);
  tuner::VerifyResult runCandidate(const Problem& problem, const RunPlan& plan, const CpuBinary& binary,
                                   const Reference& reference);
  tuner::VerifyResult judge(const Problem& problem, const Reference& reference, const Arena& arena,
                            int run) const;

  std::unique_ptr<CpuCompiler> compiler;
  CpuLimits limits;
  tuner::DeviceInfo device;
  int osThreads = 1;
  std::deque<std::shared_ptr<const Reference>> references; ///< latest first
};

} // namespace retile::backend
