#include "TemporaryKernel.h"

#include "lib/Tuner/Backend/CpuBackend.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace retile;
using backend::CpuBackend;
using test::TemporaryKernel;
using tuner::Outcome;

namespace {

std::unique_ptr<CpuBackend> openCpu(const std::string& folder) {
  backend::CpuLimits limits;
  limits.candidateSeconds = 2;
  tuner::BackendOptions options;
  options.spec = "cpu";
  options.directory = folder;
  auto opened = CpuBackend::open(options, limits);
  EXPECT_TRUE(opened) << opened.error().message;
  return *std::move(opened);
}

/// Verifies the candidate at n = `n`.
tuner::VerifyResult verify(const TemporaryKernel& sample, std::int64_t n = 1000) {
  auto device = openCpu(sample.folder);
  const tuner::Compiled reference = device->compile(sample.original({{"n", n}}));
  const tuner::Candidate candidate = sample.candidate({{"n", n}});
  const tuner::Compiled compiled = device->compile(candidate);
  return device->verify(candidate, compiled, reference, 7);
}

const char* const doubling = R"(
__global__ void original(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2.0f;
})";

tuner::VerifyResult verifyDoubling(const std::string& body, std::int64_t n = 1000) {
  return verify(
      TemporaryKernel(
          doubling,
          "#include \"retile.cuh\"\n__global__ void candidate(const float* in, float* out, int n) {\n"
          "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
              body + "\n}\n"),
      n);
}

/// Neighbours within a block of 64, through shared memory.
const char* const shifting = R"(
__global__ void original(const float* in, float* out, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  if (i < n) out[i] = s[63 - threadIdx.x];
})";

} // namespace

TEST(CpuBackend, AcceptsTheSameComputation) {
  const auto result = verifyDoubling("  if (i < n) out[i] = in[i] + in[i];");
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
}

TEST(CpuBackend, NamesTheFirstDifference) {
  const auto result = verifyDoubling("  if (i < n) out[i] = in[i == 5 ? 6 : i] * 2.0f;");
  EXPECT_EQ(result.outcome, Outcome::Mismatch);
  EXPECT_EQ(result.detail.rfind("out[5]: ", 0), 0u) << result.detail;
  EXPECT_NE(result.detail.find("seed 7, n=1000"), std::string::npos) << result.detail;
}

TEST(CpuBackend, RejectsAMissingStore) {
  const auto result = verifyDoubling("  if (i < n && i != 17) out[i] = in[i] * 2.0f;");
  EXPECT_EQ(result.outcome, Outcome::Mismatch);
  EXPECT_EQ(result.detail.rfind("out[17]: nothing written against ", 0), 0u) << result.detail;
}

TEST(CpuBackend, RejectsAStoreThatTheOriginalDoesNotMake) {
  const TemporaryKernel sample(R"(
__global__ void original(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i % 2 == 0) out[i] = in[i];
})",
                               R"(
__global__ void candidate(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i % 2 == 0) out[i] = in[i];
  if (i == 3) out[i] = 0.0f;
})");
  const auto result = verify(sample);
  EXPECT_EQ(result.outcome, Outcome::Mismatch);
  EXPECT_NE(result.detail.find("out[3]: 0 against nothing written"), std::string::npos) << result.detail;
}

TEST(CpuBackend, RejectsArithmeticOnWhatTheOriginalLeavesAlone) {
  const TemporaryKernel sample(R"(
__global__ void original(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i != 40) out[i] = in[i];
})",
                               R"(
__global__ void candidate(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i != 40) out[i] = in[i];
  if (i == 40) out[i] += 1.0f;
})");
  EXPECT_EQ(verify(sample).outcome, Outcome::Mismatch);
}

TEST(CpuBackend, RejectsWritesJustOutsideATensor) {
  const auto after =
      verifyDoubling("  if (i < n) out[i] = in[i] * 2.0f;\n  if (i == n) out[i] = 1.0f;", 1001);
  EXPECT_EQ(after.outcome, Outcome::Mismatch);
  EXPECT_NE(after.detail.find("writes past the end of out"), std::string::npos) << after.detail;
  const auto before = verifyDoubling("  if (i < n) out[i] = in[i] * 2.0f;\n  if (i == 0) out[-3] = 1.0f;");
  EXPECT_EQ(before.outcome, Outcome::Mismatch);
  EXPECT_NE(before.detail.find("writes before out"), std::string::npos) << before.detail;
}

