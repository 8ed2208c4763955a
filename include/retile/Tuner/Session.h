// Tuning one kernel at one choice of sizes: search, compile ahead, verify, measure, record, and decide.
//
//   strategy ──ask──▶ compile pool ──▶ verify ──▶ measure ──▶ records
//      ▲                                             │
//      └───────────────────tell──────────────────────┘
#pragma once

#include "retile/Tuner/Records.h"
#include "retile/Tuner/Search.h"

#include <atomic>
#include <functional>
#include <map>

namespace retile::tuner {

/// Either a number of evaluations or a time.
struct Budget {
  std::uint64_t evaluations = 0;
  double seconds = 0;

  /// "500", "60s", "10m" or "1h". Error on anything else, and on nothing at all.
  static Expected<Budget> parse(const std::string& text);
};

struct Progress {
  const manifest::Kernel* kernel = nullptr;
  Bindings sizes;
  std::uint64_t done = 0, fromRecords = 0;
  double share = 0; ///< of the budget
  double originalMs = 0;
  std::optional<double> bestMs;
  std::map<Outcome, std::uint64_t> outcomes;
};

struct SessionOptions {
  std::string strategy = "auto";
  std::uint64_t seed = 1;
  Budget budget{0, 60};
  int jobs = 0;                            ///< compile threads; 0: one per core
  const std::atomic<bool>* stop = nullptr; ///< ends the search early; what was found is still decided
  std::function<void(const Progress&)> onProgress;
  std::function<void(const std::string&)> onNote; ///< one line for the user
};

/// What came out for one kernel and choice of sizes.
struct TuneResult {
  const manifest::Kernel* kernel = nullptr;
  Bindings sizes;
  std::string unsupported; ///< why the device cannot run this kernel at all
  std::string failure;     ///< why there was nothing to search, as "no legal configuration"
  double originalMs = 0, bestMs = 0;
  double speedup = 1;         ///< against the original, A B B A; exactly 1 when the original stays
  std::optional<Config> best; ///< null: the original stays
  std::optional<double> identityRatio; ///< the original's time over the identity configuration's, A B B A
  std::uint64_t legal = 0, evaluated = 0, verified = 0, mismatched = 0, failed = 0;
  std::map<Outcome, std::uint64_t> outcomes;
  std::string firstMismatch, strategyNote;
};

/// Errors are those of the records and of unreadable sources only; everything else is in the result.
Expected<TuneResult> tune(Backend& backend, Records& records, const RecordKey& key,
                          const manifest::Kernel& kernel, const Bindings& sizes,
                          const SessionOptions& options);

} // namespace retile::tuner
