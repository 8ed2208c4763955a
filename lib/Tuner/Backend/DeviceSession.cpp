#include "DeviceSession.h"

#include <algorithm>

namespace retile::backend::cuda {

namespace {

constexpr std::size_t keptModules = 16;
constexpr std::uint64_t findingsPerTensor = 3; ///< front canary, back canary, contents

std::uint64_t roundUp(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

/// Errors after which no call of this context succeeds.
bool isSticky(Result result) { return result >= 700 && result < 720 && result != 701; }

} // namespace

DeviceSession::DeviceSession(Driver table, int ordinal) : driver(table) {
  int count = 0;
  check(driver.deviceGetCount(&count));
  if (ordinal >= count)
    throw DeviceFailure{Verdict::LaunchError,
                        "there is no device cuda:" + std::to_string(ordinal) + ", the driver has " +
                            std::to_string(count),
                        true};
  check(driver.deviceGet(&device, ordinal));
  Context context = nullptr;
  check(driver.primaryContextRetain(&context, device));
  check(driver.contextSetCurrent(context));
}

void DeviceSession::check(Result result, Verdict verdict) const {
  if (result == success)
    return;
  if (result == outOfMemory)
    verdict = Verdict::OutOfMemory;
  if (isSticky(result))
    verdict = Verdict::Crash;
  throw DeviceFailure{verdict, driver.describe(result), isSticky(result)};
}

void DeviceSession::synchronize() {
  const Result result = driver.contextSynchronize();
  if (result != success)
    throw DeviceFailure{Verdict::Crash, driver.describe(result), true};
}

DeviceFacts DeviceSession::facts() const {
  DeviceFacts facts;
  check(driver.deviceGetName(facts.name, sizeof facts.name - 1, device));
  const auto attribute = [&](int which) {
    int value = 0;
    check(driver.deviceGetAttribute(&value, which, device));
    return value;
  };
  facts.capability = attribute(capabilityMajor) * 10 + attribute(capabilityMinor);
  facts.maxThreads = attribute(maxThreadsPerBlock);
  facts.maxShared = std::max(attribute(maxSharedPerBlockOptin), attribute(maxSharedPerBlock));
  facts.multiprocessors = attribute(multiprocessorCount);
  facts.l2Bytes = attribute(l2CacheSize);
  return facts;
}

std::string DeviceSession::busId() const {
  char id[64] = {};
  check(driver.deviceGetPciBusId(id, sizeof id - 1, device));
  return id;
}

Pointer DeviceSession::allocate(std::uint64_t bytes) {
  Pointer memory = 0;
  check(driver.memoryAllocate(&memory, bytes));
  return memory;
}

void DeviceSession::freeBuffers() {
  for (Buffer& buffer : buffers)
    if (buffer.allocation)
      driver.memoryFree(buffer.allocation);
  buffers.clear();
  if (scratch)
    driver.memoryFree(scratch);
  if (findingMemory)
    driver.memoryFree(findingMemory);
  scratch = findingMemory = 0;
  scratchBytes = 0;
}

void DeviceSession::loadHarness(const std::string& image) {
  if (image == harnessImage)
    return;
  check(driver.moduleLoadData(&harness, image.c_str()));
  const auto find = [&](Function& function, const char* name) {
    check(driver.moduleGetFunction(&function, harness, name));
  };
  find(generateKernel, "retile_generate");
  find(checkKernel, "retile_check");
  find(poisonKernel, "retile_poison");
  find(canaryKernel, "retile_canary");
  find(digestKernel, "retile_digest");
  find(compareKernel, "retile_compare");
  harnessImage = image;
}

void DeviceSession::prepare(const PrepareRequest& request) {
  loadHarness(request.harness);
  seed = request.seed;
  const bool same =
      std::equal(buffers.begin(), buffers.end(), request.tensors.begin(), request.tensors.end(),
                 [](const Buffer& a, const TensorSpec& b) {
                   return a.spec.bytes == b.bytes && a.spec.symbol == b.symbol && a.spec.role == b.role;
                 });
  if (same) {
    for (std::size_t i = 0; i < buffers.size(); ++i)
      buffers[i].spec = request.tensors[i];
    return;
  }
  freeBuffers();
  for (const TensorSpec& spec : request.tensors) {
    Buffer buffer;
    buffer.spec = spec;
    if (!spec.symbol) {
      buffer.allocated = canaryBytes + roundUp(spec.bytes, 256) + canaryBytes;
      buffer.allocation = allocate(buffer.allocated);
      buffer.data = buffer.allocation + canaryBytes;
    }
    buffers.push_back(buffer);
    if (spec.role != Role::In)
      scratchBytes = std::max(scratchBytes, spec.bytes);
  }
  if (!buffers.empty())
    findingMemory = allocate(buffers.size() * findingsPerTensor * sizeof(Finding) + sizeof(Digest));
}

const LoadedKernel& DeviceSession::load(const RunSpec& run) {
  const auto known =
      std::find_if(kernels.begin(), kernels.end(), [&](const LoadedKernel& k) { return k.key == run.key; });
  if (known != kernels.end()) {
    std::rotate(kernels.begin(), known, known + 1);
    return kernels.front();
  }
  LoadedKernel kernel;
  kernel.key = run.key;
  check(driver.moduleLoadData(&kernel.module, run.image.c_str()));
  check(driver.moduleGetFunction(&kernel.function, kernel.module, run.entry.c_str()));
  for (std::size_t i = 0; i < run.symbols.size(); ++i) {
    kernel.symbols.push_back(0);
    if (run.symbols[i].empty())
      continue;
    std::size_t size = 0;
    check(driver.moduleGetGlobal(&kernel.symbols.back(), &size, kernel.module, run.symbols[i].c_str()));
    if (i < buffers.size() && size < buffers[i].spec.bytes)
      throw DeviceFailure{Verdict::LaunchError, run.symbols[i] + " is smaller than the manifest says", false};
  }
  kernels.push_front(kernel);
  if (kernels.size() > keptModules) {
    driver.moduleUnload(kernels.back().module);
    kernels.pop_back();
  }
  return kernels.front();
}

Pointer DeviceSession::addressOf(const LoadedKernel& kernel, std::size_t tensor) const {
  return buffers[tensor].spec.symbol ? kernel.symbols[tensor] : buffers[tensor].data;
}

void DeviceSession::run(Function function, std::uint64_t items, std::vector<void*> arguments) {
  const unsigned blocks = static_cast<unsigned>(std::clamp<std::uint64_t>((items + 255) / 256, 1, 8192));
  check(driver.launchKernel(function, blocks, 1, 1, 256, 1, 1, 0, nullptr, arguments.data(), nullptr));
}

void DeviceSession::generate(const LoadedKernel& kernel, std::size_t tensor) {
  TensorSpec spec = buffers[tensor].spec;
  Pointer memory = addressOf(kernel, tensor);
  int element = static_cast<int>(spec.element);
  run(generateKernel, spec.scalars, {&memory, &element, &spec.scalars, &seed, &spec.stream, &spec.limit});
}

void DeviceSession::poison(Pointer memory, std::uint64_t bytes, int run) {
  this->run(poisonKernel, bytes / 2, {&memory, &bytes, &run});
}

void DeviceSession::fill(const LoadedKernel& kernel, int run) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (buffer.spec.bytes > 0) {
      if (buffer.spec.role == Role::Out)
        poison(addressOf(kernel, i), buffer.spec.bytes, run);
      else
        generate(kernel, i);
    }
    if (buffer.spec.symbol)
      continue;
    const Pointer end = buffer.data + buffer.spec.bytes;
    check(driver.fillBytes(buffer.allocation, canaryByte, canaryBytes, nullptr));
    check(driver.fillBytes(end, canaryByte, buffer.allocation + buffer.allocated - end, nullptr));
  }
}

