#include "retile/Report/Report.h"
#include "retile/Support/File.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace retile;
using namespace retile::report;

static constexpr const char* nvcc = "/usr/local/cuda/bin/nvcc";

class TunedHeader : public testing::Test {
protected:
  void SetUp() override {
    manifest = *manifest::load(RETILE_FIXTURES "/axpy");
    kernel = &manifest.kernels[0];
    device.spec = "cuda:0";
    device.name = "NVIDIA H200";
    device.arch = "sm_90";
    tuned.kernel = kernel;
    tuned.sizes = {{"n", 1000000}};
    tuned.best = {{"BLOCK", 128}, {"ITEMS", 4}};
    tuned.speedup = 2;
  }

  std::string header() { return *tunedHeader(manifest, {tuned}, device); }

  void expectContains(const std::string& text) {
    std::string all = header();
    EXPECT_NE(all.find(text), std::string::npos) << "'" << text << "' is not in\n" << all;
  }

  void expectLacks(const std::string& text) {
    std::string all = header();
    EXPECT_EQ(all.find(text), std::string::npos) << "'" << text << "' is in\n" << all;
  }

  /// Compiles the original, `before`, the header, and a call of the dispatcher.
  void expectCompiles(const std::string& call, const std::string& before = "") {
    if (!std::filesystem::exists(nvcc))
      GTEST_SKIP() << "no nvcc";
    // Tests run side by side: each has a directory of its own.
    std::string directory = testing::TempDir() + "/retile-tuned-header-" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory);
    std::filesystem::copy(RETILE_FIXTURES "/axpy", directory);
    std::filesystem::copy(RETILE_SOURCE_DIR "/device/retile.cuh", directory + "/retile.cuh");
    ASSERT_TRUE(writeTuned(directory, manifest, {tuned}, device, std::nullopt));
    std::string source = before + "#include \"axpy.reference.cu\"\n#include \"tuned/axpy.tuned.cuh\"\n" +
                         "void run(float* x, float* y, cudaStream_t stream) {\n  " + call + "\n}\n";
    ASSERT_TRUE(writeFileAtomically(directory + "/main.cu", source));
    std::string log = directory + "/log";
    std::string command = std::string(nvcc) + " -arch=sm_90 -std=c++17 -Werror all-warnings -c -o " +
                          directory + "/main.o " + directory + "/main.cu > " + log + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << *readFile(log);
  }

  manifest::Manifest manifest;
  manifest::Kernel* kernel = nullptr;
  tuner::DeviceInfo device;
  tuner::TuneResult tuned;
};

TEST_F(TunedHeader, TestsEveryAssumption) {
  expectContains(
      "inline void axpy(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream,\n    int arg_n,");
  expectContains("size_n == 1000000LL");
  expectContains("size_n > 500000LL && size_n < 2000000LL");
  expectContains("retile::host::isDevice(9, 0)");
  expectContains("retile::host::disjoint(retile::host::address(arg_x, 0LL * 4), size_n * 4");
  expectContains("(((static_cast<long long>(grid.x) * static_cast<long long>(block.x)) >= size_n)) != 0");
  expectContains("retile::host::aligned(retile::host::address(arg_x, 0LL * 4), 4LL)");
  expectContains("(((128LL * 4LL) <= 4096LL)) != 0");
  expectContains("::retile_tuned_axpy::axpy<128, 4>;");
  expectContains("  ::axpy<<<grid, block, shared, stream>>>(arg_n, arg_a, arg_x, arg_y);\n}");
}

TEST_F(TunedHeader, Compiles) {
  expectCompiles("retile::axpy(dim3(4), dim3(256), 0, stream, 1000, 2.0f, x, y);");
}

TEST_F(TunedHeader, CompilesWithoutAnInstance) {
  tuned.best.reset();
  expectLacks("retile_tuned_axpy");
  expectContains("nothing was faster than the original");
  expectCompiles("retile::axpy(4, 256, 0, stream, 1000, 2.0f, x, y);");
}

TEST_F(TunedHeader, RequiresTheModelledLaunchWithoutCovers) {
  expectLacks("retile::host::equals(grid");
  std::erase_if(kernel->assumptions, [](auto& assumption) { return assumption.kind == "covers"; });
  expectContains("retile::host::equals(grid, retile::host::ceildiv(size_n, 256LL), 1LL, 1LL)");
  expectContains("retile::host::equals(block, 256LL, 1LL, 1LL)");
  expectCompiles("retile::axpy(4, 256, 0, stream, 1000, 2.0f, x, y);");
}

TEST_F(TunedHeader, ServesOnlyTheTunedLaunchWhenASizeIsHidden) {
  kernel->arguments[0].value = "n * 2";
  expectLacks("< 2000000LL");
  expectContains("retile::host::equals(arg_n, (1000000LL * 2LL))");
  expectContains("retile::host::equals(grid, retile::host::ceildiv(1000000LL, 256LL), 1LL, 1LL)");
  expectCompiles("retile::axpy(4, 256, 0, stream, 1000, 2.0f, x, y);");
}

TEST_F(TunedHeader, ChecksDerivedArgumentsAndOffsets) {
  kernel->sizes[0].kind = "macro";
  kernel->arguments[0].value = "min(n, 100)";
  kernel->arguments[2].offset = "n / 2";
  expectContains("if (static_cast<long long>(n) == 1000000LL)");
  expectContains("retile::host::equals(arg_n, retile::host::minimum(static_cast<long long>(n), 100LL))");
  expectContains("retile::host::address(arg_x, retile::host::floordiv(static_cast<long long>(n), 2LL) * 4)");
}

TEST_F(TunedHeader, NeverDispatchesOnTensorsItCannotSee) {
  kernel->tensors.push_back(kernel->tensors[0]);
  kernel->tensors.back().name = "hidden";
  kernel->assumptions[0].tensors[1] = "hidden";
  expectContains("std::uintptr_t(0)");
  kernel->tensors.back().symbol = "table";
  expectContains("retile::host::symbolAddress(::table)");
  expectCompiles("retile::axpy(4, 256, 0, stream, 1000, 2.0f, x, y);", "__device__ float table[64];\n");
}

TEST_F(TunedHeader, SaysNothingAboutAGpuFromTheCpu) {
  device.arch = "x86_64-linux-gnu";
  expectLacks("retile_tuned_axpy");
  expectContains("tuned on the CPU device");
}

TEST_F(TunedHeader, NamesKernelsApart) {
  EXPECT_EQ(dispatcherName(manifest, *kernel), "retile::axpy");
  kernel->kernel = "blas::axpy<float, (1 > 0)>";
  EXPECT_EQ(dispatcherName(manifest, *kernel), "retile::axpy");
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.kernels[1].id = "axpy-1f";
  EXPECT_EQ(dispatcherName(manifest, manifest.kernels[1]), "retile::axpy_1f");
}
