#include "CpuBackend.h"

#include "Arena.h"
#include "CpuChild.h"
#include "Statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

namespace retile::backend {

namespace {

using tuner::Outcome;

constexpr std::size_t keptReferences = 16;
constexpr std::uint64_t keptBytes = std::uint64_t(1) << 30, mostBytes = std::uint64_t(2) << 30;
constexpr int mostOsThreads = 16;

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      return line.substr(line.find(':') + 2);
  return "cpu";
}

tuner::DeviceInfo describeDevice(const std::string& compilerVersion) {
  tuner::DeviceInfo device;
  device.spec = "cpu";
  device.name = processorName();
  device.arch = compilerVersion;
  device.maxThreadsPerBlock = 1024;
  device.maxSharedPerBlock = 227 << 10;
  device.smCount = std::max(1u, std::thread::hardware_concurrency());
  device.l2Bytes = 1 << 20;
  return device;
}

const CpuBinary* binaryOf(const tuner::Compiled& compiled) {
  return static_cast<const CpuBinary*>(compiled.binary.get());
}

void fillInputs(const Problem& problem, const Contents& initial, const Arena& arena, int run) {
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    if (problem.tensors[i].role == Role::Out)
      fillPoison(arena.data(i), arena.size(i), run);
    else
      std::memcpy(arena.data(i), initial[i].data(), arena.size(i));
  }
}

Contents initialContents(const Problem& problem) {
  Contents contents(problem.tensors.size());
  for (std::size_t i = 0; i < contents.size(); ++i) {
    if (problem.tensors[i].role == Role::Out)
      continue;
    contents[i].resize(problem.tensors[i].bytes);
    fillTensor(problem, problem.tensors[i], contents[i].data());
  }
  return contents;
}

/// The tensors that a run may change.
Contents outputs(const Problem& problem, const Arena& arena) {
  Contents contents(problem.tensors.size());
  for (std::size_t i = 0; i < contents.size(); ++i)
    if (problem.tensors[i].role != Role::In)
      contents[i].assign(arena.data(i), arena.data(i) + arena.size(i));
  return contents;
}

std::uint64_t bytesOf(const Contents& contents) {
  std::uint64_t total = 0;
  for (const auto& tensor : contents)
    total += tensor.size();
  return total;
}

/// An input that a run changed, as a sentence; empty when there is none.
std::string changedInput(const Problem& problem, const Contents& initial, const Arena& arena) {
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    if (problem.tensors[i].role != Role::In)
      continue;
    const Difference difference = compareTensor(problem.tensors[i], arena.data(i), initial[i].data(), {}, 0);
    if (difference.any)
      return describeInputChange(problem, problem.tensors[i], difference);
  }
  return "";
}

tuner::Measurement failed(Outcome outcome, const std::string& detail) {
  tuner::Measurement measurement;
  measurement.outcome = outcome;
  measurement.detail = detail;
  return measurement;
}

} // namespace

Expected<std::unique_ptr<CpuBackend>> CpuBackend::open(const tuner::BackendOptions& options,
                                                       CpuLimits limits) {
  Expected<std::unique_ptr<CpuCompiler>> compiler = CpuCompiler::open(options.directory, options.flags);
  if (!compiler)
    return compiler.error();
  std::unique_ptr<CpuBackend> backend(new CpuBackend(*std::move(compiler), limits));
  backend->device = describeDevice(backend->compiler->version());
  backend->osThreads = std::min<int>(mostOsThreads, static_cast<int>(backend->device.smCount));
  return backend;
}

std::shared_ptr<const CpuBackend::Reference> CpuBackend::reference(const Problem& problem,
                                                                   const tuner::Compiled& compiled) {
  const std::string key = compiled.key + " " + problem.kernel->id + " " + problem.describe();
  const auto known =
      std::find_if(references.begin(), references.end(), [&](const auto& r) { return r->key == key; });
  if (known != references.end()) {
    std::rotate(references.begin(), known, known + 1);
    return references.front();
  }
  std::shared_ptr<Reference> made = runReference(problem, compiled);
  made->key = key;
  references.push_front(made);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < references.size(); ++i) {
    total += bytesOf(references[i]->initial) + bytesOf(references[i]->first) + bytesOf(references[i]->second);
    if (i > 0 && (i >= keptReferences || total > keptBytes)) {
      references.resize(i);
      break;
    }
  }
  return made;
}

