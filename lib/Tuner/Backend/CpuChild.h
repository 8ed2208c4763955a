// Runs a compiled kernel in a forked process that may crash or hang without harm, on tensors in shared
// memory.
#pragma once

#include "Arena.h"
#include "CpuCompile.h"

#include "retile/Tuner/Backend.h"

#include <string>
#include <vector>

namespace retile::backend {

struct ChildResult {
  tuner::Outcome outcome = tuner::Outcome::Ok;
  std::string detail;
  double seconds = 0;        ///< of the kernel alone, all runs
  std::vector<double> times; ///< seconds of each timed repetition
};

/// One module on one set of tensors. Run i uses poison i and, when odd, visits blocks and threads in
/// descending order.
struct ChildRun {
  const CpuBinary* binary = nullptr;
  const RunPlan* plan = nullptr;
  const Problem* problem = nullptr;
  std::vector<const Arena*> arenas; ///< run i on arena i
  double deadlineSeconds = 60;
  int osThreads = 1;
};

/// Runs the kernel once on each arena.
ChildResult runChild(const ChildRun& run);

/// Repeats the kernels of `runs` (one or two, on their first arenas) in the order 0 1 1 0 ... until
/// `minSeconds` have passed or three repetitions are above `giveUpSeconds`; result i belongs to run i.
std::vector<ChildResult> timeChild(const std::vector<ChildRun>& runs, double minSeconds, double giveUpSeconds,
                                   std::size_t flushBytes);

} // namespace retile::backend
