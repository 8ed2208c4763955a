#include "Strategies.h"

#include <algorithm>
#include <fmt/format.h>

namespace retile::tuner {

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> list{
#define RETILE_STRATEGY(flag, factory, summary) {flag, summary},
#include "Strategies.def"
#undef RETILE_STRATEGY
  };
  return list;
}

Expected<std::unique_ptr<Strategy>> makeStrategy(const std::string& name, const Space& space,
                                                 const StrategyOptions& options) {
#define RETILE_STRATEGY(flag, factory, summary)                                                              \
  if (name == flag)                                                                                          \
    return factory(space, options);
#include "Strategies.def"
#undef RETILE_STRATEGY
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategies())
    names.push_back(info.name);
  return Error{fmt::format("unknown strategy '{}'", name),
               fmt::format("known are {}", fmt::join(names, ", "))};
}

void insertSorted(std::vector<Scored>& list, Scored entry, std::size_t limit) {
  auto at = std::upper_bound(list.begin(), list.end(), entry, [](auto& a, auto& b) { return a.ms < b.ms; });
  list.insert(at, std::move(entry));
  if (list.size() > limit)
    list.pop_back();
}

std::optional<Config> drawNew(const Space& space, Proposed& proposed, std::mt19937_64& random) {
  if (proposed.size() >= space.count())
    return std::nullopt;
  for (int attempt = 0; attempt < 64; ++attempt)
    if (Config config = space.sample(random); proposed.insert(config))
      return config;
  std::uint64_t start = std::uniform_int_distribution<std::uint64_t>(0, space.count() - 1)(random);
  for (std::uint64_t step = 0; step < space.count(); ++step)
    if (Config config = space.at((start + step) % space.count()); proposed.insert(config))
      return config;
  return std::nullopt;
}

std::optional<Config> identityIfNew(const Space& space, Proposed& proposed) {
  if (space.contains(space.identity()) && proposed.insert(space.identity()))
    return space.identity();
  return std::nullopt;
}

Config mutate(const Space& space, const Config& config, int changes, std::mt19937_64& random) {
  Config child = config;
  const auto& parameters = space.parameters();
  for (int i = 0; i < changes && !parameters.empty(); ++i) {
    const auto& [name, meaning, values, original] = parameters[random() % parameters.size()];
    child[name] = values[random() % values.size()];
  }
  return child;
}

Config cross(const Config& a, const Config& b, std::mt19937_64& random) {
  Config child = a;
  for (auto& [name, value] : child)
    if (random() % 2)
      value = b.at(name);
  return child;
}

} // namespace retile::tuner