std::shared_ptr<CpuBackend::Reference> CpuBackend::runReference(const Problem& problem,
                                                                const tuner::Compiled& compiled) {
  auto result = std::make_shared<Reference>();
  const auto fail = [&](Outcome outcome, const std::string& detail) {
    result->outcome = outcome;
    result->detail = "the original: " + detail;
    return result;
  };
  const CpuBinary& binary = *binaryOf(compiled);
  if (!binary.unsupported.empty())
    return fail(Outcome::Unsupported, binary.unsupported);
  Expected<RunPlan> plan = makeRun(problem, std::nullopt, device);
  if (!plan)
    return fail(Outcome::Unsupported, plan.error().message);
  Expected<std::unique_ptr<Arena>> first = Arena::create(problem), second = Arena::create(problem);
  if (!first || !second)
    return fail(Outcome::Unsupported, (!first ? first : second).error().message);
  result->initial = initialContents(problem);
  fillInputs(problem, result->initial, **first, 0);
  fillInputs(problem, result->initial, **second, 1);
  ChildRun run{&binary, &*plan, &problem, {first->get(), second->get()}, limits.referenceSeconds, osThreads};
  const ChildResult child = runChild(run);
  result->seconds = child.seconds;
  if (child.outcome != Outcome::Ok)
    return fail(child.outcome, child.detail);
  if (const std::string changed = changedInput(problem, result->initial, **first); !changed.empty())
    return fail(Outcome::Mismatch, changed);
  result->first = outputs(problem, **first);
  result->second = outputs(problem, **second);
  result->tolerances.resize(problem.tensors.size());
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    if (problem.tensors[i].role == Role::In)
      continue;
    Expected<Tolerance> tolerance =
        toleranceOf(problem, problem.tensors[i], result->first[i].data(), result->second[i].data());
    if (!tolerance)
      return fail(Outcome::Unsupported, tolerance.error().message);
    result->tolerances[i] = *tolerance;
  }
  return result;
}

tuner::VerifyResult CpuBackend::verify(const tuner::Candidate& candidate, const tuner::Compiled& compiled,
                                       const tuner::Compiled& referenceBinary, std::uint64_t seed) {
  if (!referenceBinary.ok)
    return {Outcome::Unsupported,
            "the original does not compile for the cpu device: " + firstError(referenceBinary.log), 0};
  if (!compiled.ok)
    return {Outcome::CompileError, firstError(compiled.log), 0};
  const CpuBinary& binary = *binaryOf(compiled);
  if (!binary.unsupported.empty())
    return {Outcome::Unsupported, binary.unsupported, 0};
  Expected<Problem> problem = makeProblem(*candidate.kernel, candidate.sizes, seed, device);
  if (!problem)
    return {Outcome::Unsupported, problem.error().message, 0};
  if (problem->bytes() > mostBytes)
    return {Outcome::Unsupported,
            fmt::format("{} bytes of tensors are too many for the cpu device", problem->bytes()), 0};
  Expected<RunPlan> plan = makeRun(*problem, candidate.config, device);
  if (!plan)
    return {Outcome::LaunchError, plan.error().message, 0};
  const std::shared_ptr<const Reference> original = reference(*problem, referenceBinary);
  if (original->outcome != Outcome::Ok)
    return {original->outcome, original->detail, 0};
  return runCandidate(*problem, *plan, binary, *original);
}

tuner::VerifyResult CpuBackend::runCandidate(const Problem& problem, const RunPlan& plan,
                                             const CpuBinary& binary, const Reference& original) {
  Expected<std::unique_ptr<Arena>> first = Arena::create(problem), second = Arena::create(problem);
  if (!first || !second)
    return {Outcome::Unsupported, (!first ? first : second).error().message, 0};
  fillInputs(problem, original.initial, **first, 0);
  fillInputs(problem, original.initial, **second, 1);
  const double deadline =
      std::min(limits.referenceSeconds, limits.candidateSeconds + limits.candidateFactor * original.seconds);
  const ChildRun run{&binary, &plan, &problem, {first->get(), second->get()}, deadline, osThreads};
  const ChildResult child = runChild(run);
  if (child.outcome != Outcome::Ok)
    return {child.outcome, child.detail + " (" + problem.describe() + ")", child.seconds};
  for (int i = 0; i < 2; ++i) {
    tuner::VerifyResult verdict = judge(problem, original, i == 0 ? **first : **second, i);
    verdict.seconds = child.seconds;
    if (verdict.outcome != Outcome::Ok)
      return verdict;
  }
  return {Outcome::Ok, "", child.seconds};
}

