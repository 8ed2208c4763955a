// retile-selftest [--device cuda:0] [--fixtures DIR] [--size N] [--configs N]: what the unit tests cannot try
// without a GPU. Verifies and measures configurations of the sample SGEMM, provokes every way in which a
// candidate can fail, and prints one line a check; the exit code is the number of failed checks.
#include "Cublas.h"

#include "retile/Manifest/Expression.h"
#include "retile/Manifest/Manifest.h"
#include "retile/Tuner/Backend.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace retile;
using tuner::Outcome;

namespace {

int failures = 0;

void report(bool good, const std::string& what, const std::string& detail) {
  std::printf("%s  %-34s %s\n", good ? "ok  " : "FAIL", what.c_str(), detail.c_str());
  std::fflush(stdout);
  failures += !good;
}

struct Options {
  std::string device = "cuda:0", fixtures = RETILE_FIXTURES;
  int size = 4096, configs = 60;
};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Expected<std::unique_ptr<tuner::Backend>> open(const Options& options, const std::string& folder) {
  tuner::BackendOptions backend;
  backend.spec = options.device;
  backend.directory = folder;
  return tuner::openBackend(backend);
}

/// Whether every constraint of the kernel holds.
bool isLegal(const manifest::Kernel& kernel, const tuner::Bindings& all) {
  for (const manifest::Constraint& constraint : kernel.constraints) {
    const auto expression = manifest::Expression::parse(constraint.expr);
    const auto value = expression ? expression->evaluate(all) : Expected<std::int64_t>(0);
    if (!value || *value == 0)
      return false;
  }
  return true;
}

/// Legal configurations drawn at random, good ones first.
std::vector<tuner::Config> drawConfigs(const manifest::Kernel& kernel, tuner::Bindings all, int count) {
  const auto config = [](std::int64_t ti, std::int64_t tj, std::int64_t ii, std::int64_t ij, std::int64_t tk,
                         std::int64_t stages, std::int64_t va) {
    return tuner::Config{{"TILE_I", ti}, {"TILE_J", tj},     {"ITEMS_I", ii},  {"ITEMS_J", ij},
                         {"TILE_K", tk}, {"STAGES", stages}, {"VECTOR_A", va}, {"VECTOR_B", 4}};
  };
  std::vector<tuner::Config> configs;
  for (const std::int64_t tk : {16, 32, 8})
    for (const std::int64_t stages : {2, 3, 4})
      for (const std::int64_t va : {1, 4})
        for (const auto& [ti, tj, ii, ij] : std::vector<std::array<std::int64_t, 4>>{
                 {128, 128, 8, 8}, {128, 256, 16, 8}, {128, 256, 8, 8}, {256, 128, 16, 8}})
          configs.push_back(config(ti, tj, ii, ij, tk, stages, va));
  std::mt19937_64 random(1);
  std::vector<tuner::Config> legal;
  for (int tries = 0; static_cast<int>(legal.size()) < count && tries < 100000; ++tries) {
    tuner::Config candidate;
    if (static_cast<std::size_t>(tries) < configs.size())
      candidate = configs[static_cast<std::size_t>(tries)];
    else
      for (const manifest::Parameter& p : kernel.parameters)
        candidate[p.name] = p.values[random() % p.values.size()];
    for (const auto& [name, value] : candidate)
      all[name] = value;
    if (isLegal(kernel, all))
      legal.push_back(candidate);
  }
  return legal;
}

std::string show(const tuner::Config& config) {
  std::string text;
  for (const char* name :
       {"TILE_I", "TILE_J", "TILE_K", "ITEMS_I", "ITEMS_J", "STAGES", "VECTOR_A", "VECTOR_B"})
    text += std::string(text.empty() ? "" : ",") + std::to_string(config.at(name));
  return text;
}

/// Compiles on all cores.
std::vector<tuner::Compiled> compileAll(tuner::Backend& device,
                                        const std::vector<tuner::Candidate>& candidates) {
  std::vector<tuner::Compiled> compiled(candidates.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back([&] {
      for (std::size_t i; (i = next++) < candidates.size();)
        compiled[i] = device.compile(candidates[i]);
    });
  for (std::thread& thread : threads)
    thread.join();
  return compiled;
}

void sweep(const Options& options, tuner::Backend& device, const manifest::Kernel& kernel) {
  const tuner::Bindings sizes{{"NI", options.size}, {"NJ", options.size}, {"NK", options.size}};
  tuner::Bindings all = sizes;
  all["MAX_THREADS"] = device.info().maxThreadsPerBlock;
  all["MAX_SHARED"] = device.info().maxSharedPerBlock;
  all["SM_COUNT"] = device.info().smCount;
  const auto start = std::chrono::steady_clock::now();
  std::vector<tuner::Candidate> candidates{{&kernel, sizes, std::nullopt}};
  for (const tuner::Config& config : drawConfigs(kernel, all, options.configs))
    candidates.push_back({&kernel, sizes, config});
  const std::vector<tuner::Compiled> compiled = compileAll(device, candidates);
  const double compileSeconds = secondsSince(start);
  const double flops = 2.0 * options.size * options.size * options.size;
  double best = 1e30, verifySeconds = 0, measureSeconds = 0;
  std::size_t winner = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    auto from = std::chrono::steady_clock::now();
    const tuner::VerifyResult verdict = device.verify(candidates[i], compiled[i], compiled[0], 11);
    verifySeconds += secondsSince(from);
    from = std::chrono::steady_clock::now();
    tuner::MeasureOptions measure;
    if (best < 1e30)
      measure.giveUpAboveMs = 2 * best;
    const tuner::Measurement m = device.measure(candidates[i], compiled[i], 11, measure);
    measureSeconds += secondsSince(from);
    const bool good = verdict.outcome == Outcome::Ok && m.outcome == Outcome::Ok;
    char line[256];
    std::snprintf(line, sizeof line, "%8.3f ms [%.3f %.3f] x%d %6.1f TFLOP/s, %d registers, %d spilled",
                  m.medianMs, m.lowMs, m.highMs, m.repetitions, flops / m.medianMs / 1e9,
                  compiled[i].resources.registers, compiled[i].resources.spillBytes);
    report(good, show(*candidates[i].config),
           good ? line : verdict.detail + " / " + m.detail + " / " + compiled[i].log.substr(0, 300));
    if (good && m.medianMs < best)
      best = m.medianMs, winner = i;
  }
  const double total = secondsSince(start);
  std::printf("%zu configurations in %.1f s: %.0f a minute (compile %.1f s, verify %.1f s, measure %.1f s)\n",
              candidates.size() - 1, total, 60.0 * double(candidates.size() - 1) / total, compileSeconds,
              verifySeconds, measureSeconds);
  if (winner == 0)
    return;
  const auto [a, b] =
      device.measurePair(candidates[0], compiled[0], candidates[winner], compiled[winner], 11, {});
  std::printf("original %.3f ms, best %s %.3f ms = %.1f TFLOP/s\n", a.medianMs,
              show(*candidates[winner].config).c_str(), b.medianMs, flops / b.medianMs / 1e9);
  if (const auto ms = selftest::cublasMilliseconds(0, options.size))
    std::printf("cuBLAS SGEMM %.3f ms = %.1f TFLOP/s; the best template reaches %.0f%% of it\n", *ms,
                flops / *ms / 1e9, 100 * *ms / b.medianMs);
  else
    std::printf("cuBLAS was not found\n");
  tuner::MeasureOptions cold;
  cold.coldCache = true;
  const tuner::Measurement m = device.measure(candidates[winner], compiled[winner], 11, cold);
  report(m.outcome == Outcome::Ok, "cold caches", std::to_string(m.medianMs) + " ms");
}

void oddSizes(tuner::Backend& device, const manifest::Kernel& kernel) {
  const tuner::Config small{{"TILE_I", 64}, {"TILE_J", 64}, {"ITEMS_I", 8},  {"ITEMS_J", 4},
                            {"TILE_K", 16}, {"STAGES", 3},  {"VECTOR_A", 1}, {"VECTOR_B", 1}};
  for (const tuner::Bindings& sizes : {tuner::Bindings{{"NI", 61}, {"NJ", 131}, {"NK", 77}},
                                       tuner::Bindings{{"NI", 1}, {"NJ", 1}, {"NK", 1}},
                                       tuner::Bindings{{"NI", 127}, {"NJ", 129}, {"NK", 128}}}) {
    const tuner::Candidate original{&kernel, sizes, std::nullopt}, candidate{&kernel, sizes, small};
    const auto verdict = device.verify(candidate, device.compile(candidate), device.compile(original), 5);
    report(verdict.outcome == Outcome::Ok, "odd sizes " + std::to_string(sizes.at("NI")), verdict.detail);
  }
}

/// A kernel out = 2 in over n floats with a flaw in its candidate.
class Flawed {
public:
  explicit Flawed(const Options& options)
      : options(options),
        folder(std::filesystem::temp_directory_path() / ("retile-selftest-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder);
    write("k.reference.cu", "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n__constant__ float "
                            "two[1];\n#ifndef RETILE_NO_REFERENCE\n"
                            "__global__ void original(const float* in, float* out, int n) {\n"
                            "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = in[i] * "
                            "two[0];\n}\n#endif\n");
    kernel.id = kernel.kernel = "k";
    kernel.templateFile = "k.cuh";
    kernel.templateEntry = "candidate";
    kernel.referenceFile = "k.reference.cu";
    kernel.referenceEntry = "original";
    kernel.tensors = {{"in", "float", 4, "n", "in", {}, "uniform", {}},
                      {"out", "float", 4, "n", "out", {}, "uniform", {}},
                      {"two", "float", 4, "1", "in", "two", "uniform", {}}};
    kernel.arguments = {{"in", "const float*", "tensor", "in", "0", {}},
                        {"out", "float*", "tensor", "out", "0", {}},
                        {"n", "int", "scalar", "", "0", "n"}};
    kernel.original.grid = kernel.launch.grid = {"ceildiv(n, 256)", "1", "1"};
    kernel.original.block = kernel.launch.block = {"256", "1", "1"};
  }
  ~Flawed() { std::filesystem::remove_all(folder); }

  void openDevice() {
    auto opened = open(options, folder.string());
    if (opened)
      device = *std::move(opened);
  }
  void expect(const std::string& what, const std::string& flaw, Outcome outcome, bool sound = false) {
    const std::string good = "  if (i < n) out[i] = in[i] * two[0];\n";
    write("k.cuh", "__global__ void candidate(const float* in, float* out, int n) {\n  int i = blockIdx.x * "
                   "blockDim.x + threadIdx.x;\n" +
                       (sound ? "" : good) + flaw + "\n}\n");
    const tuner::Candidate original{&kernel, {{"n", 10001}}, std::nullopt},
        candidate{&kernel, {{"n", 10001}}, tuner::Config{}};
    const auto start = std::chrono::steady_clock::now();
    const auto verdict = device->verify(candidate, device->compile(candidate), device->compile(original), 3);
    report(verdict.outcome == outcome, what,
           std::string(toString(verdict.outcome)) + " in " + std::to_string(secondsSince(start)) +
               " s: " + verdict.detail);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }

  Options options;
  std::filesystem::path folder;
  manifest::Kernel kernel;
  std::unique_ptr<tuner::Backend> device;
};

void flaws(const Options& options) {
  Flawed kernel(options);
  kernel.openDevice();
  if (!kernel.device)
    return report(false, "flawed kernels", "the device does not open");
  kernel.expect("a sound candidate", "", Outcome::Ok);
  kernel.expect("a wrong value", "  if (i == 77) out[i] += 1.0f;", Outcome::Mismatch);
  kernel.expect("a missing store", "  if (i < n && i != 5) out[i] = in[i] * two[0];", Outcome::Mismatch,
                true);
  kernel.expect("a write past the end", "  if (i == 0) out[n] = 0.0f;", Outcome::Mismatch);
  kernel.expect("a write before the start", "  if (i == 0) out[-1] = 0.0f;", Outcome::Mismatch);
  kernel.expect("a changed input", "  if (i == 0) const_cast<float*>(in)[9] = 0.0f;", Outcome::Mismatch);
  kernel.expect("a changed constant", "  if (i == 0) out[9] = two[0];", Outcome::Mismatch);
  kernel.expect("an illegal address", "  if (i == 0) *(float*)(1ull << 60) = 0.0f;", Outcome::Crash);
  kernel.expect("a trap", "  if (i == 0) __trap();", Outcome::Crash);
  kernel.expect("a sound one after crashes", "", Outcome::Ok);
  kernel.expect("a hang", "  while (*(volatile const float*)in != 100.0f) {}", Outcome::Timeout);
  kernel.expect("a sound one after a hang", "", Outcome::Ok);
  kernel.expect("a compile error", "  undeclared();", Outcome::CompileError);
  kernel.kernel.launch.shared = "200000000";
  kernel.expect("too much shared memory", "", Outcome::LaunchError);
  kernel.kernel.launch.shared = "100000";
  kernel.expect("large shared memory", "", Outcome::Ok);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--device")
      options.device = value;
    else if (flag == "--fixtures")
      options.fixtures = value;
    else if (flag == "--size")
      options.size = std::atoi(value.c_str());
    else if (flag == "--configs")
      options.configs = std::atoi(value.c_str());
  }
  return options;
}

} // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string folder = options.fixtures + "/sgemm";
  const auto manifest = manifest::load(folder);
  if (!manifest)
    return std::fprintf(stderr, "%s\n", manifest.error().message.c_str()), 2;
  const auto start = std::chrono::steady_clock::now();
  auto device = open(options, folder);
  if (!device)
    return std::fprintf(stderr, "%s\n%s\n", device.error().message.c_str(), device.error().note.c_str()), 3;
  const tuner::DeviceInfo& info = (*device)->info();
  std::printf("%s: %s, %s, %lld SMs, %lld bytes shared, %lld bytes L2; opened in %.2f s\n", info.spec.c_str(),
              info.name.c_str(), info.arch.c_str(), static_cast<long long>(info.smCount),
              static_cast<long long>(info.maxSharedPerBlock), static_cast<long long>(info.l2Bytes),
              secondsSince(start));
  const auto bandwidth = tuner::measureCopyBandwidth(**device);
  report(bandwidth.has_value(), "copy bandwidth",
         bandwidth ? std::to_string(*bandwidth / 1e9) + " GB/s" : "");
  oddSizes(**device, manifest->kernels[0]);
  sweep(options, **device, manifest->kernels[0]);
  if (options.device != "cpu")
    flaws(options);
  std::printf("%d checks failed\n", failures);
  return failures;
}
