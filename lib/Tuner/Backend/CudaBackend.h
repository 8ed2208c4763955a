// GPUs by NVRTC and the driver, both opened at run time. This process compiles and judges; two workers touch
// the device: one runs originals, the other candidates.
#pragma once

#include "Compare.h"
#include "CudaCompile.h"
#include "WorkerProcess.h"

#include "retile/Tuner/Backend.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace retile::backend {

class CudaBackend final : public tuner::Backend {
public:
  static Expected<std::unique_ptr<CudaBackend>> open(const tuner::BackendOptions& options, int ordinal);

  const tuner::DeviceInfo& info() const override { return device; }
  tuner::Compiled compile(const tuner::Candidate& candidate) override { return compiler->compile(candidate); }
  tuner::VerifyResult verify(const tuner::Candidate& candidate, const tuner::Compiled& compiled,
                             const tuner::Compiled& reference, std::uint64_t seed) override;
  tuner::Measurement measure(const tuner::Candidate& candidate, const tuner::Compiled& compiled,
                             std::uint64_t seed, const tuner::MeasureOptions& options) override;
  std::pair<tuner::Measurement, tuner::Measurement>
  measurePair(const tuner::Candidate& a, const tuner::Compiled& ca, const tuner::Candidate& b,
              const tuner::Compiled& cb, std::uint64_t seed, const tuner::MeasureOptions& options) override;
  /// Bytes a second read and written by a copy; nullopt when it fails.
  std::optional<double> copyBandwidth();

private:
  /// What the original made of one problem, in a file in memory that is handed to the candidates' worker.
  struct Reference {
    std::string key, detail;
    tuner::Outcome outcome = tuner::Outcome::Ok;
    double seconds = 0;
    int file = -1;
    std::uint64_t bytes = 0;
    std::vector<double> relative, rms;
    std::vector<Digest> digests;
    ~Reference();
  };
  struct Prepared {
    Problem problem;
    std::vector<TensorSpec> specs;
    std::string key;
  };

  CudaBackend(std::unique_ptr<WorkerLauncher> launcher, int ordinal);
  Expected<Prepared> prepare(const tuner::Candidate& candidate, std::uint64_t seed) const;
  PrepareRequest request(const Prepared& prepared) const;
  std::shared_ptr<const Reference> reference(const Prepared& prepared, const tuner::Compiled& compiled);
  void runReference(const Prepared& prepared, const tuner::Compiled& compiled, Reference& reference);
  void judgeReference(const Prepared& prepared, Reference& reference);
  tuner::VerifyResult convert(const Prepared& prepared, const DeviceWorker::Result& result) const;

  std::unique_ptr<WorkerLauncher> launcher;
  DeviceWorker originals, candidates;
  std::unique_ptr<CudaCompiler> compiler;
  std::string harness;
  tuner::DeviceInfo device;
  std::deque<std::shared_ptr<const Reference>> references; ///< latest first
};

} // namespace retile::backend
