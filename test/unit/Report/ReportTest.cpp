#include "retile/Report/Report.h"
#include "retile/Support/File.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace retile;
using namespace retile::report;

class Report : public testing::Test {
protected:
  void SetUp() override {
    manifest = *manifest::load(RETILE_FIXTURES "/axpy");
    device.spec = "cuda:0";
    device.name = "NVIDIA H200";
    device.arch = "sm_90";
    tuner::TuneResult tuned;
    tuned.kernel = &manifest.kernels[0];
    tuned.sizes = {{"n", 1000000}};
    tuned.originalMs = 0.02;
    tuned.bestMs = 0.01;
    tuned.speedup = 2;
    tuned.best = {{"BLOCK", 128}, {"ITEMS", 4}};
    tuned.evaluated = 12;
    tuned.verified = 9;
    tuned.mismatched = 1;
    tuned.failed = 2;
    tuned.outcomes = {{tuner::Outcome::Ok, 9}, {tuner::Outcome::Timeout, 2}, {tuner::Outcome::Mismatch, 1}};
    tuner::TuneResult kept = tuned;
    kept.sizes = {{"n", 100}};
    kept.best.reset();
    kept.bestMs = kept.originalMs;
    kept.speedup = 1;
    results = {tuned, kept};
  }

  manifest::Manifest manifest;
  tuner::DeviceInfo device;
  std::vector<tuner::TuneResult> results;
};

TEST_F(Report, ComputesRates) {
  Rates rates = ratesOf(manifest.kernels[0], {{"n", 1000000}}, device, 0.01, 2.4e12);
  EXPECT_DOUBLE_EQ(*rates.gigabytes, 1200);
  EXPECT_DOUBLE_EQ(*rates.gigaflops, 200);
  EXPECT_DOUBLE_EQ(*rates.roofline, 0.5);
  EXPECT_FALSE(ratesOf(manifest.kernels[0], {{"n", 1}}, device, 0.01, std::nullopt).roofline);
  manifest.kernels[0].flops.reset();
  EXPECT_FALSE(ratesOf(manifest.kernels[0], {{"n", 1}}, device, 0.01, 1e12).gigaflops);
}

TEST_F(Report, PrintsATable) {
  results.push_back(results[0]);
  results[2].unsupported = "inline PTX";
  EXPECT_EQ(
      table(results, device, 2.4e12),
      "kernel  sizes      original ms  best ms  speed-up  GB/s  GFLOP/s  of copy  configuration\n"
      "axpy    n=1000000         0.02     0.01     2.00x  1200      200      50%  BLOCK=128,ITEMS=4\n"
      "axpy    n=100             0.02     0.02     1.00x  0.06     0.01       0%  identity\n"
      "axpy    n=1000000            -        -         -     -        -        -  unsupported: inline PTX\n");
}

TEST_F(Report, SummarisesWithTheGeometricMean) {
  EXPECT_EQ(summaryLine(results), "verified=18 mismatched=2 failed=4 speedup=1.41");
  EXPECT_EQ(summaryLine({}), "verified=0 mismatched=0 failed=0 speedup=1.00");
}

TEST_F(Report, PrintsJsonLines) {
  auto json = nlohmann::json::parse(jsonLine(results[0], device, std::nullopt));
  EXPECT_EQ(json["config"]["BLOCK"], 128);
  EXPECT_EQ(json["speedup"], 2.0);
  EXPECT_EQ(json["outcomes"]["timeout"], 2);
  EXPECT_TRUE(json["copyShare"].is_null());
  tuner::VerifyReport verified{10, 7, 1, 2, "", {"a \xff"}};
  std::string line = jsonLine(manifest.kernels[0], verified);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  json = nlohmann::json::parse(line);
  EXPECT_EQ(json["kernel"], "axpy");
  EXPECT_EQ(json["valid"], 10);
  EXPECT_FALSE(json.contains("unsupported"));
}

TEST_F(Report, WritesTheTunedFolder) {
  std::string directory = testing::TempDir() + "/retile-report";
  std::filesystem::remove_all(directory);
  std::filesystem::copy(RETILE_FIXTURES "/axpy", directory);
  ASSERT_TRUE(writeFileAtomically(directory + "/retile.cuh", "// helpers"));
  ASSERT_TRUE(writeTuned(directory, manifest, results, device, 1e12));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/tuned"))
    names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"axpy.cuh", "axpy.tuned.cuh", "result.json", "retile.cuh"}));
  auto json = nlohmann::json::parse(*readFile(directory + "/tuned/result.json"));
  EXPECT_EQ(json["results"].size(), 2u);
}
