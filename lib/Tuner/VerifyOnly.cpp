#include "retile/Tuner/VerifyOnly.h"

#include "CompilePool.h"
#include "Verify.h"
#include "retile/Support/Text.h"
#include "retile/Tuner/Search.h"
#include "retile/Tuner/Sizes.h"

#include <fmt/format.h>

namespace retile::tuner {

static constexpr std::size_t maxDetails = 5;

namespace {

class VerifyRun {
public:
  VerifyRun(Backend& backend, const manifest::Kernel& kernel, const Bindings& sizes,
            const VerifyOnlyOptions& options)
      : backend(backend), kernel(kernel), sizes(sizes), options(options),
        verifier(backend, kernel, {}, 0, options.seed) {}

  VerifyReport run() {
    if (!kernel.untestable.empty())
      return report.unsupported = "no test data: " + kernel.untestable, report;
    if (std::string failed = failedAssumption(kernel, sizes, backend.info()); !failed.empty())
      return note(fmt::format("{} does not meet the assumption {}", toString(sizes), failed)), report;
    Expected<Space> space = Space::open(kernel, sizes, backend.info());
    if (!space)
      return ++report.failed, note(space.error().message), report;
    report.valid = space->count();
    if (report.valid == 0)
      return note(fmt::format("no legal configuration: {}", space->explain(space->identity()))), report;
    // Without an original the backend says of one configuration why; of others it would say the same.
    drawAndVerify(*space, verifier.reference(sizes).ok ? options.configurations : 1);
    return report;
  }

private:
  void drawAndVerify(const Space& space, std::uint64_t configurations) {
    auto strategy = makeStrategy("random", space, {options.seed, 0});
    CompilePool pool(verifier, options.jobs);
    std::deque<std::pair<Config, std::future<Binaries>>> pending;
    std::uint64_t asked = 0;
    bool drained = false;
    while (!(options.stop && options.stop->load())) {
      while (!drained && asked < configurations && pending.size() <= static_cast<std::size_t>(pool.size())) {
        Proposal proposal = (*strategy)->ask(0);
        drained = proposal.kind != Proposal::Kind::Try;
        if (drained)
          break;
        ++asked;
        pending.emplace_back(proposal.config, pool.submit(proposal.config, sizes));
      }
      if (pending.empty())
        return;
      auto [config, compiled] = std::move(pending.front());
      pending.pop_front();
      settle(config, compiled.get());
    }
  }

  void settle(const Config& config, const Binaries& binaries) {
    VerifyResult result{Outcome::CompileError, binaries.tuned.log, 0};
    if (binaries.tuned.ok)
      result = verifier.verify(config, sizes, binaries);
    if (result.outcome == Outcome::Ok) {
      ++report.verified;
      return;
    }
    if (result.outcome == Outcome::Unsupported) {
      if (report.unsupported.empty())
        report.unsupported = result.detail.empty() ? "not supported" : oneLine(result.detail, 400);
      return;
    }
    ++(result.outcome == Outcome::Mismatch ? report.mismatched : report.failed);
    note(fmt::format("{}: {}: {}", config.empty() ? "identity" : toString(config), toString(result.outcome),
                     oneLine(result.detail, 400)));
  }

  void note(std::string text) {
    if (report.details.size() < maxDetails)
      report.details.push_back(std::move(text));
  }

  Backend& backend;
  const manifest::Kernel& kernel;
  const Bindings& sizes;
  const VerifyOnlyOptions& options;
  Verifier verifier;
  VerifyReport report;
};

} // namespace

VerifyReport verifyOnly(Backend& backend, const manifest::Kernel& kernel, const Bindings& sizes,
                        const VerifyOnlyOptions& options) {
  return VerifyRun(backend, kernel, sizes, options).run();
}

} // namespace retile::tuner
