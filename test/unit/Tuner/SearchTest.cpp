#include "retile/Tuner/Search.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

using namespace retile;
using namespace retile::tuner;
using manifest::Kernel;

/// The parameters and constraints of a tiled SGEMM.
static Kernel gemm() {
  Kernel kernel;
  kernel.id = "gemm";
  auto add = [&](const char* name, std::vector<std::int64_t> values, std::int64_t original) {
    kernel.parameters.push_back({name, "", values, original});
  };
  add("TILE_I", {16, 32, 64, 128, 256}, 16);
  add("TILE_J", {16, 32, 64, 128, 256}, 16);
  add("TILE_K", {4, 8, 16, 32, 64}, 16);
  add("ITEMS_I", {1, 2, 4, 8, 16}, 1);
  add("ITEMS_J", {1, 2, 4, 8, 16}, 1);
  add("STAGE_A", {0, 1, 2, 3}, 1);
  add("STAGE_B", {0, 1, 2, 3}, 1);
  add("VECTOR_A", {1, 2, 4}, 1);
  add("VECTOR_B", {1, 2, 4}, 1);
  add("PAD", {0, 4}, 0);
  add("UNROLL", {1, 4, 8}, 1);
  for (const char* text :
       {"TILE_I % ITEMS_I == 0", "TILE_J % ITEMS_J == 0", "TILE_K % UNROLL == 0", "TILE_K % VECTOR_A == 0",
        "(TILE_I / ITEMS_I) * (TILE_J / ITEMS_J) >= 64", "STAGE_A > 0 || VECTOR_A == 1",
        "STAGE_B > 0 || VECTOR_B == 1", "STAGE_A > 0 || STAGE_B > 0 || PAD == 0", "ITEMS_I * ITEMS_J <= 128",
        "4 * TILE_K * (STAGE_A * (TILE_I + PAD) + STAGE_B * (TILE_J + PAD)) <= MAX_SHARED"})
    kernel.constraints.push_back({text, ""});
  kernel.launch.block[0] = "(TILE_I / ITEMS_I) * (TILE_J / ITEMS_J)";
  return kernel;
}

/// Milliseconds with the shape that real kernels have: interactions, cliffs and a ripple; nullopt where
/// registers run out.
static std::optional<double> gemmTime(const Config& c) {
  auto at = [&](const char* name) { return static_cast<double>(c.at(name)); };
  double registers = at("ITEMS_I") * at("ITEMS_J") + at("ITEMS_I") + at("ITEMS_J") + 24;
  if (registers > 160)
    return std::nullopt;
  double threads = at("TILE_I") / at("ITEMS_I") * at("TILE_J") / at("ITEMS_J");
  double traffic =
      (at("STAGE_A") > 0 ? 1 / at("TILE_J") : 0.15) + (at("STAGE_B") > 0 ? 1 / at("TILE_I") : 0.12);
  double shared = (1 / at("ITEMS_I") + 1 / at("ITEMS_J")) * (at("PAD") > 0 ? 1 : 1.15);
  double occupancy = std::min(1.0, 65536 / registers / threads / 4) * std::min(1.0, threads / 128);
  double overlap = at("STAGE_A") > 1 && at("STAGE_B") > 1 ? 0.88 : 1;
  double loads = 1 + 0.1 / at("VECTOR_A") + 0.1 / at("VECTOR_B");
  double loop = 1 + 0.6 / at("TILE_K") + 0.08 / at("UNROLL");
  double ripple =
      1 + 0.02 * std::sin(at("TILE_I") * 0.7 + at("TILE_J") * 1.3 + at("ITEMS_I") * 2.1 + at("TILE_K"));
  return (0.35 + 30 * traffic + 0.9 * shared) * overlap * loads * loop * ripple / std::pow(occupancy, 0.4);
}

/// Runs a strategy as the session does, `depth` proposals ahead of the answers; the best time, and what was
/// proposed.
static std::pair<double, std::vector<std::string>> drive(const std::string& name, const Space& space,
                                                         std::uint64_t seed, std::uint64_t budget,
                                                         std::size_t depth) {
  auto strategy = makeStrategy(name, space, {seed, budget});
  std::deque<Config> pending;
  std::vector<std::string> proposed;
  double best = 1e30;
  for (;;) {
    while (pending.size() < depth && proposed.size() < budget) {
      Proposal proposal =
          (*strategy)->ask(static_cast<double>(proposed.size()) / static_cast<double>(budget));
      if (proposal.kind != Proposal::Kind::Try)
        break;
      EXPECT_TRUE(space.contains(proposal.config));
      proposed.push_back(toString(proposal.config));
      pending.push_back(proposal.config);
    }
    if (pending.empty())
      return {best, proposed};
    auto ms = gemmTime(pending.front());
    best = std::min(best, ms.value_or(best));
    (*strategy)->tell(pending.front(), ms);
    pending.pop_front();
  }
}

