// kernel-tune: reads a .retile directory, opens a device, and tunes or verifies each kernel at each choice of
// sizes.
#include "Options.h"
#include "ProgressLine.h"
#include "retile/Report/Report.h"
#include "retile/Support/Text.h"
#include "retile/Tuner/Sizes.h"
#include "retile/Tuner/VerifyOnly.h"

#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <unistd.h>

using namespace retile;
using tool::Options;

static std::atomic<bool> interrupted = false;

/// The first interrupt ends the search and still reports; the second ends the process.
static void onInterrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

/// One kernel at one choice of sizes.
struct Job {
  const manifest::Kernel* kernel;
  tuner::Bindings sizes;
  std::string note;
};

static bool isSelected(const Options& options, const manifest::Kernel& kernel) {
  return matchesGlob(options.kernelGlob, kernel.id) || matchesGlob(options.kernelGlob, kernel.kernel);
}

/// Every selected kernel at every choice of sizes. A kernel without usable sizes is left out with a warning; that none is
/// left is an error.
static Expected<std::vector<Job>> makeJobs(const Options& options, const manifest::Manifest& manifest,
                                           const tuner::DeviceInfo& device) {
  std::vector<Job> jobs;
  std::vector<Error> unusable;
  std::vector<tuner::Bindings> given = options.sizes;
  if (given.empty())
    given.emplace_back();
  for (const manifest::Kernel& kernel : manifest.kernels) {
    if (!isSelected(options, kernel))
      continue;
    for (const tuner::Bindings& sizes : given) {
      auto chosen = options.verifyOnly ? tuner::chooseSmallSizes(kernel, sizes, device)
                                       : tuner::chooseSizes(kernel, sizes, device);
      if (chosen)
        jobs.push_back({&kernel, chosen->sizes, chosen->note});
      else
        unusable.push_back(chosen.error());
    }
  }
  if (jobs.empty() && !unusable.empty())
    return unusable.front();
  if (jobs.empty())
    return Error{fmt::format("no kernel matches '{}'", oneLine(options.kernelGlob, 60)),
                 fmt::format("kernels in {}/manifest.json: {}", options.directory, manifest.kernels.size())};
  for (const Error& error : unusable)
    fmt::print(stderr, "kernel-tune: warning: {}\n", oneLine(error.message, 600));
  return jobs;
}

static Status checkSizes(const Options& options, const manifest::Manifest& manifest) {
  for (const tuner::Bindings& sizes : options.sizes)
    if (Status known = tuner::checkSizeNames(manifest, sizes); !known)
      return known;
  return {};
}

static std::string sizesNote(const Job& job) {
  return job.note.empty() ? "" : fmt::format("{}: sizes {}", job.kernel->id, job.note);
}

static ExitCode runVerifyOnly(const Options& options, tuner::Backend& backend, const std::vector<Job>& jobs) {
  bool allVerified = true;
  for (const Job& job : jobs) {
    if (!options.quiet && !job.note.empty())
      fmt::print(stderr, "{}\n", sizesNote(job));
    tuner::VerifyReport report = tuner::verifyOnly(
        backend, *job.kernel, job.sizes, {options.verifyOnly, options.seed, options.jobs, &interrupted});
    allVerified &= report.verified != 0 && report.mismatched == 0 && report.failed == 0;
    if (options.json) {
      fmt::print("{}\n", report::jsonLine(*job.kernel, report));
    } else {
      fmt::print("{} at {}: verified={} mismatched={} failed={} valid={}\n", job.kernel->id,
                 tuner::toString(job.sizes), report.verified, report.mismatched, report.failed, report.valid);
      if (!report.unsupported.empty())
        fmt::print("  unsupported: {}\n", report.unsupported);
      for (const std::string& detail : report.details)
        fmt::print("  {}\n", detail);
    }
    std::fflush(stdout);
    if (interrupted)
      break;
  }
  return allVerified ? ExitCode::Success : ExitCode::Refused;
}

