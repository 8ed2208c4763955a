#include "retile/Tuner/Sizes.h"
#include "retile/Tuner/Space.h"

#include <gtest/gtest.h>

using namespace retile;
using namespace retile::tuner;
using manifest::Kernel;

static Kernel matmul() {
  Kernel kernel;
  kernel.id = "mm";
  for (const char* name : {"M", "N", "K"})
    kernel.sizes.push_back({name, "value", std::nullopt, 1, 1 << 20, ""});
  for (auto [name, extent] : {std::pair("A", "M * K"), std::pair("B", "K * N"), std::pair("C", "M * N")}) {
    kernel.tensors.push_back({});
    kernel.tensors.back().name = name;
    kernel.tensors.back().extent = extent;
  }
  kernel.flops = "2 * M * N * K";
  return kernel;
}

static DeviceInfo cpu() {
  DeviceInfo device;
  device.spec = "cpu";
  return device;
}

TEST(Sizes, ParsesTheCommandLine) {
  EXPECT_EQ(*parseSizes("A=1, B=22"), (Bindings{{"A", 1}, {"B", 22}}));
  for (const char* text : {"", "A", "A=", "=1", "A=x", "A=1,A=2", "A=1,,B=2", "A=99999999999999999999"})
    EXPECT_FALSE(parseSizes(text)) << text;
}

TEST(Sizes, KnowsNamesOfAnyKernel) {
  manifest::Manifest manifest;
  manifest.kernels.push_back(matmul());
  EXPECT_TRUE(checkSizeNames(manifest, {{"M", 1}}));
  Status unknown = checkSizeNames(manifest, {{"M", 1}, {"Q", 2}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "unknown size 'Q'");
  EXPECT_EQ(unknown.error().note, "known are K, M, N");
}

TEST(Sizes, FillsFourTimesTheCache) {
  DeviceInfo device;
  device.spec = "cuda:0";
  device.l2Bytes = 50 << 20;
  auto chosen = chooseSizes(matmul(), {}, device);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->sizes, (Bindings{{"M", 8192}, {"N", 8192}, {"K", 8192}}));
  EXPECT_NE(chosen->note.find("M=8192 N=8192 K=8192 for a working set of 768.0 MiB"), std::string::npos);
  EXPECT_EQ(chooseSizes(matmul(), {}, cpu())->sizes.at("M"), 512);
}

TEST(Sizes, PrefersWhatIsGivenThenTheCallSite) {
  Kernel kernel = matmul();
  kernel.sizes[1].defaultValue = 64;
  kernel.sizes[2].defaultValue = 32;
  auto chosen = chooseSizes(kernel, {{"M", 7}, {"N", 9}, {"other", 1}}, cpu());
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->sizes, (Bindings{{"M", 7}, {"N", 9}, {"K", 32}}));
  EXPECT_EQ(chosen->note, "K=32 from the call site");
}

TEST(Sizes, ChecksRangesAndAssumptions) {
  Kernel kernel = matmul();
  auto outside = chooseSizes(kernel, {{"M", 0}}, cpu());
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().message, "kernel 'mm': size M=0 is outside 1 to 1048576");
  kernel.assumptions.push_back({"size", "M % 3 == 0", {}, ""});
  EXPECT_FALSE(chooseSizes(kernel, {{"M", 4}, {"N", 1}, {"K", 1}}, cpu()));
  EXPECT_TRUE(chooseSizes(kernel, {{"M", 6}, {"N", 1}, {"K", 1}}, cpu()));
}

TEST(Sizes, SmallOnesAreQuickAndTelling) {
  auto list = smallSizes(matmul(), {}, cpu());
  ASSERT_GE(list.size(), 5u);
  EXPECT_EQ(list[0], (Bindings{{"M", 61}, {"N", 59}, {"K", 53}}));
  EXPECT_EQ(list[1], (Bindings{{"M", 63}, {"N", 65}, {"K", 63}}));
  for (const Bindings& sizes : list)
    EXPECT_LT(*workingSet(matmul(), sizes, cpu()), 64 << 20);
}

TEST(Sizes, SmallOnesMeetAssumptionsAndRanges) {
  Kernel kernel = matmul();
  kernel.assumptions.push_back({"size", "M % 32 == 0 && N == K", {}, ""});
  kernel.sizes[1].max = kernel.sizes[2].max = 40;
  auto list = smallSizes(kernel, {}, cpu());
  ASSERT_FALSE(list.empty());
  for (const Bindings& sizes : list) {
    EXPECT_EQ(sizes.at("M") % 32, 0);
    EXPECT_EQ(sizes.at("N"), sizes.at("K"));
    EXPECT_LE(sizes.at("N"), 40);
  }
}

TEST(Sizes, HugeExtentsHaveNoWorkingSet) {
  Kernel kernel = matmul();
  for (auto& size : kernel.sizes)
    size.max = INT64_MAX;
  EXPECT_FALSE(workingSet(kernel, {{"M", INT64_MAX}, {"N", 2}, {"K", 2}}, cpu()));
}
