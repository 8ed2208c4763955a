// The CUDA backend over a fake driver: everything but NVRTC's code and the arithmetic of a GPU.
#include "TemporaryKernel.h"

#include "lib/Tuner/Backend/CudaBackend.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <dlfcn.h>

using namespace retile;
using backend::CudaBackend;
using test::TemporaryKernel;
using tuner::Outcome;

namespace {

class CudaBackendTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (dlopen("libcuda.so.1", RTLD_LAZY))
      GTEST_SKIP() << "this machine has a real driver; retile-selftest covers it";
    setenv("CUDA_HOME", RETILE_FAKE_CUDA, 1);
    tuner::BackendOptions options;
    options.directory = sample.folder;
    auto opened = CudaBackend::open(options, 0);
    if (!opened)
      GTEST_SKIP() << opened.error().message;
    device = *std::move(opened);
  }

  /// A "module" that runs the fake kernel of this name.
  static tuner::Compiled compiled(const std::string& name) {
    auto binary = std::make_shared<backend::CudaBinary>();
    binary->image = "fake";
    binary->entry = name;
    binary->symbols = {"", ""};
    tuner::Compiled result;
    result.ok = true;
    result.key = name;
    result.binary = binary;
    return result;
  }
  tuner::VerifyResult verify(const std::string& name, std::int64_t n = 1000) {
    return device->verify(sample.candidate({{"n", n}}), compiled(name), compiled("original"), 7);
  }

  TemporaryKernel sample{"", ""};
  std::unique_ptr<CudaBackend> device;
};

} // namespace

TEST_F(CudaBackendTest, DescribesTheDevice) {
  EXPECT_EQ(device->info().spec, "cuda:0");
  EXPECT_EQ(device->info().arch, "sm_90");
  EXPECT_EQ(device->info().maxSharedPerBlock, 232448);
}

TEST_F(CudaBackendTest, AcceptsTheSameResults) {
  for (const std::int64_t n : {1, 1000, 4096, 1001}) {
    const auto result = verify("same", n);
    EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
  }
}

TEST_F(CudaBackendTest, FindsDifferences) {
  auto result = verify("wrong");
  EXPECT_EQ(result.outcome, Outcome::Mismatch);
  EXPECT_EQ(result.detail.rfind("out[5]: ", 0), 0u) << result.detail;
  result = verify("rounded");
  EXPECT_EQ(result.outcome, Outcome::Mismatch) << result.detail;
  result = verify("forgets");
  EXPECT_EQ(result.outcome, Outcome::Mismatch);
  result = verify("overruns", 1001);
  EXPECT_NE(result.detail.find("writes past the end of out"), std::string::npos) << result.detail;
  result = verify("underruns");
  EXPECT_NE(result.detail.find("writes before out"), std::string::npos) << result.detail;
  result = verify("input");
  EXPECT_NE(result.detail.find("changes its input in[3]"), std::string::npos) << result.detail;
  result = verify("same");
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.detail;
}

TEST_F(CudaBackendTest, AppliesTheErrorRule) {
  sample.kernel.verify.klass = "error";
  sample.kernel.verify.terms = "n";
  EXPECT_EQ(verify("rounded").outcome, Outcome::Ok);
  EXPECT_EQ(verify("wrong").outcome, Outcome::Mismatch);
}

TEST_F(CudaBackendTest, SurvivesWhatKillsAWorker) {
  EXPECT_EQ(verify("dies").outcome, Outcome::Crash);
  EXPECT_EQ(verify("same").outcome, Outcome::Ok);
  const auto fault = verify("faults");
  EXPECT_EQ(fault.outcome, Outcome::Crash);
  EXPECT_NE(fault.detail.find("CUDA_ERROR_FAKE"), std::string::npos) << fault.detail;
  EXPECT_EQ(verify("same").outcome, Outcome::Ok);
  EXPECT_EQ(verify("missing").outcome, Outcome::LaunchError);
  EXPECT_EQ(verify("same").outcome, Outcome::Ok);
}

TEST_F(CudaBackendTest, StopsAHangWhileMeasuring) {
  tuner::MeasureOptions options;
  options.deadlineMs = 10;
  const auto start = std::chrono::steady_clock::now();
  const auto result = device->measure(sample.candidate({{"n", 64}}), compiled("hangs"), 1, options);
  EXPECT_EQ(result.outcome, Outcome::Timeout) << result.detail;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(device->measure(sample.candidate({{"n", 64}}), compiled("same"), 1, {}).outcome, Outcome::Ok);
}

TEST_F(CudaBackendTest, Measures) {
  const tuner::Candidate candidate = sample.candidate({{"n", 64}});
  const auto one = device->measure(candidate, compiled("same"), 1, {});
  ASSERT_EQ(one.outcome, Outcome::Ok) << one.detail;
  EXPECT_NEAR(one.medianMs, 1.0, 1e-3);
  EXPECT_GE(one.repetitions, 5);
  tuner::MeasureOptions giveUp;
  giveUp.giveUpAboveMs = 0.5;
  EXPECT_EQ(device->measure(candidate, compiled("same"), 1, giveUp).repetitions, 3);
  tuner::MeasureOptions cold;
  cold.coldCache = true;
  const auto [a, b] = device->measurePair(candidate, compiled("same"), candidate, compiled("slow"), 1, cold);
  EXPECT_NEAR(b.medianMs / a.medianMs, 2.0, 1e-3);
  EXPECT_TRUE(device->copyBandwidth());
}

TEST_F(CudaBackendTest, RefusesImpossibleLaunches) {
  sample.kernel.launch.shared = "300000";
  EXPECT_EQ(verify("same").outcome, Outcome::LaunchError);
  sample.kernel.launch.shared = "0";
  sample.kernel.launch.block[0] = "768";
  EXPECT_EQ(verify("same").outcome, Outcome::LaunchError);
  sample.kernel.tensors[1].extent = "n * 1000000000";
  EXPECT_EQ(verify("same").outcome, Outcome::Unsupported);
}
