// What the session needs of a device. A backend compiles candidates, runs them in a child process that may crash or hang
// without harm, and judges them in the parent from raw data. Two exist: Cuda (NVRTC and the driver, opened at run time)
// and Cpu (the host compiler and fibers).
#pragma once

#include "retile/Manifest/Expression.h"
#include "retile/Manifest/Manifest.h"
#include "retile/Support/Expected.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retile::tuner {

using manifest::Bindings;

struct DeviceInfo {
  std::string spec;                 ///< "cuda:0" or "cpu"
  std::string name;                 ///< as the driver says it
  std::string arch;                 ///< "sm_90", or the host compiler's target
  std::int64_t maxThreadsPerBlock = 1024, maxSharedPerBlock = 49152, smCount = 1, l2Bytes = 1 << 20;
};

/// A configuration: a value per parameter. Without parameters: the template's only form.
using Config = Bindings;

/// What a candidate is made of. `config` null means the original kernel.
struct Candidate {
  const manifest::Kernel* kernel = nullptr;
  Bindings sizes;
  std::optional<Config> config;
};

/// From the compiled binary; -1 where the backend cannot know.
struct Resources {
  int registers = -1, spillBytes = -1, sharedBytes = -1;
};

struct Compiled {
  bool ok = false;
  std::string log;                  ///< the compiler's, when it failed
  std::string key;                  ///< content hash: source, flags, compiler
  Resources resources;
  double seconds = 0;
  std::shared_ptr<const void> binary; ///< the backend's own
};

enum class Outcome { Ok, Mismatch, CompileError, LaunchError, Crash, Timeout, Unsupported };
const char* toString(Outcome);

struct VerifyResult {
  Outcome outcome = Outcome::Ok;
  std::string detail;               ///< "C[5,3]: 1.25 against 1.5 (seed 7, NI=61 NJ=131)": first difference, or the reason
  double seconds = 0;               ///< of all runs of the candidate
};

struct Measurement {
  Outcome outcome = Outcome::Ok;
  std::string detail;
  double medianMs = 0, lowMs = 0, highMs = 0; ///< median of the repetitions and its 95% interval
  int repetitions = 0;
};

struct MeasureOptions {
  bool coldCache = false;           ///< flush twice the L2 before each repetition
  double minSeconds = 0.02;         ///< keep repeating at least so long, at most ten times that
  std::optional<double> giveUpAboveMs; ///< stop after three repetitions when all are above
  std::optional<double> deadlineMs; ///< kill the child when one launch takes longer
};

/// One device. compile() may be called from several threads at once; verify() and measure() from one.
class Backend {
public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Compiled compile(const Candidate&) = 0;
  /// Runs the original and the candidate on the same seeded data in poisoned buffers and compares as kernel.verify says.
  virtual VerifyResult verify(const Candidate&, const Compiled& candidate, const Compiled& reference, std::uint64_t seed) = 0;
  virtual Measurement measure(const Candidate&, const Compiled&, std::uint64_t seed, const MeasureOptions&) = 0;
  /// A pair against each other, A B B A interleaved in one process: medians of both.
  virtual std::pair<Measurement, Measurement> measurePair(const Candidate& a, const Compiled& ca, const Candidate& b,
                                                          const Compiled& cb, std::uint64_t seed, const MeasureOptions&) = 0;
};

struct BackendOptions {
  std::string spec;                 ///< "cuda:0", "cpu"; empty picks cuda:0 when there is one, else cpu
  std::string directory;            ///< the .retile directory (sources are read from it)
  manifest::CompileFlags flags;
  int threads = 0;                  ///< compile pool size; 0 is all cores
};

/// Errors have ExitCode::Environment and name the missing library and the package that has it.
Expected<std::unique_ptr<Backend>> openBackend(const BackendOptions&);

/// Peak rates measured once per device (copy bandwidth in bytes/s), for the roofline column; nullopt when unknown.
std::optional<double> measureCopyBandwidth(Backend&);

} // namespace retile::tuner
