#include "retile/Tuner/Session.h"
#include "FakeBackend.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>

using namespace retile;
using namespace retile::tuner;
using manifest::Kernel;

static Kernel kernel() {
  Kernel kernel;
  kernel.id = "k";
  kernel.sizes.push_back({"n", "value", std::nullopt, 1, 1 << 20, ""});
  kernel.parameters.push_back({"A", "", {1, 2, 4, 8, 16, 32}, 1});
  kernel.parameters.push_back({"B", "", {1, 2, 4, 8, 16, 32}, 1});
  return kernel;
}

static const RecordKey key{"k", "t", "r", "n=1000", "fake"};

class Session : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "/retile-session-" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
    for (const char* suffix : {"", "-wal", "-shm"})
      std::filesystem::remove(path + suffix);
    options.budget = {1000, 0};
    options.jobs = 2;
    options.strategy = "exhaustive";
  }

  TuneResult run() {
    auto records = Records::open(path, false);
    auto result = tune(backend, *records, key, subject, {{"n", 1000}}, options);
    EXPECT_TRUE(result);
    return *result;
  }

  std::string path;
  FakeBackend backend;
  Kernel subject = kernel();
  SessionOptions options;
};

TEST_F(Session, FindsTheFastest) {
  TuneResult result = run();
  EXPECT_EQ(result.legal, 36u);
  EXPECT_EQ(result.evaluated, 36u);
  EXPECT_EQ(result.verified, 36u);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(toString(*result.best), "A=4,B=4");
  EXPECT_DOUBLE_EQ(result.bestMs, 1);
  EXPECT_DOUBLE_EQ(result.speedup, 2);
}

TEST_F(Session, VerifiesAtSmallSizesBesidesTheTunedOnes) {
  run();
  EXPECT_TRUE(backend.sizesVerified.count("n=1000"));
  EXPECT_EQ(backend.sizesVerified.size(), 4u);
  EXPECT_EQ(backend.compiled, 37);
}

TEST_F(Session, CompilesAgainForMacroSizes) {
  subject.sizes[0].kind = "macro";
  run();
  EXPECT_EQ(backend.compiled, 4 * 37);
}

TEST_F(Session, KeepsTheOriginalUnlessFasterBeyondNoise) {
  backend.originalMs = 1.004;
  TuneResult result = run();
  EXPECT_FALSE(result.best);
  EXPECT_EQ(result.speedup, 1);
  EXPECT_EQ(result.bestMs, result.originalMs);
}

TEST_F(Session, PrefersTheIdentityOnATie) {
  backend.time = [](const Config&) { return 1.0; };
  TuneResult result = run();
  ASSERT_TRUE(result.best);
  EXPECT_EQ(toString(*result.best), "A=1,B=1");
}

TEST_F(Session, NeverMeasuresWhatDoesNotVerify) {
  backend.judge = [](const Config& config, const Bindings& sizes) {
    return config.at("A") == 4 && sizes.at("n") != 1000 ? Outcome::Mismatch : Outcome::Ok;
  };
  TuneResult result = run();
  EXPECT_EQ(result.mismatched, 6u);
  EXPECT_EQ(result.verified, 30u);
  EXPECT_EQ(result.firstMismatch.substr(0, 11), "because (at");
  EXPECT_EQ(result.best->at("A"), 2 + 6 * (result.best->at("A") == 8));
  for (const std::string& config : backend.measuredConfigs)
    EXPECT_EQ(config.find("A=4"), std::string::npos);
}

TEST_F(Session, RecordsFailuresByKind) {
  backend.compiles = [](const Config& config) { return config.at("A") != 32; };
  backend.judge = [](const Config& config, const Bindings&) {
    return config.at("A") == 16 ? Outcome::Timeout : Outcome::Ok;
  };
  backend.launch = [](const Config& config) {
    return config.at("A") == 8 ? Outcome::LaunchError : Outcome::Ok;
  };
  TuneResult result = run();
  EXPECT_EQ(result.failed, 18u);
  EXPECT_EQ(result.outcomes[Outcome::CompileError], 6u);
  EXPECT_EQ(result.outcomes[Outcome::Timeout], 6u);
  EXPECT_EQ(result.outcomes[Outcome::LaunchError], 6u);
  EXPECT_EQ(result.outcomes[Outcome::Ok], 18u);
  ASSERT_TRUE(result.best);
}

TEST_F(Session, SaysWhenTheDeviceCannot) {
  backend.judge = [](const Config&, const Bindings&) { return Outcome::Unsupported; };
  EXPECT_EQ(run().unsupported, "because");
}

TEST_F(Session, SaysWhenNothingIsLegal) {
  subject.constraints.push_back({"A > 100", "too small"});
  EXPECT_EQ(run().failure, "no legal configuration at n=1000: A > 100: too small");
}

TEST_F(Session, StopsAtItsBudget) {
  options.budget = {10, 0};
  EXPECT_EQ(run().evaluated, 10u);
}

TEST_F(Session, StopsWhenAsked) {
  std::atomic<bool> stop = false;
  options.stop = &stop;
  options.onProgress = [&](const Progress& progress) { stop = progress.done >= 5; };
  TuneResult result = run();
  EXPECT_EQ(result.evaluated, 5u);
  EXPECT_TRUE(result.best);
}

TEST_F(Session, ResumesFromRecords) {
  TuneResult first = run();
  int verified = backend.verified;
  TuneResult second = run();
  EXPECT_EQ(backend.verified, verified);
  EXPECT_EQ(toString(*second.best), toString(*first.best));
  EXPECT_EQ(second.evaluated, 36u);
}

TEST_F(Session, LosesAtMostTheCandidateInFlightWhenKilled) {
  pid_t child = ::fork();
  if (child == 0) {
    options.onProgress = [](const Progress& progress) {
      if (progress.done == 20)
        ::raise(SIGKILL);
    };
    run();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  TuneResult result = run();
  EXPECT_EQ(result.evaluated, 36u);
  EXPECT_EQ(backend.measured, 1 + 16);
  EXPECT_EQ(toString(*result.best), "A=4,B=4");
}

TEST(Budget, ReadsTimesAndCounts) {
  EXPECT_EQ(Budget::parse("500")->evaluations, 500u);
  EXPECT_EQ(Budget::parse("60s")->seconds, 60);
  EXPECT_EQ(Budget::parse("2m")->seconds, 120);
  EXPECT_EQ(Budget::parse("1h")->seconds, 3600);
  for (const char* text : {"", "s", "0", "-1", "1.5s", "10x", "99999999999"})
    EXPECT_FALSE(Budget::parse(text)) << text;
}
