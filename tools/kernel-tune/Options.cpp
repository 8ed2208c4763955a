#include "Options.h"

#include "../CommandLine.h"
#include "retile/Support/Text.h"
#include "retile/Tuner/Sizes.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace retile::tool {

static constexpr const char* about =
    R"(Finds the fastest verified configuration of each kernel that kernel-templatize has written to DIR.

Compiles, verifies against the original, measures and searches; every result is in DIR/tune.db before the next
starts, so a run that was stopped continues where it was. The result is in DIR/tuned: a header that takes the place
of the original's launch, and result.json.)";

static constexpr const char* examples = R"(
Examples:
  kernel-tune gemm.retile --size NI=4096,NJ=4096,NK=4096 --budget 5m
      tune every kernel at these sizes, five minutes each, on the first GPU
  kernel-tune gemm.retile --device cpu --verify-only 50 --size NI=61,NJ=131,NK=37
      compare 50 configurations with the original on the embedded CPU device, without measuring

Exit codes: 0 everything verified, 1 a configuration differs from the original (--verify-only: differs, fails, or none
could be verified), 2 usage or input, 3 environment, 4 internal error)";

static std::string strategyHelp() {
  std::string text = "search strategy:";
  for (const tuner::StrategyInfo& info : tuner::strategies())
    text += fmt::format("\n{} - {}", info.name, info.summary);
  return text;
}

ExitCode printError(const Error& error) {
  fmt::print(stderr, "kernel-tune: error: {}\n", oneLine(error.message, 600));
  if (!error.note.empty())
    fmt::print(stderr, "kernel-tune: note: {}\n", oneLine(error.note, 600));
  return error.code;
}

/// What CLI11 leaves as text.
struct RawOptions {
  std::vector<std::string> sizes;
  std::string budget;
};

static Status interpret(const RawOptions& raw, Options& options) {
  for (const std::string& text : raw.sizes) {
    auto sizes = tuner::parseSizes(text);
    if (!sizes)
      return sizes.error();
    options.sizes.push_back(*sizes);
  }
  if (!raw.budget.empty()) {
    auto budget = tuner::Budget::parse(raw.budget);
    if (!budget)
      return budget.error();
    options.budget = *budget;
  }
  if (options.objective != "time")
    return Error{fmt::format("unknown objective '{}'", oneLine(options.objective, 40)), "known is time"};
  if (options.database.empty())
    options.database = options.directory + "/tune.db";
  return {};
}

std::variant<Options, ExitCode> parseCommandLine(int argc, char** argv) {
  Options options;
  RawOptions raw;
  CLI::App app(about, "kernel-tune");
  app.footer(examples);
  app.set_version_flag("-V,--version", "kernel-tune " RETILE_VERSION);
  app.add_option("DIR", options.directory, "a .retile directory")->required();
  app.add_option("--kernel", options.kernelGlob,
                 "only kernels whose id or name matches this pattern of * and ?");
  app.add_option("--size", raw.sizes, "sizes as N=1024,K=64; repeat it to tune at several")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--device", options.device, "cuda:N or cpu (default: cuda:0 when there is one, else cpu)");
  app.add_option("--budget", raw.budget,
                 "per kernel: a time as 60s, 10m, 1h, or evaluations as 500 (default: 60s)");
  app.add_option("--strategy", options.strategy, strategyHelp());
  app.add_option("--objective", options.objective, "what to minimise: time");
  app.add_option("--db", options.database, "database of results (default: DIR/tune.db)");
  app.add_flag("--fresh", options.fresh, "start a new database; the old one becomes FILE.old");
  app.add_option("--verify-only", options.verifyOnly, "verify N configurations, measure nothing")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", options.json, "one JSON object a line on stdout");
  app.add_option("--seed", options.seed, "seed of data and search (default: 1)");
  app.add_option("--jobs", options.jobs, "compile threads (default: one per core)")
      ->check(CLI::Range(1, 256));
  app.add_flag("--quiet", options.quiet, "no progress");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    app.exit(done);
    return ExitCode::Success;
  } catch (const CLI::ParseError& error) {
    return printError({startingSmall(error.what()), "`kernel-tune --help` shows all options"});
  }
  if (Status interpreted = interpret(raw, options); !interpreted)
    return printError(interpreted.error());
  return options;
}

} // namespace retile::tool
