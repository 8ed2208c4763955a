#include "retile/Tuner/VerifyOnly.h"
#include "FakeBackend.h"

#include <gtest/gtest.h>

using namespace retile;
using namespace retile::tuner;

static manifest::Kernel kernel() {
  manifest::Kernel kernel;
  kernel.id = "k";
  kernel.sizes.push_back({"n", "value", std::nullopt, 1, 1 << 20, ""});
  kernel.parameters.push_back({"A", "", {1, 2, 4, 8}, 2});
  kernel.parameters.push_back({"B", "", {1, 2, 4, 8}, 2});
  kernel.constraints.push_back({"A <= B", ""});
  return kernel;
}

TEST(VerifyOnly, DrawsDistinctConfigurationsAtMostAll) {
  FakeBackend backend;
  auto subject = kernel();
  VerifyReport some = verifyOnly(backend, subject, {{"n", 7}}, {4, 1, 2});
  EXPECT_EQ(some.valid, 10u);
  EXPECT_EQ(some.verified, 4u);
  VerifyReport all = verifyOnly(backend, subject, {{"n", 7}}, {100, 1, 2});
  EXPECT_EQ(all.verified, 10u);
  EXPECT_EQ(backend.sizesVerified, (std::set<std::string>{"n=7"}));
  EXPECT_EQ(backend.measured, 0);
}

TEST(VerifyOnly, CountsMismatchesAndFailures) {
  FakeBackend backend;
  backend.compiles = [](const Config& config) { return config.at("A") != 4; };
  backend.judge = [](const Config& config, const Bindings&) {
    return config.at("A") == 1 ? Outcome::Mismatch : Outcome::Ok;
  };
  auto subject = kernel();
  VerifyReport report = verifyOnly(backend, subject, {{"n", 7}}, {100, 1, 1});
  EXPECT_EQ(report.mismatched, 4u);
  EXPECT_EQ(report.failed, 2u);
  EXPECT_EQ(report.verified, 4u);
  EXPECT_EQ(report.details.size(), 5u);
  EXPECT_TRUE(report.unsupported.empty());
}

TEST(VerifyOnly, PassesOnWhatTheDeviceCannot) {
  FakeBackend backend;
  backend.judge = [](const Config&, const Bindings&) { return Outcome::Unsupported; };
  auto subject = kernel();
  VerifyReport report = verifyOnly(backend, subject, {{"n", 7}}, {3, 1, 1});
  EXPECT_EQ(report.unsupported, "because");
  EXPECT_EQ(report.verified + report.failed + report.mismatched, 0u);
}

TEST(VerifyOnly, RunsNothingWithoutTestData) {
  FakeBackend backend;
  auto subject = kernel();
  subject.untestable = "a loaded subscript";
  VerifyReport report = verifyOnly(backend, subject, {{"n", 7}}, {3, 1, 1});
  EXPECT_EQ(report.unsupported, "no test data: a loaded subscript");
  EXPECT_EQ(report.verified + report.failed + report.mismatched, 0u);
  EXPECT_TRUE(backend.sizesVerified.empty());
}

TEST(VerifyOnly, ExplainsAnEmptySpace) {
  FakeBackend backend;
  auto subject = kernel();
  subject.constraints.push_back({"n % 2 == 0", "pairs"});
  VerifyReport report = verifyOnly(backend, subject, {{"n", 7}}, {3, 1, 1});
  EXPECT_EQ(report.valid, 0u);
  ASSERT_EQ(report.details.size(), 1u);
  EXPECT_EQ(report.details[0], "no legal configuration: n % 2 == 0: pairs");
}