void DeviceSession::restore(const LoadedKernel& kernel) {
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].spec.role == Role::InOut && buffers[i].spec.bytes > 0)
      generate(kernel, i);
}

bool DeviceSession::readsAndWrites() const {
  return std::any_of(buffers.begin(), buffers.end(),
                     [](const Buffer& b) { return b.spec.role == Role::InOut; });
}

std::uint64_t DeviceSession::tensorBytes() const {
  std::uint64_t total = 0;
  for (const Buffer& buffer : buffers)
    total += buffer.spec.bytes;
  return total;
}

void DeviceSession::launch(const LoadedKernel& kernel, const RunSpec& run) {
  std::vector<Pointer> pointers(run.arguments.size());
  std::vector<void*> arguments;
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    const ArgumentPlan& argument = run.arguments[i];
    if (argument.tensor >= 0)
      pointers[i] = addressOf(kernel, static_cast<std::size_t>(argument.tensor)) +
                    static_cast<std::uint64_t>(argument.offsetBytes);
    arguments.push_back(argument.tensor >= 0 ? static_cast<void*>(&pointers[i])
                                             : const_cast<unsigned char*>(argument.bytes.data()));
  }
  const LaunchPlan& plan = run.launch;
  if (plan.shared > kernel.allowedShared) {
    check(driver.functionSetAttribute(kernel.function, maxDynamicSharedBytes, static_cast<int>(plan.shared)));
    kernel.allowedShared = plan.shared;
  }
  check(driver.launchKernel(kernel.function, plan.grid[0], plan.grid[1], plan.grid[2], plan.block[0],
                            plan.block[1], plan.block[2], plan.shared, nullptr, arguments.data(), nullptr));
}

void DeviceSession::checkCanaries(std::size_t tensor, Pointer findings) {
  const Buffer& buffer = buffers[tensor];
  if (buffer.spec.symbol)
    return;
  int value = canaryByte;
  Pointer memory = buffer.allocation;
  std::uint64_t bytes = canaryBytes;
  run(canaryKernel, bytes, {&memory, &bytes, &value, &findings});
  memory = buffer.data + buffer.spec.bytes;
  bytes = buffer.allocation + buffer.allocated - memory;
  findings += sizeof(Finding);
  run(canaryKernel, bytes, {&memory, &bytes, &value, &findings});
}

