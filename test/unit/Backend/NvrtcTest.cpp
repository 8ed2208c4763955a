// What NVRTC makes of the helpers, the harness and the sample template; needs the library, but no GPU.
#include "lib/Tuner/Backend/CudaCompile.h"
#include "lib/Tuner/Backend/Toolkit.h"

#include "retile/Device/Files.h"

#include <gtest/gtest.h>

using namespace retile;

namespace {

std::unique_ptr<backend::CudaCompiler> openCompiler(const std::string& folder, int capability) {
  auto compiler = backend::CudaCompiler::open(folder, {}, capability);
  return compiler ? *std::move(compiler) : nullptr;
}

const backend::Nvrtc* nvrtc() {
  const auto opened = backend::Nvrtc::open();
  return opened ? *opened : nullptr;
}

#define REQUIRE_NVRTC()                                                                                      \
  if (!nvrtc())                                                                                              \
  GTEST_SKIP() << backend::Nvrtc::open().error().message

const char* const everyHelper = R"(
#include "retile.cuh"
template <class T, int VECTOR, bool TRANSPOSED> __device__ void use(const T* src, T* dst, int n) {
  using Row = retile::Tile<T, 2, 2, 8, 16, VECTOR>;
  using Column = retile::TileT<T, 2, 2, 8, 16, 4>;
  Row row(retile::sharedMemory());
  Column column(retile::sharedMemory() + Row::BYTES);
  row.template load<VECTOR, 64>(0, src, n, n, 0, blockIdx.x, 0, {0, 2}, {0, n}, {0, n}, threadIdx.x);
  row.template loadAsync<VECTOR, 64>(1, src, n, n, 0, blockIdx.x, 0, {0, 2}, {0, n}, {0, n}, threadIdx.x, {0, n});
  column.template load<VECTOR, 64>(0, src, n, n, 0, blockIdx.x, 0, {0, 2}, {0, n}, {0, n}, threadIdx.x, {0, n});
  column.template loadAsync<VECTOR, 64>(1, src, n, n, 0, blockIdx.x, 0, {0, 2}, {0, n}, {0, n}, threadIdx.x);
  retile::asyncCommit();
  retile::asyncWait<0>();
  __syncthreads();
  T v[VECTOR];
  retile::loadVector<VECTOR>(v, &row(1, 1, 2, 0));
  v[0] = column(1, 1, 2, 3);
  retile::storeVector<VECTOR>(dst + retile::floordiv(threadIdx.x, 2) * VECTOR, v);
}
#include <cuda_fp16.h>
__global__ void floats(const float* s, float* d, int n) { use<float, 4, false>(s, d, n); use<float, 1, false>(s, d, n); }
__global__ void doubles(const double* s, double* d, int n) { use<double, 2, false>(s, d, n); }
__global__ void bytes(const signed char* s, signed char* d, int n) { use<signed char, 1, false>(s, d, n); use<signed char, 16, false>(s, d, n); }
__global__ void halves(const __half* s, __half* d, int n) { use<__half, 8, false>(s, d, n); use<__half, 2, false>(s, d, n); }
)";

} // namespace

TEST(Nvrtc, CompilesTheHelpers) {
  REQUIRE_NVRTC();
  for (const int capability : {80, 90}) {
    backend::NvrtcJob job;
    job.name = "helpers";
    job.source = everyHelper;
    job.headers["retile.cuh"] = std::string(device::retileHeader());
    job.options = {"--gpu-architecture=sm_" + std::to_string(capability), "--std=c++17"};
    bool half = false;
    for (const std::string& folder : backend::cudaIncludeFolders("cuda_fp16.h"))
      job.options.push_back("--include-path=" + folder), half = true;
    if (!half)
      job.source.resize(job.source.find("#include <cuda_fp16.h>"));
    const backend::NvrtcResult result = nvrtc()->compile(job);
    EXPECT_TRUE(result.ok) << result.log;
    EXPECT_EQ(result.log.find("error"), std::string::npos) << result.log;
  }
}

TEST(Nvrtc, CompilesTheHarness) {
  REQUIRE_NVRTC();
  auto compiler = openCompiler("/nowhere", 90);
  ASSERT_TRUE(compiler);
  const auto image = compiler->harness();
  ASSERT_TRUE(image) << image.error().note;
  EXPECT_GT(image->size(), 1000u);
}

TEST(Nvrtc, CompilesTheSampleTemplateWithoutSpills) {
  REQUIRE_NVRTC();
  const std::string folder = RETILE_FIXTURES "/sgemm";
  auto manifest = manifest::load(folder);
  ASSERT_TRUE(manifest) << manifest.error().message;
  auto compiler = openCompiler(folder, 90);
  ASSERT_TRUE(compiler);
  const tuner::Config config{{"TILE_I", 128}, {"TILE_J", 128}, {"ITEMS_I", 8},  {"ITEMS_J", 8},
                             {"TILE_K", 16},  {"STAGES", 3},   {"VECTOR_A", 1}, {"VECTOR_B", 4}};
  const tuner::Bindings sizes{{"NI", 4096}, {"NJ", 4096}, {"NK", 4096}};
  const tuner::Compiled candidate = compiler->compile({&manifest->kernels[0], sizes, config});
  ASSERT_TRUE(candidate.ok) << candidate.log;
  EXPECT_GT(candidate.resources.registers, 64);
  EXPECT_LE(candidate.resources.registers, 168);
  EXPECT_EQ(candidate.resources.spillBytes, 0);
  EXPECT_EQ(candidate.resources.sharedBytes, 0);
  const tuner::Compiled original = compiler->compile({&manifest->kernels[0], sizes, std::nullopt});
  ASSERT_TRUE(original.ok) << original.log;
  EXPECT_NE(original.key, candidate.key);
}

TEST(Nvrtc, ReportsErrorsByTheUsersFiles) {
  REQUIRE_NVRTC();
  backend::NvrtcJob job;
  job.name = "x";
  job.source = "#line 7 \"user.cu\"\n__global__ void k() { undeclared(); }\n";
  const backend::NvrtcResult result = nvrtc()->compile(job);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.log.find("user.cu(7)"), std::string::npos) << result.log;
}

TEST(Nvrtc, ReadsTheLogOfPtxas) {
  const std::string log = "ptxas info    : Compiling entry function 'other' for 'sm_90'\n"
                          "ptxas info    : Used 8 registers\n"
                          "ptxas info    : Compiling entry function '_Z1kv' for 'sm_90'\n"
                          "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
                          "ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\n";
  const tuner::Resources resources = backend::parseResources(log, "_Z1kv");
  EXPECT_EQ(resources.registers, 40);
  EXPECT_EQ(resources.spillBytes, 32);
  EXPECT_EQ(resources.sharedBytes, 1024);
}
