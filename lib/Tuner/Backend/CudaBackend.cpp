#include "CudaBackend.h"

#include "Statistics.h"
#include "Worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace retile::backend {

namespace {

using tuner::Outcome;

constexpr double originalSeconds = 120, leastVerifySeconds = 10, verifyFactor = 200, measureSeconds = 60;
constexpr std::size_t keptReferences = 16;
constexpr std::uint64_t keptBytes = std::uint64_t(4) << 30;

const CudaBinary& binaryOf(const tuner::Compiled& compiled) {
  return *static_cast<const CudaBinary*>(compiled.binary.get());
}

RunSpec runSpec(const tuner::Compiled& compiled, const RunPlan& plan) {
  const CudaBinary& binary = binaryOf(compiled);
  return {compiled.key, binary.image, binary.entry, binary.symbols, plan.launch, plan.arguments};
}

TensorSpec tensorSpec(const TensorPlan& plan) {
  TensorSpec spec;
  spec.bytes = plan.bytes;
  spec.scalars = static_cast<std::uint64_t>(plan.elements) * static_cast<std::uint64_t>(plan.type.lanes);
  spec.stream = plan.stream;
  spec.limit = plan.limit;
  spec.element = plan.type.scalar;
  spec.role = plan.role;
  spec.symbol = !plan.symbol.empty();
  return spec;
}

tuner::Measurement failed(Outcome outcome, const std::string& detail) {
  tuner::Measurement measurement;
  measurement.outcome = outcome;
  measurement.detail = detail;
  return measurement;
}

std::pair<tuner::Measurement, tuner::Measurement> bothFailed(Outcome outcome, const std::string& detail) {
  return {failed(outcome, detail), failed(outcome, detail)};
}

} // namespace

CudaBackend::Reference::~Reference() {
  if (file >= 0)
    close(file);
}

CudaBackend::CudaBackend(std::unique_ptr<WorkerLauncher> launched, int ordinal)
    : launcher(std::move(launched)), originals(*launcher, ordinal), candidates(*launcher, ordinal) {}

Expected<std::unique_ptr<CudaBackend>> CudaBackend::open(const tuner::BackendOptions& options, int ordinal) {
  Expected<std::unique_ptr<WorkerLauncher>> launcher =
      WorkerLauncher::start([](int socket) { cuda::serveDevice(socket); });
  if (!launcher)
    return launcher.error();
  std::unique_ptr<CudaBackend> backend(new CudaBackend(*std::move(launcher), ordinal));
  Expected<DeviceFacts> facts = backend->candidates.open();
  if (!facts)
    return facts.error();
  Expected<std::unique_ptr<CudaCompiler>> compiler =
      CudaCompiler::open(options.directory, options.flags, facts->capability);
  if (!compiler)
    return compiler.error();
  backend->compiler = *std::move(compiler);
  Expected<std::string> harness = backend->compiler->harness();
  if (!harness)
    return harness.error();
  backend->harness = *harness;
  tuner::DeviceInfo& device = backend->device;
  device.spec = fmt::format("cuda:{}", ordinal);
  device.name = facts->name;
  device.arch = fmt::format("sm_{}", facts->capability);
  device.maxThreadsPerBlock = facts->maxThreads;
  device.maxSharedPerBlock = facts->maxShared;
  device.smCount = facts->multiprocessors;
  device.l2Bytes = facts->l2Bytes;
  return backend;
}

Expected<CudaBackend::Prepared> CudaBackend::prepare(const tuner::Candidate& candidate,
                                                     std::uint64_t seed) const {
  Expected<Problem> problem = makeProblem(*candidate.kernel, candidate.sizes, seed, device);
  if (!problem)
    return problem.error();
  Prepared prepared{*problem, {}, problem->kernel->id + " " + problem->describe()};
  for (const TensorPlan& plan : problem->tensors)
    prepared.specs.push_back(tensorSpec(plan));
  return prepared;
}

PrepareRequest CudaBackend::request(const Prepared& prepared) const {
  return {harness, prepared.problem.seed, prepared.specs};
}

