// First-improvement descent: neighbours of the current configuration in random order; the first that is
// faster becomes the current one. Where none is, descent starts again from a new random configuration.
#include "Strategies.h"

#include <algorithm>

namespace retile::tuner {

namespace {

class Local : public Strategy {
public:
  Local(const Space& space, const StrategyOptions& options) : space(space), random(options.seed) {}

  Proposal ask(double) override {
    while (!queue.empty()) {
      Config next = queue.back();
      queue.pop_back();
      if (proposed.insert(next))
        return propose(next);
    }
    if (pending != 0)
      return Proposal::wait();
    current.reset();
    auto start = identityIfNew(space, proposed);
    if (!start)
      start = drawNew(space, proposed, random);
    return start ? propose(*start) : Proposal::done();
  }

  void tell(const Config& config, std::optional<double> ms) override {
    --pending;
    if (!ms || (current && *ms >= *current))
      return;
    current = ms;
    queue = space.neighbours(config);
    std::shuffle(queue.begin(), queue.end(), random);
  }

private:
  Proposal propose(const Config& config) {
    ++pending;
    return Proposal::tryIt(config);
  }

  const Space space;
  std::mt19937_64 random;
  Proposed proposed;
  std::vector<Config> queue;
  std::optional<double> current;
  int pending = 0;
};

} // namespace

std::unique_ptr<Strategy> makeLocal(const Space& space, const StrategyOptions& options) {
  return std::make_unique<Local>(space, options);
}

} // namespace retile::tuner