class EachStrategy : public testing::TestWithParam<std::string> {};

TEST_P(EachStrategy, StartsWithTheIdentityAndNeverRepeats) {
  auto space = Space::open(gemm(), {}, {});
  ASSERT_TRUE(space) << space.error().message;
  for (std::size_t depth : {1, 5}) {
    auto [best, proposed] = drive(GetParam(), *space, 3, 300, depth);
    EXPECT_EQ(proposed.size(), 300u);
    EXPECT_EQ(proposed.front(), toString(space->identity()));
    EXPECT_EQ(std::set<std::string>(proposed.begin(), proposed.end()).size(), proposed.size());
  }
}

TEST_P(EachStrategy, Replays) {
  auto space = Space::open(gemm(), {}, {});
  EXPECT_EQ(drive(GetParam(), *space, 3, 200, 3).second, drive(GetParam(), *space, 3, 200, 3).second);
  EXPECT_NE(drive(GetParam(), *space, 3, 200, 3).second, drive(GetParam(), *space, 4, 200, 3).second);
}

TEST_P(EachStrategy, ExhaustsASmallSpace) {
  Kernel kernel = gemm();
  for (auto& parameter : kernel.parameters)
    parameter.values = {parameter.original};
  kernel.parameters[0].values = {16, 32, 64};
  kernel.parameters[2].values = {8, 16, 32};
  auto space = Space::open(kernel, {}, {});
  ASSERT_EQ(space->count(), 9u);
  EXPECT_EQ(drive(GetParam(), *space, 1, 1000, 4).second.size(), 9u);
}

TEST_P(EachStrategy, EndsWhereEverythingFails) {
  Kernel kernel;
  kernel.parameters.push_back({"a", "", {1, 2, 3, 4, 5}, 1});
  auto space = Space::open(kernel, {}, {});
  auto strategy = makeStrategy(GetParam(), *space, {1, 0});
  for (int i = 0; i < 5; ++i) {
    Proposal proposal = (*strategy)->ask(0.5);
    ASSERT_EQ(proposal.kind, Proposal::Kind::Try);
    (*strategy)->tell(proposal.config, std::nullopt);
  }
  EXPECT_EQ((*strategy)->ask(0.5).kind, Proposal::Kind::Done);
}

static std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const StrategyInfo& info : strategies())
    list.push_back(info.name);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Search, EachStrategy, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

TEST(Search, AutoEndsNearTheOptimum) {
  auto space = Space::open(gemm(), {}, {});
  ASSERT_GT(space->count(), 10'000u);
  double optimum = 1e30;
  for (std::uint64_t i = 0; i < space->count(); ++i)
    optimum = std::min(optimum, gemmTime(space->at(i)).value_or(optimum));
  double worst = 0, sum = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    double ratio = drive("auto", *space, seed, 400, 3).first / optimum;
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  RecordProperty("mean", fmt::format("{:.3f}", sum / 20));
  RecordProperty("worst", fmt::format("{:.3f}", worst));
  EXPECT_LT(sum / 20, 1.03);
  EXPECT_LT(worst, 1.07);
}

TEST(Search, AutoIsExhaustiveWhenTheBudgetCoversTheSpace) {
  auto space = Space::open(gemm(), {}, {});
  std::string exhaustive = (*makeStrategy("exhaustive", *space, {}))->about();
  EXPECT_EQ((*makeStrategy("auto", *space, {1, space->count()}))->about(), exhaustive);
  EXPECT_NE((*makeStrategy("auto", *space, {1, 100}))->about(), exhaustive);
}

TEST(Search, RefusesUnknownNames) {
  auto space = Space::open(gemm(), {}, {});
  auto strategy = makeStrategy("magic", *space, {});
  ASSERT_FALSE(strategy);
  EXPECT_EQ(strategy.error().message, "unknown strategy 'magic'");
}