std::shared_ptr<const CudaBackend::Reference> CudaBackend::reference(const Prepared& prepared,
                                                                     const tuner::Compiled& compiled) {
  const std::string key = compiled.key + " " + prepared.key;
  const auto known =
      std::find_if(references.begin(), references.end(), [&](const auto& r) { return r->key == key; });
  if (known != references.end()) {
    std::rotate(references.begin(), known, known + 1);
    return references.front();
  }
  auto made = std::make_shared<Reference>();
  made->key = key;
  runReference(prepared, compiled, *made);
  if (made->outcome != Outcome::Ok)
    made->detail = "the original: " + made->detail;
  references.push_front(made);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < references.size(); ++i) {
    total += references[i]->bytes;
    if (i > 0 && (i >= keptReferences || total > keptBytes)) {
      references.resize(i);
      break;
    }
  }
  return made;
}

void CudaBackend::runReference(const Prepared& prepared, const tuner::Compiled& compiled,
                               Reference& reference) {
  const auto fail = [&](Outcome outcome, const std::string& detail) {
    reference.outcome = outcome;
    reference.detail = detail;
  };
  Expected<RunPlan> plan = makeRun(prepared.problem, std::nullopt, device);
  if (!plan)
    return fail(Outcome::Unsupported, plan.error().message);
  reference.bytes = resultBytes(prepared.specs);
  reference.file = memfd_create("retile-results", MFD_CLOEXEC);
  if (reference.file < 0 || ftruncate(reference.file, static_cast<off_t>(reference.bytes)) != 0)
    return fail(Outcome::Unsupported, "no memory for its results");
  DeviceWorker::Result result = originals.prepare(prepared.key, request(prepared));
  VerifyRequest body;
  body.run = runSpec(compiled, *plan);
  if (result.outcome == Outcome::Ok)
    result = originals.call(Request::Original, encode(body), originalSeconds, reference.file);
  const tuner::VerifyResult verdict = convert(prepared, result);
  if (verdict.outcome != Outcome::Ok)
    return fail(verdict.outcome, verdict.detail);
  reference.seconds = result.reply.seconds;
  reference.digests = result.reply.digests;
  originals.prepare("nothing", {harness, 0, {}});
  judgeReference(prepared, reference);
}

void CudaBackend::judgeReference(const Prepared& prepared, Reference& reference) {
  reference.relative.assign(prepared.specs.size(), 0);
  reference.rms.assign(prepared.specs.size(), 0);
  if (reference.bytes == 0)
    return;
  void* mapped = mmap(nullptr, reference.bytes, PROT_READ, MAP_SHARED, reference.file, 0);
  if (mapped == MAP_FAILED) {
    reference.outcome = Outcome::Unsupported;
    reference.detail = "no memory for its results";
    return;
  }
  const auto* results = static_cast<const unsigned char*>(mapped);
  for (std::size_t i = 0; i < prepared.specs.size(); ++i) {
    if (prepared.specs[i].role == Role::In)
      continue;
    Expected<Tolerance> tolerance = toleranceOf(prepared.problem, prepared.problem.tensors[i],
                                                results + resultOffset(prepared.specs, i, 0),
                                                results + resultOffset(prepared.specs, i, 1));
    if (!tolerance) {
      reference.outcome = Outcome::Unsupported;
      reference.detail = tolerance.error().message;
      break;
    }
    reference.relative[i] = tolerance->relative;
    reference.rms[i] = tolerance->rms;
  }
  munmap(mapped, reference.bytes);
}

tuner::VerifyResult CudaBackend::convert(const Prepared& prepared, const DeviceWorker::Result& result) const {
  const Reply& reply = result.reply;
  tuner::VerifyResult verdict{result.outcome, result.detail, reply.seconds};
  if (result.outcome != Outcome::Ok && result.outcome != Outcome::Mismatch)
    verdict.detail += " (" + prepared.problem.describe() + ")";
  if (result.outcome != Outcome::Mismatch || reply.tensor >= prepared.problem.tensors.size())
    return verdict;
  const TensorPlan& tensor = prepared.problem.tensors[reply.tensor];
  const Difference difference{true, reply.index, reply.count, reply.candidate, reply.original};
  if (reply.verdict == Verdict::Canary)
    verdict.detail = reply.detail + tensor.name + " (" + prepared.problem.describe() + ")";
  else if (reply.verdict == Verdict::InputChanged)
    verdict.detail = describeInputChange(prepared.problem, tensor, difference);
  else
    verdict.detail = describeDifference(prepared.problem, tensor, difference, static_cast<int>(reply.run));
  return verdict;
}

