// Steady-state genetic search: two parents by tournament, uniform crossover, then zero to three mutations. A
// child that is illegal or known is drawn again; a failed one never becomes a parent.
#include "Strategies.h"

#include <algorithm>

namespace retile::tuner {

namespace {

constexpr std::size_t populationSize = 24;
constexpr int attempts = 200;

class Genetic : public Strategy {
public:
  Genetic(const Space& space, const StrategyOptions& options) : space(space), random(options.seed) {}

  Proposal ask(double) override {
    auto next = identityIfNew(space, proposed);
    if (!next && proposed.size() >= populationSize && population.size() >= 2)
      next = breed();
    if (!next)
      next = drawNew(space, proposed, random);
    return next ? Proposal::tryIt(*next) : Proposal::done();
  }

  void tell(const Config& config, std::optional<double> ms) override {
    if (ms)
      insertSorted(population, {config, *ms}, populationSize);
  }

private:
  /// The population is sorted, so the smaller of two positions wins.
  const Config& parent() {
    return population[std::min(random() % population.size(), random() % population.size())].config;
  }

  std::optional<Config> breed() {
    for (int attempt = 0; attempt < attempts; ++attempt) {
      Config child = mutate(space, cross(parent(), parent(), random), static_cast<int>(random() % 4), random);
      if (space.contains(child) && proposed.insert(child))
        return child;
    }
    return std::nullopt;
  }

  const Space space;
  std::mt19937_64 random;
  Proposed proposed;
  std::vector<Scored> population;
};

} // namespace

std::unique_ptr<Strategy> makeGenetic(const Space& space, const StrategyOptions& options) {
  return std::make_unique<Genetic>(space, options);
}

} // namespace retile::tuner
