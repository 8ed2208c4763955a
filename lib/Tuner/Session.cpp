#include "retile/Tuner/Session.h"

#include "CompilePool.h"
#include "Verify.h"
#include "retile/Support/Text.h"
#include "retile/Tuner/Sizes.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <fmt/format.h>

namespace retile::tuner {

using manifest::Kernel;

/// Candidates within this share of the incumbent are measured against it, A B B A.
static constexpr double closeShare = 0.03;
/// A candidate whose first repetitions are all this much slower than the incumbent is given up.
static constexpr double giveUpFactor = 1.10;
/// The original is replaced only by what is faster by more than this, beyond both intervals.
static constexpr double leastGain = 1.01;
/// A candidate whose two verification runs took this many times as long as the incumbent would is not measured again;
/// where a run is shorter than the least time, its first launch says too little.
static constexpr double hopelessFactor = 1.5, hopelessLeastMs = 2;
static constexpr std::size_t finalists = 3;
static constexpr std::size_t smallRuns = 3;

Expected<Budget> Budget::parse(const std::string& text) {
  static const std::pair<char, double> units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
  Error error{fmt::format("'{}' is not a budget", oneLine(text, 40)),
              "a budget is a time as `60s`, `10m`, `1h`, or a number of evaluations as `500`"};
  if (text.empty())
    return error;
  std::string_view digits = text;
  double scale = 0;
  for (auto [unit, seconds] : units)
    if (digits.back() == unit)
      scale = seconds;
  if (scale != 0)
    digits.remove_suffix(1);
  auto value = parseInteger(digits);
  if (!value || *value < 1 || *value > 1'000'000'000)
    return error;
  if (scale == 0)
    return Budget{static_cast<std::uint64_t>(*value), 0};
  return Budget{0, static_cast<double>(*value) * scale};
}

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Asked for and not told yet; from the records, or being compiled.
struct Pending {
  Config config;
  std::optional<Record> known;
  std::future<Binaries> binaries;
};

/// A measured configuration, with its binary when this run compiled it.
struct Placed {
  Config config;
  double ms;
  std::optional<Compiled> compiled;
};

class Run {
public:
  Run(Backend& backend, Records& records, const RecordKey& key, const Kernel& kernel, const Bindings& sizes,
      const SessionOptions& options)
      : backend(backend), records(records), key(key), kernel(kernel), sizes(sizes), options(options),
        verifier(backend, kernel, smallSizes(kernel, {}, backend.info()), smallRuns, options.seed) {
    result.kernel = &kernel;
    result.sizes = sizes;
  }

  Expected<TuneResult> run() {
    if (!kernel.untestable.empty()) {
      result.unsupported = "no test data: " + kernel.untestable;
      return result;
    }
    Expected<Space> space = Space::open(kernel, sizes, backend.info());
    if (!space)
      return failed(space.error().message);
    result.legal = space->count();
    if (result.legal == 0)
      return failed(fmt::format("no legal configuration at {}: {}", toString(sizes),
                                space->explain(space->identity())));
    if (!measureOriginal())
      return result;
    if (Status searched = search(*space); !searched)
      return searched.error();
    decide(*space);
    return result;
  }

private:
  TuneResult failed(const std::string& why) {
    result.failure = why;
    return result;
  }

  Candidate original() const { return {&kernel, sizes, std::nullopt}; }
  Candidate candidate(const Config& config) const { return {&kernel, sizes, config}; }

  bool measureOriginal() {
    const Compiled& reference = verifier.reference(sizes);
    if (!reference.ok)
      return failed("the original does not compile: " + oneLine(reference.log, 400)), false;
    MeasureOptions measuring;
    measuring.deadlineMs = 60'000;
    Measurement measurement = backend.measure(original(), reference, options.seed, measuring);
    if (measurement.outcome == Outcome::Unsupported)
      result.unsupported = measurement.detail;
    else if (measurement.outcome != Outcome::Ok)
      result.failure = fmt::format("the original fails: {}: {}", toString(measurement.outcome),
                                   oneLine(measurement.detail, 400));
    result.originalMs = result.bestMs = measurement.medianMs;
    return measurement.outcome == Outcome::Ok;
  }

  MeasureOptions measuring() const {
    MeasureOptions measuring;
    measuring.deadlineMs = std::max(2000.0, 10 * result.originalMs);
    return measuring;
  }

  double share() const {
    return options.budget.evaluations
               ? static_cast<double>(asked) / static_cast<double>(options.budget.evaluations)
               : secondsSince(start) / options.budget.seconds;
  }

  bool spent() const { return share() >= 1 || (options.stop && options.stop->load()); }

  Status search(const Space& space) {
    auto strategy = makeStrategy(options.strategy, space, {options.seed, options.budget.evaluations});
    if (!strategy)
      return strategy.error();
    result.strategyNote = (*strategy)->about();
    if (options.onNote)
      options.onNote(fmt::format("{}: {} legal configurations{}{}", kernel.id, space.count(),
                                 result.strategyNote.empty() ? "" : ", ", result.strategyNote));
    if (options.onNote && !space.contains(space.identity()))
      options.onNote(fmt::format("{}: the original's own mapping is not in the space: {}", kernel.id,
                                 space.explain(space.identity())));
    CompilePool pool(verifier, options.jobs);
    std::deque<Pending> pending;
    for (;;) {
      if (Status filled = fill(pending, **strategy, pool); !filled)
        return filled;
      if (pending.empty() || timeIsUp())
        return {};
      Pending next = take(pending);
      if (timeIsUp())
        return {};
      if (Status settled = settle(next, **strategy); !settled)
        return settled;
    }
  }

  /// The next to settle. Within a time budget one that is slow to compile does not hold up the others; within a number of
  /// evaluations they are settled in order, so that a seed repeats.
  Pending take(std::deque<Pending>& pending) {
    auto chosen = pending.begin();
    const auto isReady = [](const Pending& one) {
      return one.known || one.binaries.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    while (options.budget.evaluations == 0 && !timeIsUp()) {
      auto ready = std::find_if(pending.begin(), pending.end(), isReady);
      if (ready != pending.end()) {
        chosen = ready;
        break;
      }
      pending.front().binaries.wait_for(std::chrono::milliseconds(2));
    }
    Pending next = std::move(*chosen);
    pending.erase(chosen);
    return next;
  }

  /// Evaluations that were asked for within an evaluation budget are finished; a time budget drops them.
  bool timeIsUp() const { return spent() && (options.budget.evaluations == 0 || share() < 1); }

  Status fill(std::deque<Pending>& pending, Strategy& strategy, CompilePool& pool) {
    while (pending.size() < static_cast<std::size_t>(pool.size()) + 1 && !spent()) {
      Proposal proposal = strategy.ask(share());
      if (proposal.kind != Proposal::Kind::Try)
        return {};
      ++asked;
      Pending next{proposal.config, std::nullopt, {}};
      auto known = records.find(key, toString(proposal.config));
      if (!known)
        return known.error();
      next.known = *known;
      if (!next.known)
        next.binaries = pool.submit(proposal.config, sizes);
      pending.push_back(std::move(next));
    }
    return {};
  }

  Status settle(Pending& next, Strategy& strategy) {
    std::optional<Compiled> compiled;
    Record record;
    if (next.known) {
      record = *next.known;
      ++progress.fromRecords;
    } else {
      Binaries binaries = next.binaries.get();
      record = evaluate(next.config, binaries);
      compiled = std::move(binaries.tuned);
      if (Status stored = records.insert(key, toString(next.config), record); !stored)
        return stored;
    }
    count(record);
    if (record.outcome == Outcome::Ok)
      place({next.config, record.medianMs, std::move(compiled)});
    strategy.tell(next.config, record.outcome == Outcome::Ok ? std::optional(record.medianMs) : std::nullopt);
    report();
    return {};
  }

  Record evaluate(const Config& config, const Binaries& binaries) {
    const Compiled& compiled = binaries.tuned;
    Record record;
    record.resources = compiled.resources;
    record.compileSeconds = compiled.seconds;
    record.binaryKey = compiled.key;
    if (!compiled.ok) {
      record.outcome = Outcome::CompileError;
      record.detail = compiled.log.substr(0, 4000);
      return record;
    }
    double tunedSeconds = 0;
    VerifyResult verified = verifier.verify(config, sizes, binaries, &tunedSeconds);
    record.outcome = verified.outcome;
    record.detail = verified.detail;
    record.verifySeconds = verified.seconds;
    if (verified.outcome != Outcome::Ok)
      return record;
    const double onceMs = tunedSeconds * 1000 / 2;
    if (!best.empty() && onceMs > hopelessLeastMs && onceMs > hopelessFactor * best.front().ms) {
      record.medianMs = record.lowMs = record.highMs = onceMs;
      record.repetitions = 2;
    } else {
      measure(config, compiled, record);
    }
    return record;
  }

  void measure(const Config& config, const Compiled& compiled, Record& record) {
    MeasureOptions how = measuring();
    if (!best.empty())
      how.giveUpAboveMs = best.front().ms * giveUpFactor;
    Measurement measurement = backend.measure(candidate(config), compiled, options.seed, how);
    record.outcome = measurement.outcome;
    record.detail = measurement.detail;
    record.medianMs = measurement.medianMs;
    record.lowMs = measurement.lowMs;
    record.highMs = measurement.highMs;
    record.repetitions = measurement.repetitions;
    if (measurement.outcome == Outcome::Ok && !best.empty() &&
        std::abs(measurement.medianMs / best.front().ms - 1) < closeShare)
      compareWithIncumbent(config, compiled, record);
  }

  /// The pair's ratio on the incumbent's scale, so that all recorded times compare.
  void compareWithIncumbent(const Config& config, const Compiled& compiled, Record& record) {
    Placed& incumbent = best.front();
    auto [a, b] = backend.measurePair(candidate(config), compiled, candidate(incumbent.config),
                                      binary(incumbent), options.seed, measuring());
    if (a.outcome == Outcome::Ok && b.outcome == Outcome::Ok && b.medianMs > 0)
      record.medianMs = incumbent.ms * a.medianMs / b.medianMs;
  }

  const Compiled& binary(Placed& placed) {
    if (!placed.compiled)
      placed.compiled = backend.compile(candidate(placed.config));
    return *placed.compiled;
  }

  void place(Placed placed) {
    if (kernel.parameters.empty() || placed.config == identity())
      identityPlaced = placed;
    auto at =
        std::upper_bound(best.begin(), best.end(), placed, [](auto& a, auto& b) { return a.ms < b.ms; });
    best.insert(at, std::move(placed));
    if (best.size() > finalists)
      best.pop_back();
  }

  Config identity() const {
    Config config;
    for (const auto& parameter : kernel.parameters)
      config[parameter.name] = parameter.original;
    return config;
  }

  void count(const Record& record) {
    ++result.evaluated;
    ++result.outcomes[record.outcome];
    if (record.outcome == Outcome::Ok)
      ++result.verified;
    else if (record.outcome == Outcome::Mismatch)
      ++result.mismatched;
    else if (record.outcome != Outcome::Unsupported)
      ++result.failed;
    if (record.outcome == Outcome::Mismatch && result.firstMismatch.empty())
      result.firstMismatch = record.detail;
    if (record.outcome == Outcome::Unsupported && firstUnsupported.empty())
      firstUnsupported = record.detail;
  }

  void report() {
    progress.kernel = &kernel;
    progress.sizes = sizes;
    progress.done = result.evaluated;
    progress.share = std::min(1.0, share());
    progress.originalMs = result.originalMs;
    if (!best.empty())
      progress.bestMs = best.front().ms;
    progress.outcomes = result.outcomes;
    if (options.onProgress)
      options.onProgress(progress);
  }

  /// Measures the fastest few and the identity against the original, and keeps the original unless one of
  /// them is faster beyond noise. Of two that are, the one with the larger ratio wins, the identity on a tie.
  void decide(const Space&) {
    if (result.verified == 0 && !firstUnsupported.empty())
      result.unsupported = firstUnsupported;
    std::vector<Placed> list;
    if (identityPlaced)
      list.push_back(*identityPlaced);
    for (const Placed& placed : best)
      if (!identityPlaced || placed.config != identityPlaced->config)
        list.push_back(placed);
    for (Placed& placed : list) {
      if (!binary(placed).ok)
        continue;
      auto [tuned, reference] = backend.measurePair(candidate(placed.config), binary(placed), original(),
                                                    verifier.reference(sizes), options.seed, measuring());
      consider(placed.config, tuned, reference);
    }
  }

  void consider(const Config& config, const Measurement& tuned, const Measurement& reference) {
    if (tuned.outcome != Outcome::Ok || reference.outcome != Outcome::Ok || tuned.medianMs <= 0)
      return;
    double speedup = reference.medianMs / tuned.medianMs;
    if (config == identity())
      result.identityRatio = speedup;
    bool beyondNoise = speedup >= leastGain && tuned.highMs < reference.lowMs;
    if (!beyondNoise || speedup <= result.speedup)
      return;
    result.speedup = speedup;
    result.originalMs = reference.medianMs;
    result.bestMs = tuned.medianMs;
    result.best = config;
  }

  Backend& backend;
  Records& records;
  const RecordKey& key;
  const Kernel& kernel;
  const Bindings& sizes;
  const SessionOptions& options;
  Verifier verifier;
  TuneResult result;
  Progress progress;
  std::string firstUnsupported;
  std::vector<Placed> best; ///< fastest first
  std::optional<Placed> identityPlaced;
  std::uint64_t asked = 0;
  const Clock::time_point start = Clock::now();
};

} // namespace

Expected<TuneResult> tune(Backend& backend, Records& records, const RecordKey& key, const Kernel& kernel,
                          const Bindings& sizes, const SessionOptions& options) {
  return Run(backend, records, key, kernel, sizes, options).run();
}

} // namespace retile::tuner