tuner::VerifyResult CudaBackend::verify(const tuner::Candidate& candidate, const tuner::Compiled& compiled,
                                        const tuner::Compiled& referenceBinary, std::uint64_t seed) {
  if (!referenceBinary.ok)
    return {Outcome::Unsupported, "the original does not compile: " + firstError(referenceBinary.log), 0};
  if (!compiled.ok)
    return {Outcome::CompileError, firstError(compiled.log), 0};
  Expected<Prepared> prepared = prepare(candidate, seed);
  if (!prepared)
    return {Outcome::Unsupported, prepared.error().message, 0};
  Expected<RunPlan> plan = makeRun(prepared->problem, candidate.config, device);
  if (!plan)
    return {Outcome::LaunchError, plan.error().message, 0};
  const std::shared_ptr<const Reference> original = reference(*prepared, referenceBinary);
  if (original->outcome != Outcome::Ok)
    return {original->outcome, original->detail, 0};
  DeviceWorker::Result result = candidates.prepare(prepared->key, request(*prepared));
  VerifyRequest body;
  body.run = runSpec(compiled, *plan);
  body.relative = original->relative;
  body.rms = original->rms;
  body.digests = original->digests;
  if (result.outcome == Outcome::Ok)
    result = candidates.call(Request::Verify, encode(body),
                             leastVerifySeconds + verifyFactor * original->seconds, original->file);
  return convert(*prepared, result);
}

tuner::Measurement CudaBackend::measure(const tuner::Candidate& candidate, const tuner::Compiled& compiled,
                                        std::uint64_t seed, const tuner::MeasureOptions& options) {
  return measurePair(candidate, compiled, {}, {}, seed, options).first;
}

std::pair<tuner::Measurement, tuner::Measurement>
CudaBackend::measurePair(const tuner::Candidate& a, const tuner::Compiled& ca, const tuner::Candidate& b,
                         const tuner::Compiled& cb, std::uint64_t seed,
                         const tuner::MeasureOptions& options) {
  const bool pair = b.kernel != nullptr;
  if (!ca.ok || (pair && !cb.ok))
    return bothFailed(Outcome::CompileError, firstError(ca.ok ? cb.log : ca.log));
  Expected<Prepared> prepared = prepare(a, seed);
  if (!prepared)
    return bothFailed(Outcome::Unsupported, prepared.error().message);
  MeasureRequest body;
  for (int i = 0; i < (pair ? 2 : 1); ++i) {
    Expected<RunPlan> plan = makeRun(prepared->problem, (i == 0 ? a : b).config, device);
    if (!plan)
      return bothFailed(Outcome::LaunchError, plan.error().message);
    body.runs.push_back(runSpec(i == 0 ? ca : cb, *plan));
  }
  body.minSeconds = options.minSeconds;
  body.giveUpAboveMs = options.giveUpAboveMs.value_or(0);
  body.flushBytes = options.coldCache ? static_cast<std::uint64_t>(device.l2Bytes) * 2 : 0;
  DeviceWorker::Result result = candidates.prepare(prepared->key, request(*prepared));
  const double silence = options.deadlineMs ? *options.deadlineMs / 1000 + 2 : measureSeconds;
  if (result.outcome == Outcome::Ok)
    result = candidates.call(Request::Measure, encode(body), silence);
  if (result.outcome != Outcome::Ok)
    return bothFailed(result.outcome, result.detail);
  const auto convert = [&](std::size_t i) {
    tuner::Measurement measurement =
        summarize(i < result.reply.times.size() ? result.reply.times[i] : std::vector<double>());
    if (measurement.outcome == Outcome::Ok)
      measurement.detail = result.detail;
    return measurement;
  };
  return {convert(0), convert(pair ? 1 : 0)};
}

std::optional<double> CudaBackend::copyBandwidth() {
  if (candidates.prepare("nothing", {harness, 0, {}}).outcome != Outcome::Ok)
    return std::nullopt;
  const DeviceWorker::Result result = candidates.call(Request::Bandwidth, "", measureSeconds);
  if (result.outcome != Outcome::Ok)
    return std::nullopt;
  return result.reply.bandwidth;
}

} // namespace retile::backend