/// Tunes every job and writes what is known after each, so that an interrupted run leaves a usable tuned/.
static Expected<std::vector<tuner::TuneResult>> runTuning(const Options& options, tuner::Backend& backend,
                                                          const manifest::Manifest& manifest,
                                                          const std::vector<Job>& jobs,
                                                          std::optional<double> copyBandwidth) {
  auto records = tuner::Records::open(options.database, options.fresh);
  if (!records)
    return records.error();
  tool::ProgressLine line(options.quiet, backend.info(), copyBandwidth);
  std::vector<tuner::TuneResult> results;
  for (const Job& job : jobs) {
    if (!job.note.empty())
      line.note(sizesNote(job));
    auto key = tuner::makeKey(options.directory, manifest.compile, *job.kernel, job.sizes, backend.info());
    if (!key)
      return key.error();
    tuner::SessionOptions session{
        options.strategy, options.seed, options.budget, options.jobs, &interrupted, {}, {}};
    session.onProgress = [&](const tuner::Progress& progress) { line.show(progress); };
    session.onNote = [&](const std::string& text) { line.note(text); };
    auto result = tuner::tune(backend, *records, *key, *job.kernel, job.sizes, session);
    line.clear();
    if (!result)
      return result.error();
    results.push_back(*result);
    if (options.json) {
      fmt::print("{}\n", report::jsonLine(*result, backend.info(), copyBandwidth));
      std::fflush(stdout);
    }
    if (Status written =
            report::writeTuned(options.directory, manifest, results, backend.info(), copyBandwidth);
        !written)
      return written.error();
    if (interrupted)
      break;
  }
  return results;
}

static ExitCode tuneAll(const Options& options, tuner::Backend& backend, const manifest::Manifest& manifest,
                        const std::vector<Job>& jobs) {
  std::optional<double> copyBandwidth = tuner::measureCopyBandwidth(backend);
  auto results = runTuning(options, backend, manifest, jobs, copyBandwidth);
  if (!results)
    return tool::printError(results.error());
  bool mismatch = false, ran = false;
  for (const tuner::TuneResult& result : *results) {
    mismatch |= result.mismatched != 0;
    ran |= result.unsupported.empty() && result.failure.empty();
  }
  if (!options.json)
    fmt::print("{}\n{}\n", report::table(*results, backend.info(), copyBandwidth),
               report::summaryLine(*results));
  return mismatch || !ran ? ExitCode::Refused : ExitCode::Success;
}

/// Before any work: the folder takes tuned/, and the strategy exists.
static Status checkBeforeWork(const Options& options) {
  if (options.verifyOnly)
    return {};
  if (::access(options.directory.c_str(), W_OK) != 0)
    return Error{fmt::format("cannot write to '{}'", options.directory),
                 "the results go to DIR/tuned and DIR/tune.db", ExitCode::Environment};
  for (const tuner::StrategyInfo& info : tuner::strategies())
    if (info.name == options.strategy)
      return {};
  return Error{fmt::format("unknown strategy '{}'", oneLine(options.strategy, 40)),
               "`kernel-tune --help` lists them"};
}

static ExitCode run(const Options& options) {
  auto manifest = manifest::load(options.directory);
  if (!manifest)
    return tool::printError(manifest.error());
  if (Status known = checkSizes(options, *manifest); !known)
    return tool::printError(known.error());
  if (Status ready = checkBeforeWork(options); !ready)
    return tool::printError(ready.error());
  auto backend = tuner::openBackend({options.device, options.directory, manifest->compile, options.jobs});
  if (!backend)
    return tool::printError(backend.error());
  const tuner::DeviceInfo& device = (*backend)->info();
  if (!options.quiet)
    fmt::print(stderr, "device {}: {} ({})\n", device.spec, device.name, device.arch);
  auto jobs = makeJobs(options, *manifest, device);
  if (!jobs)
    return tool::printError(jobs.error());
  std::signal(SIGINT, onInterrupt);
  return options.verifyOnly ? runVerifyOnly(options, **backend, *jobs)
                            : tuneAll(options, **backend, *manifest, *jobs);
}

int main(int argc, char** argv) {
  try {
    auto parsed = tool::parseCommandLine(argc, argv);
    if (auto* code = std::get_if<ExitCode>(&parsed))
      return static_cast<int>(*code);
    return static_cast<int>(run(std::get<Options>(parsed)));
  } catch (const std::exception& error) {
    return static_cast<int>(
        tool::printError({fmt::format("internal error: {}", error.what()), "", ExitCode::Internal}));
  }
}
