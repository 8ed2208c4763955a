// Search strategies: ask for a configuration, tell what it took. One file each under lib/Tuner/Search;
// Strategies.def is their only registration.
#pragma once

#include "retile/Tuner/Space.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retile::tuner {

/// What a strategy wants next.
struct Proposal {
  enum class Kind {
    Try,  ///< evaluate `config`, which was not proposed before
    Wait, ///< nothing until a pending result is told
    Done, ///< nothing ever again
  };
  Kind kind = Kind::Done;
  Config config;

  static Proposal tryIt(Config config) { return {Kind::Try, std::move(config)}; }
  static Proposal wait() { return {Kind::Wait, {}}; }
  static Proposal done() { return {Kind::Done, {}}; }
};

/// Seeded and replayable: the same answers in the same order give the same proposals. Several proposals may
/// be pending; results are told in any order.
class Strategy {
public:
  virtual ~Strategy() = default;
  /// `progress` is the share of the budget that is spent, 0 to 1.
  virtual Proposal ask(double progress) = 0;
  /// Milliseconds, or nullopt for a configuration that failed in any way.
  virtual void tell(const Config& config, std::optional<double> ms) = 0;
  /// One line for the user: what was chosen and why; empty when the name says it all.
  virtual std::string about() const { return ""; }
};

struct StrategyOptions {
  std::uint64_t seed = 1;
  /// Evaluations that the budget allows; 0 when it is a time.
  std::uint64_t budget = 0;
};

struct StrategyInfo {
  std::string name, summary;
};

/// All strategies, `auto` first.
const std::vector<StrategyInfo>& strategies();

/// Error on an unknown name. The identity configuration, when it is legal, is proposed first by each of them.
Expected<std::unique_ptr<Strategy>> makeStrategy(const std::string& name, const Space& space,
                                                 const StrategyOptions& options);

} // namespace retile::tuner