tuner::VerifyResult CpuBackend::judge(const Problem& problem, const Reference& original, const Arena& arena,
                                      int run) const {
  if (const std::string damage = arena.damage(problem); !damage.empty())
    return {Outcome::Mismatch, damage + " (" + problem.describe() + ")", 0};
  if (const std::string changed = changedInput(problem, original.initial, arena); !changed.empty())
    return {Outcome::Mismatch, changed, 0};
  const Contents& expected = run == 0 ? original.first : original.second;
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    if (problem.tensors[i].role == Role::In)
      continue;
    const Difference difference =
        compareTensor(problem.tensors[i], arena.data(i), expected[i].data(), original.tolerances[i], run);
    if (difference.any)
      return {Outcome::Mismatch, describeDifference(problem, problem.tensors[i], difference, run), 0};
  }
  return {};
}

tuner::Measurement CpuBackend::measure(const tuner::Candidate& candidate, const tuner::Compiled& compiled,
                                       std::uint64_t seed, const tuner::MeasureOptions& options) {
  return measurePair(candidate, compiled, {}, {}, seed, options).first;
}

std::pair<tuner::Measurement, tuner::Measurement>
CpuBackend::measurePair(const tuner::Candidate& a, const tuner::Compiled& ca, const tuner::Candidate& b,
                        const tuner::Compiled& cb, std::uint64_t seed, const tuner::MeasureOptions& options) {
  const bool pair = b.kernel != nullptr;
  const auto both = [&](Outcome outcome, const std::string& detail) {
    return std::make_pair(failed(outcome, detail), failed(outcome, detail));
  };
  Expected<Problem> problem = makeProblem(*a.kernel, a.sizes, seed, device);
  if (!problem)
    return both(Outcome::Unsupported, problem.error().message);
  Expected<std::unique_ptr<Arena>> arena = Arena::create(*problem);
  if (!arena)
    return both(Outcome::Unsupported, arena.error().message);
  fillInputs(*problem, initialContents(*problem), **arena, 0);
  std::vector<RunPlan> plans;
  std::vector<ChildRun> runs;
  plans.reserve(2);
  for (int i = 0; i < (pair ? 2 : 1); ++i) {
    const tuner::Compiled& compiled = i == 0 ? ca : cb;
    if (!compiled.ok)
      return both(Outcome::CompileError, firstError(compiled.log));
    if (!binaryOf(compiled)->unsupported.empty())
      return both(Outcome::Unsupported, binaryOf(compiled)->unsupported);
    Expected<RunPlan> plan = makeRun(*problem, (i == 0 ? a : b).config, device);
    if (!plan)
      return both(Outcome::LaunchError, plan.error().message);
    plans.push_back(*plan);
    const double deadline = options.deadlineMs ? *options.deadlineMs / 1000 * 4 + 10 * options.minSeconds + 1
                                               : limits.referenceSeconds;
    runs.push_back({binaryOf(compiled), &plans.back(), &*problem, {arena->get()}, deadline, osThreads});
  }
  const std::vector<ChildResult> results =
      timeChild(runs, options.minSeconds, options.giveUpAboveMs.value_or(1e12) / 1000,
                options.coldCache ? static_cast<std::size_t>(device.l2Bytes) * 2 : 0);
  const auto convert = [](const ChildResult& child) {
    if (child.outcome != Outcome::Ok)
      return failed(child.outcome, child.detail);
    std::vector<double> ms;
    for (const double seconds : child.times)
      ms.push_back(seconds * 1000);
    return summarize(ms);
  };
  return {convert(results.front()), convert(results.back())};
}

} // namespace retile::backend
