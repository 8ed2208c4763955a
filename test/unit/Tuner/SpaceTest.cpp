#include "retile/Tuner/Space.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

using namespace retile;
using namespace retile::tuner;
using manifest::Kernel;

static Kernel kernelOf(std::vector<std::pair<std::string, std::vector<std::int64_t>>> domains,
                       std::vector<std::string> constraints) {
  Kernel kernel;
  kernel.id = "k";
  for (auto& [name, values] : domains)
    kernel.parameters.push_back({name, "", values, values.front()});
  for (auto& constraint : constraints)
    kernel.constraints.push_back({constraint, ""});
  return kernel;
}

/// All legal configurations by trying every combination.
static std::set<std::string> bruteForce(const Kernel& kernel, const Bindings& sizes,
                                        const DeviceInfo& device) {
  std::set<std::string> legal;
  std::function<void(std::size_t, Config&)> recurse = [&](std::size_t at, Config& config) {
    if (at < kernel.parameters.size()) {
      for (std::int64_t value : kernel.parameters[at].values) {
        config[kernel.parameters[at].name] = value;
        recurse(at + 1, config);
      }
      return;
    }
    Bindings bindings = deviceBindings(sizes, device);
    bindings.insert(config.begin(), config.end());
    for (const auto& constraint : kernel.constraints) {
      auto value = manifest::Expression::parse(constraint.expr)->evaluate(bindings);
      if (!value || *value == 0)
        return;
    }
    legal.insert(toString(config));
  };
  Config config;
  recurse(0, config);
  return legal;
}

static void expectSame(const Kernel& kernel, const Bindings& sizes = {}) {
  DeviceInfo device;
  auto expected = bruteForce(kernel, sizes, device);
  auto space = Space::open(kernel, sizes, device);
  ASSERT_TRUE(space) << space.error().message;
  ASSERT_EQ(space->count(), expected.size());
  std::set<std::string> found;
  for (std::uint64_t i = 0; i < space->count(); ++i) {
    Config config = space->at(i);
    EXPECT_TRUE(space->contains(config));
    found.insert(toString(config));
  }
  EXPECT_EQ(found, expected);
}

TEST(Space, AgreesWithBruteForceOnRandomConstraints) {
  std::mt19937_64 random(11);
  static const char* patterns[] = {
      "{0} % {1} == 0", "{0} * {1} <= 32",        "{0} + {1} > {2}", "{0} != {1} || {2} == 1",
      "{0} / {1} >= 1", "({0} - {1}) % {2} == 0", "{0} <= N",        "{0} * {1} * {2} % 3 != 1"};
  for (int round = 0; round < 150; ++round) {
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> domains;
    std::size_t count = 1 + random() % 5;
    for (std::size_t i = 0; i < count; ++i) {
      domains.push_back({fmt::format("p{}", i), {}});
      for (std::int64_t value = 0, n = 1 + static_cast<std::int64_t>(random() % 5); value < n; ++value)
        domains.back().second.push_back(value * (i % 2 ? 1 : 2));
    }
    std::vector<std::string> constraints;
    for (std::size_t i = random() % 5; i > 0; --i) {
      auto name = [&] { return fmt::format("p{}", random() % count); };
      constraints.push_back(
          fmt::format(fmt::runtime(patterns[random() % std::size(patterns)]), name(), name(), name()));
    }
    expectSame(kernelOf(domains, constraints), {{"N", 3}});
  }
}

TEST(Space, WithoutParametersHasOnePoint) {
  expectSame(kernelOf({}, {}));
  auto empty = Space::open(kernelOf({}, {"1 == 2"}), {}, {});
  EXPECT_EQ(empty->count(), 0u);
  EXPECT_FALSE(empty->contains({}));
}

TEST(Space, FitsLaunchesToTheDevice) {
  Kernel kernel = kernelOf({{"B", {0, 32, 1024, 2048}}, {"S", {0, 48, 100}}}, {});
  kernel.launch.block[0] = "B";
  kernel.launch.grid[0] = "N / B";
  kernel.launch.shared = "S * 1024";
  auto space = Space::open(kernel, {{"N", 4096}}, {});
  ASSERT_TRUE(space);
  EXPECT_EQ(space->count(), 4u);
  EXPECT_FALSE(space->contains({{"B", 2048}, {"S", 0}}));
  EXPECT_FALSE(space->contains({{"B", 32}, {"S", 100}}));
  EXPECT_EQ(space->explain({{"B", 32}, {"S", 100}}),
            "(S * 1024) <= MAX_SHARED: the device's shared memory a block");
}