TEST(CpuBackend, LocatesAFaultingAccess) {
  const auto result = verifyDoubling("  if (i < n) out[i] = in[i == 3 ? n + 8 : i] * 2.0f;");
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_NE(result.detail.find("thread (3,0,0) of block (0,0,0) touches memory 32 bytes past the end of in"),
            std::string::npos)
      << result.detail;
}

TEST(CpuBackend, RejectsAChangedInput) {
  const auto result =
      verifyDoubling("  if (i < n) out[i] = in[i] * 2.0f;\n  if (i == 9) const_cast<float*>(in)[9] = 4.0f;");
  EXPECT_EQ(result.outcome, Outcome::Mismatch);
  EXPECT_NE(result.detail.find("changes its input in[9]"), std::string::npos) << result.detail;
}

TEST(CpuBackend, ReportsACrash) {
  const auto result = verifyDoubling("  *(volatile float*)nullptr = in[0];");
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_NE(result.detail.find("Segmentation fault in thread (0,0,0)"), std::string::npos) << result.detail;
}

TEST(CpuBackend, StopsAHang) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = verifyDoubling(
      "  while (*(const volatile float*)in != 100.0f) {}\n  if (i < n) out[i] = in[i] * 2.0f;");
  EXPECT_EQ(result.outcome, Outcome::Timeout) << result.detail;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(CpuBackend, ReportsACompileError) {
  const auto result = verifyDoubling("  undeclared(i);");
  EXPECT_EQ(result.outcome, Outcome::CompileError);
  EXPECT_NE(result.detail.find("k.cuh:4"), std::string::npos) << result.detail;
}

TEST(CpuBackend, RunsBarriers) {
  const auto result = verify(TemporaryKernel(shifting, R"(
__global__ void candidate(const float* in, float* out, int n) {
  __shared__ float s[2][64];
  int i = blockIdx.x * 64 + threadIdx.x;
  s[1][threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  s[0][63 - threadIdx.x] = s[1][threadIdx.x];
  __syncthreads();
  if (i < n) out[i] = s[0][threadIdx.x];
})"));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
}

TEST(CpuBackend, NoticesADroppedBarrier) {
  const auto result = verify(TemporaryKernel(shifting, R"(
__global__ void candidate(const float* in, float* out, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.0f;
  if (i < n) out[i] = s[63 - threadIdx.x];
})"));
  EXPECT_EQ(result.outcome, Outcome::Mismatch) << result.detail;
}

TEST(CpuBackend, ReportsExitedThreadsAtABarrier) {
  const auto result = verifyDoubling("  if (i >= n) return;\n  __syncthreads();\n  out[i] = in[i] * 2.0f;");
  EXPECT_EQ(result.outcome, Outcome::LaunchError);
  EXPECT_NE(result.detail.find("barrier divergence: a thread waits at __syncthreads (line 5), but"),
            std::string::npos)
      << result.detail;
}

TEST(CpuBackend, ReportsDifferentBarriers) {
  const auto result = verifyDoubling("  if (threadIdx.x < 32)\n    __syncthreads();\n  else\n    "
                                     "__syncthreads();\n  if (i < n) out[i] = in[i] * 2.0f;");
  EXPECT_EQ(result.outcome, Outcome::LaunchError);
  EXPECT_NE(result.detail.find("others at __syncthreads (line 7)"), std::string::npos) << result.detail;
}

TEST(CpuBackend, ReportsAWarpThatNeverMeets) {
  const auto result = verifyDoubling(
      "  float v = i < n ? in[i] : 0.0f;\n  if (threadIdx.x != 3) v += __shfl_xor_sync(0xffffffffu, v, 1);\n"
      "  if (i < n) out[i] = in[i] * 2.0f;");
  EXPECT_EQ(result.outcome, Outcome::LaunchError) << result.detail;
}

TEST(CpuBackend, ReportsAMisalignedVector) {
  const auto result = verifyDoubling(
      "  float v[2];\n  if (i < n / 2 - 1) { retile::loadVector<2>(v, in + 2 * i + 1); out[2 * i] = v[0]; }");
  EXPECT_EQ(result.outcome, Outcome::LaunchError);
  EXPECT_NE(result.detail.find("misaligned"), std::string::npos) << result.detail;
}

TEST(CpuBackend, RunsShufflesAndVotes) {
  const auto result = verify(TemporaryKernel(R"(
__global__ void original(const float* in, float* out, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  float best = -2.0f;
  int positive = 0;
  for (int j = 0; j < 32; ++j) {
    best = fmaxf(best, s[threadIdx.x / 32 * 32 + j]);
    positive += s[threadIdx.x / 32 * 32 + j] > 0.0f;
  }
  if (i < n) out[i] = best + positive;
})",
                                             R"(
__global__ void candidate(const float* in, float* out, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float v = i < n ? in[i] : 0.0f;
  int positive = __popc(__ballot_sync(0xffffffffu, v > 0.0f));
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_down_sync(0xffffffffu, v, offset));
  v = __shfl_sync(0xffffffffu, v, 0);
  if (i < n) out[i] = v + positive;
})"));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
}

TEST(CpuBackend, ComparesAtomicSumsByTheErrorRule) {
  const std::string sum = R"(
__global__ void NAME(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[i % 3], in[i]);
})";
  const auto named = [&](const std::string& name) {
    std::string text = sum;
    return text.replace(text.find("NAME"), 4, name);
  };
  TemporaryKernel sample(named("original"), named("candidate"));
  sample.kernel.tensors[1].role = "inout";
  sample.kernel.verify.terms = "n";
  const auto result = verify(sample, 10000);
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
  std::string wrong = named("candidate");
  wrong.replace(wrong.find("in[i])"), 6, "in[i] * 1.01f)");
  sample.write("k.cuh", wrong);
  EXPECT_EQ(verify(sample, 10000).outcome, Outcome::Mismatch);
}

