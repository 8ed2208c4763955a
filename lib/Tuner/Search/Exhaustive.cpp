// Every legal configuration once. Neighbouring indices are similar configurations, so the order steps through
// the space by a stride that is coprime to its size: an interrupted run has then seen a scattered sample.
#include "Strategies.h"

#include <numeric>

namespace retile::tuner {

namespace {

class Exhaustive : public Strategy {
public:
  Exhaustive(const Space& space, const StrategyOptions& options) : space(space), count(space.count()) {
    std::mt19937_64 random(options.seed);
    index = count ? random() % count : 0;
    stride = static_cast<std::uint64_t>(static_cast<double>(count) * 0.6180339887);
    while (stride < 1 || std::gcd(stride, count) != 1)
      ++stride;
  }

  Proposal ask(double) override {
    if (auto identity = identityIfNew(space, first))
      return Proposal::tryIt(*identity);
    while (visited < count) {
      Config config = space.at(index);
      index = static_cast<std::uint64_t>((static_cast<unsigned __int128>(index) + stride) % count);
      ++visited;
      if (!first.contains(config))
        return Proposal::tryIt(config);
    }
    return Proposal::done();
  }

  void tell(const Config&, std::optional<double>) override {}

  std::string about() const override { return "each of them is tried"; }

private:
  const Space space;
  const std::uint64_t count;
  std::uint64_t index = 0, stride = 0, visited = 0;
  Proposed first;
};

} // namespace

std::unique_ptr<Strategy> makeExhaustive(const Space& space, const StrategyOptions& options) {
  return std::make_unique<Exhaustive>(space, options);
}

} // namespace retile::tuner
