// Uniform over the legal configurations, none twice.
#include "Strategies.h"

namespace retile::tuner {

namespace {

class Random : public Strategy {
public:
  Random(const Space& space, const StrategyOptions& options) : space(space), random(options.seed) {}

  Proposal ask(double) override {
    auto config = identityIfNew(space, proposed);
    if (!config)
      config = drawNew(space, proposed, random);
    return config ? Proposal::tryIt(*config) : Proposal::done();
  }

  void tell(const Config&, std::optional<double>) override {}

private:
  const Space space;
  std::mt19937_64 random;
  Proposed proposed;
};

} // namespace

std::unique_ptr<Strategy> makeRandom(const Space& space, const StrategyOptions& options) {
  return std::make_unique<Random>(space, options);
}

} // namespace retile::tuner