TEST(CpuBackend, CountsWithIntegerAtomics) {
  TemporaryKernel sample(R"(
__global__ void original(const float* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[in[i] > 0.0f], 1);
})",
                         R"(
__global__ void candidate(const float* in, int* out, int n) {
  __shared__ int s[2];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 2) s[threadIdx.x] = 0;
  __syncthreads();
  if (i < n) atomicAdd(&s[in[i] > 0.0f], 1);
  __syncthreads();
  if (threadIdx.x < 2) atomicAdd(&out[threadIdx.x], s[threadIdx.x]);
})");
  sample.kernel.tensors[1].type = "int";
  sample.kernel.tensors[1].role = "inout";
  const auto result = verify(sample, 5000);
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
}

TEST(CpuBackend, SetsConstantMemoryAndDynamicSharedArrays) {
  TemporaryKernel sample("", R"(
__global__ void candidate(const float* in, float* out, int n) {
  extern __shared__ __align__(16) float s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = weights[threadIdx.x];
  __syncthreads();
  if (i < n) out[i] = in[i] * s[threadIdx.x];
})");
  sample.write("k.reference.cu", R"(
__constant__ float weights[64];
#ifndef RETILE_NO_REFERENCE
__global__ void original(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * weights[threadIdx.x];
}
#endif
)");
  sample.kernel.tensors.push_back({"weights", "float", 4, "64", "in", "weights", "uniform", {}});
  sample.kernel.launch.shared = "256";
  const auto result = verify(sample);
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
}

TEST(CpuBackend, NoticesAMissingWaitForAsynchronousCopies) {
  const std::string body = R"(
  retile::Tile<float, 1, 1, 1, 64> tile(retile::sharedMemory());
  tile.loadAsync<1, 64>(0, in, 0, 0, 0, 0, blockIdx.x * 64, {0, 1}, {0, 1}, {0, n}, threadIdx.x);
  retile::asyncCommit();
  WAIT
  __syncthreads();
  if (i < n) out[i] = tile(0, 0, 0, threadIdx.x) * 2.0f;)";
  for (const bool waits : {true, false}) {
    std::string text = body;
    text.replace(text.find("WAIT"), 4, waits ? "retile::asyncWait<0>();" : "");
    TemporaryKernel sample(
        doubling, "#include \"retile.cuh\"\n__global__ void candidate(const float* in, float* out, int n) {\n"
                  "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
                      text + "\n}\n");
    sample.kernel.launch.shared = "256";
    const auto result = verify(sample);
    EXPECT_EQ(result.outcome, waits ? Outcome::Ok : Outcome::Mismatch) << result.detail;
  }
}

TEST(CpuBackend, PoisonsSharedMemory) {
  const auto result = verifyDoubling(
      "  __shared__ float s[64];\n  if (threadIdx.x != 9) s[threadIdx.x] = 2.0f;\n  __syncthreads();\n"
      "  if (i < n) out[i] = in[i] * s[threadIdx.x];");
  EXPECT_EQ(result.outcome, Outcome::Mismatch);
  EXPECT_EQ(result.detail.rfind("out[9]: nan", 0), 0u) << result.detail;
}

