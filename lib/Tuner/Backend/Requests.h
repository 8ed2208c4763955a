// What we ask of the measuring process, and what it answers. Every request gets any number of Alive messages
// and then one Reply.
#pragma once

#include "Bytes.h"
#include "Problem.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace retile::backend {

enum class Request : std::uint32_t { Open, Prepare, Original, Verify, Measure, Bandwidth };
enum class Answer : std::uint32_t { Alive = 100, Reply };

/// Open: the device's number -> DeviceFacts.
struct DeviceFacts {
  char name[128] = {};
  int capability = 0, maxThreads = 0, maxShared = 0, multiprocessors = 0, l2Bytes = 0;
};

/// Prepare: the harness image and the tensors; buffers are made and kept until the next Prepare.
struct TensorSpec {
  std::uint64_t bytes = 0, scalars = 0, stream = 0;
  std::int64_t limit = 0;
  Element element = Element::F32;
  Role role = Role::In;
  bool symbol = false; ///< lives in the module
};
struct PrepareRequest {
  std::string harness;
  std::uint64_t seed = 0;
  std::vector<TensorSpec> tensors;
};

/// A kernel to run, in Original, Verify and Measure.
struct RunSpec {
  std::string key, image, entry;
  std::vector<std::string> symbols; ///< lowered names, one per tensor, empty for arguments
  LaunchPlan launch;
  std::vector<ArgumentPlan> arguments;
};

/// Two words; equal for equal contents, see retile_digest.
using Digest = std::array<std::uint64_t, 2>;

/// Original: runs with both poisons, and writes each output tensor's bytes, run 0 then run 1, to a file whose
/// descriptor follows the request; the reply has the digests of all tensors in the same order. Verify: compares two
/// runs with these, and only where digests differ, or a tolerance is given, with the file.
struct VerifyRequest {
  RunSpec run;
  std::vector<double> relative, rms; ///< tolerances, one pair per tensor; empty in Original
  std::vector<Digest> digests;       ///< of run 0, then of run 1; empty in Original
};

/// Measure: one or two runs.
struct MeasureRequest {
  std::vector<RunSpec> runs;
  double minSeconds = 0.02, giveUpAboveMs = 0; ///< giveUpAboveMs 0: never
  std::uint64_t flushBytes = 0;
};

enum class Verdict : std::uint32_t { Ok, LaunchError, Crash, OutOfMemory, Canary, InputChanged, Differs };

struct Reply {
  Verdict verdict = Verdict::Ok;
  std::string detail;
  double seconds = 0;                ///< of the kernel, on the device
  std::uint32_t tensor = 0, run = 0; ///< of a finding
  std::uint64_t index = 0, count = 0, candidate = 0, original = 0;
  std::vector<std::vector<double>> times; ///< Measure: milliseconds, per run
  std::vector<Digest> digests;            ///< Original: of run 0, then of run 1; zeros for inputs
  double bandwidth = 0;
  DeviceFacts facts;
};

std::string encode(const PrepareRequest&);
std::string encode(const VerifyRequest&);
std::string encode(const MeasureRequest&);
std::string encode(const Reply&);
/// False when the bytes are not such a message.
bool decode(const std::string&, PrepareRequest&);
bool decode(const std::string&, VerifyRequest&);
bool decode(const std::string&, MeasureRequest&);
bool decode(const std::string&, Reply&);

/// Where the outputs of run `run` begin in the results file of a problem.
std::uint64_t resultOffset(const std::vector<TensorSpec>& tensors, std::size_t tensor, int run);
std::uint64_t resultBytes(const std::vector<TensorSpec>& tensors);

} // namespace retile::backend