Reply DeviceSession::inspect(const LoadedKernel& kernel, int run, const VerifyRequest& request,
                             const unsigned char* results) {
  std::vector<Finding> findings(buffers.size() * findingsPerTensor);
  const std::size_t size = findings.size() * sizeof(Finding);
  if (findings.empty())
    return {};
  check(driver.copyToDevice(findingMemory, findings.data(), size));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    TensorSpec spec = buffers[i].spec;
    if (spec.bytes == 0)
      continue;
    Pointer at = findingMemory + i * findingsPerTensor * sizeof(Finding), memory = addressOf(kernel, i);
    int element = static_cast<int>(spec.element);
    checkCanaries(i, at);
    at += 2 * sizeof(Finding);
    if (spec.role == Role::In) {
      this->run(checkKernel, spec.scalars,
                {&memory, &element, &spec.scalars, &seed, &spec.stream, &spec.limit, &at});
    } else if (results) {
      const std::size_t expected = static_cast<std::size_t>(run) * buffers.size() + i;
      const bool same = request.relative[i] == 0 && expected < request.digests.size() &&
                        digest(kernel, i) == request.digests[expected];
      if (!same)
        compare(kernel, i, run, request, results, at);
    }
  }
  synchronize();
  check(driver.copyToHost(findings.data(), findingMemory, size));
  return finding(kernel, run, findings, results);
}

Digest DeviceSession::digest(const LoadedKernel& kernel, std::size_t tensor) {
  TensorSpec spec = buffers[tensor].spec;
  Digest words = {};
  if (spec.role == Role::In || spec.bytes == 0)
    return words;
  Pointer memory = addressOf(kernel, tensor);
  Pointer at = findingMemory + buffers.size() * findingsPerTensor * sizeof(Finding);
  int element = static_cast<int>(spec.element);
  check(driver.copyToDevice(at, words.data(), sizeof words));
  run(digestKernel, spec.scalars, {&memory, &element, &spec.scalars, &seed, &at});
  check(driver.copyToHost(words.data(), at, sizeof words));
  return words;
}

std::vector<Digest> DeviceSession::digests(const LoadedKernel& kernel) {
  std::vector<Digest> list;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    list.push_back(digest(kernel, i));
  return list;
}

/// Element by element, with the original's results brought to the device.
void DeviceSession::compare(const LoadedKernel& kernel, std::size_t tensor, int run,
                            const VerifyRequest& request, const unsigned char* results, Pointer finding) {
  TensorSpec spec = buffers[tensor].spec;
  if (!scratch)
    scratch = allocate(scratchBytes);
  Pointer memory = addressOf(kernel, tensor);
  int element = static_cast<int>(spec.element), poisoned = spec.role == Role::Out ? run : -1;
  double relative = request.relative[tensor], rms = request.rms[tensor];
  check(driver.copyToDevice(scratch, results + resultOffset(specs(), tensor, run), spec.bytes));
  this->run(compareKernel, spec.scalars,
            {&memory, &scratch, &element, &spec.scalars, &relative, &rms, &poisoned, &finding});
  poison(scratch, spec.bytes, 0);
}

std::vector<TensorSpec> DeviceSession::specs() const {
  std::vector<TensorSpec> list;
  for (const Buffer& buffer : buffers)
    list.push_back(buffer.spec);
  return list;
}

Reply DeviceSession::finding(const LoadedKernel& kernel, int run, const std::vector<Finding>& findings,
                             const unsigned char* results) {
  Reply reply;
  reply.run = static_cast<std::uint32_t>(run);
  for (std::size_t i = 0; i < findings.size() && reply.verdict == Verdict::Ok; ++i) {
    if (findings[i].count == 0)
      continue;
    const std::size_t tensor = i / findingsPerTensor, kind = i % findingsPerTensor;
    const TensorSpec& spec = buffers[tensor].spec;
    reply.tensor = static_cast<std::uint32_t>(tensor);
    reply.index = findings[i].first;
    reply.count = findings[i].count;
    reply.verdict = kind < 2                ? Verdict::Canary
                    : spec.role == Role::In ? Verdict::InputChanged
                                            : Verdict::Differs;
    if (kind < 2) {
      reply.detail = kind == 0 ? "writes before " : "writes past the end of ";
      continue;
    }
    const std::uint64_t width = static_cast<std::uint64_t>(harness::bytesOf(spec.element));
    check(driver.copyToHost(&reply.candidate, addressOf(kernel, tensor) + reply.index * width, width));
    if (spec.role == Role::In)
      reply.original =
          harness::testData(spec.element, seed, spec.stream, reply.index, spec.scalars, spec.limit);
    else if (results)
      reply.original =
          harness::loadBits(spec.element, results + resultOffset(specs(), tensor, run), reply.index);
  }
  return reply;
}

void DeviceSession::download(const LoadedKernel& kernel, int run, unsigned char* results) {
  const std::vector<TensorSpec> specs = this->specs();
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (specs[i].role != Role::In && specs[i].bytes > 0)
      check(driver.copyToHost(results + resultOffset(specs, i, run), addressOf(kernel, i), specs[i].bytes));
}

} // namespace retile::backend::cuda