TEST(CpuBackend, RunsHalves) {
  TemporaryKernel sample(R"(
#include <cuda_fp16.h>
__global__ void original(const __half* in, __half* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __float2half(__half2float(in[i]) * 3.0f);
})",
                         R"(
#include <cuda_fp16.h>
__global__ void candidate(const __half* in, __half* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 < n) {
    const __half2 v = reinterpret_cast<const __half2*>(in)[i];
    reinterpret_cast<__half2*>(out)[i] = __hfma2(v, __float2half2_rn(3.0f), __float2half2_rn(0.0f));
  }
})");
  for (auto& tensor : sample.kernel.tensors)
    tensor.type = "__half", tensor.size = 2;
  const auto result = verify(sample);
  if (result.detail.find("cuda_fp16.h was not found") != std::string::npos)
    GTEST_SKIP() << result.detail;
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
}

TEST(CpuBackend, RunsPartialWarpsAndMaskedLanes) {
  const auto result = verify(TemporaryKernel(R"(
__global__ void original(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = threadIdx.x % 2 == 0 && i + 2 < n && threadIdx.x < 38 ? in[i + 2] : in[i];
})",
                                             R"(
__global__ void candidate(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? in[i] : 0.0f;
  if (threadIdx.x % 2 == 0) {
    float next = __shfl_down_sync(0x55555555u, v, 2);
    if (threadIdx.x % 32 == 30) next = i + 2 < n ? in[i + 2] : v;
    if (i + 2 < n && threadIdx.x < 38) v = next;
  }
  __syncwarp();
  if (i < n) out[i] = v;
})",
                                             "40"));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
}

TEST(CpuBackend, RefusesWhatItCannotRun) {
  const auto assembly =
      verifyDoubling("  asm volatile(\"membar.gl;\");\n  if (i < n) out[i] = in[i] * 2.0f;");
  EXPECT_EQ(assembly.outcome, Outcome::Unsupported);
  EXPECT_NE(assembly.detail.find("inline PTX (line 4)"), std::string::npos) << assembly.detail;
  const auto groups =
      verify(TemporaryKernel(std::string("#include <cooperative_groups.h>\n") + doubling, ""));
  EXPECT_EQ(groups.outcome, Outcome::Unsupported) << groups.detail;
}

TEST(CpuBackend, MeasuresAPair) {
  const TemporaryKernel sample(doubling, R"(
__global__ void candidate(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i];
  for (int j = 0; j < 2000; ++j) v = __fadd_rn(v, 1e-6f);
  out[i] = v;
})");
  auto device = openCpu(sample.folder);
  const tuner::Candidate a = sample.original({{"n", 4096}}), b = sample.candidate({{"n", 4096}});
  const auto [fast, slow] = device->measurePair(a, device->compile(a), b, device->compile(b), 1, {});
  ASSERT_EQ(fast.outcome, Outcome::Ok) << fast.detail;
  EXPECT_GT(slow.medianMs, fast.medianMs);
  EXPECT_LE(fast.lowMs, fast.medianMs);
  EXPECT_GE(fast.highMs, fast.medianMs);
}

TEST(CpuBackend, VerifiesTheSampleTemplate) {
  const std::string folder = RETILE_FIXTURES "/sgemm";
  Expected<manifest::Manifest> manifest = manifest::load(folder);
  ASSERT_TRUE(manifest) << manifest.error().message;
  auto device = openCpu(folder);
  const manifest::Kernel& kernel = manifest->kernels[0];
  const auto config = [](std::vector<std::int64_t> v) {
    return tuner::Config{{"TILE_I", v[0]}, {"TILE_J", v[1]}, {"ITEMS_I", v[2]},  {"ITEMS_J", v[3]},
                         {"TILE_K", v[4]}, {"STAGES", v[5]}, {"VECTOR_A", v[6]}, {"VECTOR_B", v[7]}};
  };
  for (const manifest::Bindings& sizes : {manifest::Bindings{{"NI", 61}, {"NJ", 131}, {"NK", 77}},
                                          manifest::Bindings{{"NI", 64}, {"NJ", 128}, {"NK", 96}}}) {
    const tuner::Compiled reference = device->compile({&kernel, sizes, std::nullopt});
    ASSERT_TRUE(reference.ok) << reference.log;
    const bool aligned = sizes.at("NI") == 64;
    for (const auto& values :
         std::vector<std::vector<std::int64_t>>{{8, 32, 1, 1, 4, 1, 1, 1},
                                                {32, 32, 4, 4, 8, 2, aligned ? 4 : 1, aligned ? 4 : 1},
                                                {64, 64, 8, 4, 16, 3, 1, 1}}) {
      const tuner::Candidate candidate{&kernel, sizes, config(values)};
      const tuner::Compiled compiled = device->compile(candidate);
      ASSERT_TRUE(compiled.ok) << compiled.log;
      const auto result = device->verify(candidate, compiled, reference, 3);
      EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
    }
  }
}
