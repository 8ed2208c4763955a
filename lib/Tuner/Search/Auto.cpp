// The default. Where the budget covers the space it is exhaustive. Else the first part of the budget is a
// space-filling sample, and the rest is proposed around the best: of a few dozen legal candidates (neighbours
// of the best ones, mutations of one to three parameters, crossings) the one that nearby measurements predict
// to be fastest is tried. Failed configurations count as slow ones, which keeps the search away from where it
// fails. The longer nothing faster is found, the more distance from what is known counts, and the more
// proposals come from the whole space.
#include "Strategies.h"

#include <algorithm>
#include <cmath>

namespace retile::tuner {

namespace {

/// With a budget of time, spaces up to this size are searched exhaustively.
constexpr std::uint64_t alwaysExhaustive = 64;
constexpr double samplingShare = 0.15;
constexpr std::size_t leastSamples = 12;
constexpr std::size_t elites = 8;
constexpr std::size_t nearest = 6;
constexpr int candidates = 48;
/// See Auto::boldness.
constexpr double leastBoldness = 0.02, boldnessGain = 0.3, patience = 40;
/// Share of the proposals that leave the best ones' surroundings when nothing improves.
constexpr double globalShare = 0.35;
/// Log time of a failed configuration above the slowest measured one.
constexpr double failurePenalty = 0.5;

/// A configuration as positions in the domains, scaled to [0, 1], so that a step in a long domain is a small
/// one.
using Point = std::vector<double>;

class Auto : public Strategy {
public:
  Auto(const Space& space, const StrategyOptions& options) : space(space), random(options.seed) {}

  Proposal ask(double progress) override {
    auto next = identityIfNew(space, proposed);
    bool sampling = progress < samplingShare || proposed.size() < leastSamples;
    if (!next)
      next = sampling || best.empty() ? fillSpace() : guided();
    if (!next)
      next = drawNew(space, proposed, random);
    return next ? Proposal::tryIt(*next) : Proposal::done();
  }

  void tell(const Config& config, std::optional<double> ms) override {
    points.push_back(pointOf(config));
    logs.push_back(ms ? std::log(*ms) : std::nan(""));
    if (!ms)
      return;
    if (best.empty() || *ms < best.front().ms)
      improvedAt = points.size();
    slowest = std::max(slowest.value_or(logs.back()), logs.back());
    insertSorted(best, {config, *ms}, elites);
  }

  std::string about() const override {
    return "a space-filling sample, then model-guided steps around the best";
  }

private:
  Point pointOf(const Config& config) const {
    Point point;
    for (const auto& parameter : space.parameters()) {
      const auto& values = parameter.values;
      auto at = std::find(values.begin(), values.end(), config.at(parameter.name)) - values.begin();
      point.push_back(values.size() > 1 ? static_cast<double>(at) / static_cast<double>(values.size() - 1)
                                        : 0);
    }
    return point;
  }

  /// A parameter that differs at all counts, and the more the further: values of unlike behaviour may be
  /// neighbours.
  static double distance(const Point& a, const Point& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i])
        sum += 0.5 + std::abs(a[i] - b[i]);
    return sum;
  }

  /// Of a few random configurations, the one furthest from everything proposed.
  std::optional<Config> fillSpace() {
    std::optional<Config> chosen;
    double furthest = -1;
    for (int i = 0; i < 8; ++i) {
      Config config = space.sample(random);
      if (proposed.contains(config))
        continue;
      Point point = pointOf(config);
      double nearestSample = 1e9;
      for (const Point& other : asked)
        nearestSample = std::min(nearestSample, distance(point, other));
      if (nearestSample > furthest)
        furthest = nearestSample, chosen = config;
    }
    return accept(chosen);
  }

  std::optional<Config> accept(std::optional<Config> config) {
    if (!config || !proposed.insert(*config))
      return std::nullopt;
    asked.push_back(pointOf(*config));
    return config;
  }

  /// Log time by the nearest measurements, weighted by the inverse square of their distance.
  double predict(const Point& point) const {
    std::vector<std::pair<double, double>> near;
    for (std::size_t i = 0; i < points.size(); ++i)
      near.emplace_back(distance(point, points[i]),
                        std::isnan(logs[i]) ? *slowest + failurePenalty : logs[i]);
    std::size_t kept = std::min(nearest, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(kept), near.end());
    double weights = 0, sum = 0;
    for (std::size_t i = 0; i < kept; ++i) {
      double weight = 1 / (near[i].first * near[i].first + 1e-3);
      weights += weight;
      sum += weight * near[i].second;
    }
    return sum / weights - boldness() * std::sqrt(near.front().first);
  }

  /// What distance from everything measured is worth in log time: more the longer nothing faster was found.
  double boldness() const { return leastBoldness + boldnessGain * stagnation(); }

  /// 0 right after an improvement, 1 when there was none for long.
  double stagnation() const {
    return std::min(1.0, static_cast<double>(points.size() - improvedAt) / patience);
  }

  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random); }

  const Config& elite() {
    std::size_t a = random() % best.size(), b = random() % best.size();
    return best[std::min(a, b)].config;
  }

  Config candidate(const std::vector<Config>& steps, bool local) {
    if (!local)
      return space.sample(random);
    switch (random() % 8) {
    case 0:
      return cross(elite(), elite(), random);
    case 1:
    case 2:
      return mutate(space, elite(), 2, random);
    case 3:
      return mutate(space, elite(), 3, random);
    default:
      return steps.empty() ? mutate(space, elite(), 1, random) : steps[random() % steps.size()];
    }
  }

  /// One proposal in ten ignores the model, so that a wrong one is found out.
  std::optional<Config> guided() {
    std::vector<Config> steps = space.neighbours(random() % 2 ? best.front().config : elite());
    const bool trusting = random() % 10 != 0, local = uniform() > globalShare * stagnation();
    std::optional<Config> chosen;
    double fastest = 0;
    for (int i = 0; i < candidates && (trusting || !chosen); ++i) {
      Config config = candidate(steps, local);
      if (proposed.contains(config) || !space.contains(config))
        continue;
      double predicted = predict(pointOf(config));
      if (!chosen || predicted < fastest)
        fastest = predicted, chosen = config;
    }
    return accept(chosen);
  }

  const Space space;
  std::mt19937_64 random;
  Proposed proposed;
  std::vector<Point> asked, points; ///< points and logs: what was told; a failure's log is NaN
  std::vector<double> logs;
  std::optional<double> slowest;
  std::size_t improvedAt = 0; ///< results told when the fastest was found
  std::vector<Scored> best;   ///< fastest first
};

} // namespace

std::unique_ptr<Strategy> makeAuto(const Space& space, const StrategyOptions& options) {
  if (space.count() <= (options.budget != 0 ? options.budget : alwaysExhaustive))
    return makeExhaustive(space, options);
  return std::make_unique<Auto>(space, options);
}

} // namespace retile::tuner