TEST(Space, CountsIndependentGroupsWithoutListingThem) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> domains;
  std::vector<std::string> constraints;
  for (int group = 0; group < 8; ++group) {
    for (const char* name : {"a", "b"})
      domains.push_back({fmt::format("{}{}", name, group), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}});
    constraints.push_back(fmt::format("a{0} < b{0}", group));
  }
  auto space = Space::open(kernelOf(domains, constraints), {}, {});
  ASSERT_TRUE(space) << space.error().message;
  std::uint64_t expected = 1;
  for (int group = 0; group < 8; ++group)
    expected *= 45;
  EXPECT_EQ(space->count(), expected);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(space->contains(space->sample(random)));
  EXPECT_TRUE(space->contains(space->at(expected - 1)));
}

TEST(Space, SaturatesItsCount) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> domains;
  for (int i = 0; i < 100; ++i)
    domains.push_back({fmt::format("p{}", i), {1, 2, 3, 4}});
  auto space = Space::open(kernelOf(domains, {}), {}, {});
  ASSERT_TRUE(space);
  EXPECT_EQ(space->count(), std::uint64_t(1) << 63);
  std::mt19937_64 random(1);
  EXPECT_TRUE(space->contains(space->sample(random)));
}

TEST(Space, RefusesWhatItCannotSolve) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> domains;
  std::string sum = "0";
  for (int i = 0; i < 12; ++i) {
    domains.push_back({fmt::format("p{}", i), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}});
    sum += fmt::format(" + p{}", i);
  }
  auto space = Space::open(kernelOf(domains, {sum + " == 60"}), {}, {});
  ASSERT_FALSE(space);
  EXPECT_EQ(space.error().message, "kernel 'k': constraints tie too many parameters together");
}

TEST(Space, SamplesUniformly) {
  auto space =
      Space::open(kernelOf({{"a", {1, 2, 3, 4}}, {"b", {1, 2, 3, 4}}, {"c", {1, 2}}}, {"a <= b"}), {}, {});
  ASSERT_EQ(space->count(), 20u);
  std::mt19937_64 random(5);
  std::map<std::string, int> seen;
  for (int i = 0; i < 20'000; ++i)
    ++seen[toString(space->sample(random))];
  ASSERT_EQ(seen.size(), 20u);
  double chiSquare = 0;
  for (const auto& [config, count] : seen)
    chiSquare += (count - 1000.0) * (count - 1000.0) / 1000.0;
  // 19 degrees of freedom: exceeded once in 10^5 by a uniform sampler.
  EXPECT_LT(chiSquare, 57.0);
}

TEST(Space, FindsNeighbours) {
  auto space = Space::open(kernelOf({{"a", {1, 2, 4}}, {"b", {1, 2}}}, {"a * b <= 4"}), {}, {});
  std::vector<Config> expected{{{"a", 1}, {"b", 1}}, {{"a", 4}, {"b", 1}}, {{"a", 2}, {"b", 2}}};
  EXPECT_EQ(space->neighbours({{"a", 2}, {"b", 1}}), expected);
  EXPECT_TRUE(space->neighbours({{"a", 3}, {"b", 1}}).empty());
}

TEST(Space, KnowsTheIdentity) {
  Kernel kernel = kernelOf({{"a", {1, 2}}}, {"a != 7"});
  kernel.parameters[0].original = 7;
  auto space = Space::open(kernel, {}, {});
  EXPECT_EQ(space->identity(), (Config{{"a", 7}}));
  EXPECT_FALSE(space->contains(space->identity()));
  EXPECT_EQ(space->explain(space->identity()), "a != 7");
  kernel.constraints.clear();
  EXPECT_TRUE(Space::open(kernel, {}, {})->contains({{"a", 7}}));
  EXPECT_FALSE(space->contains({}));
  EXPECT_FALSE(space->contains({{"b", 1}}));
}
