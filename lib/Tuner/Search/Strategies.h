// What the strategies share. Not installed.
#pragma once

#include "retile/Tuner/Search.h"

#include <deque>
#include <unordered_set>

namespace retile::tuner {

#define RETILE_STRATEGY(flag, factory, summary)                                                              \
  std::unique_ptr<Strategy> factory(const Space& space, const StrategyOptions& options);
#include "Strategies.def"
#undef RETILE_STRATEGY

/// Remembers what was proposed, so that nothing is proposed twice.
class Proposed {
public:
  /// False when it was there already.
  bool insert(const Config& config) { return seen.insert(toString(config)).second; }
  bool contains(const Config& config) const { return seen.count(toString(config)) != 0; }
  std::uint64_t size() const { return seen.size(); }

private:
  std::unordered_set<std::string> seen;
};

/// A measured configuration.
struct Scored {
  Config config;
  double ms;
};

/// Keeps `list` sorted, fastest first, and at most `limit` long.
void insertSorted(std::vector<Scored>& list, Scored entry, std::size_t limit);

/// Legal configurations that were not proposed yet, uniformly at random: by rejection while that is quick,
/// then by a scan from a random index. Marks what it returns as proposed.
std::optional<Config> drawNew(const Space& space, Proposed& proposed, std::mt19937_64& random);

/// The identity configuration when it is legal and new; marks it as proposed.
std::optional<Config> identityIfNew(const Space& space, Proposed& proposed);

/// `config` with `changes` parameters set to other values at random; may be illegal.
Config mutate(const Space& space, const Config& config, int changes, std::mt19937_64& random);

/// Each parameter from either parent; may be illegal.
Config cross(const Config& a, const Config& b, std::mt19937_64& random);

} // namespace retile::tuner
