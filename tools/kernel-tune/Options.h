// The command line of kernel-tune.
#pragma once

#include "retile/Support/Expected.h"
#include "retile/Tuner/Session.h"

#include <string>
#include <variant>
#include <vector>

namespace retile::tool {

struct Options {
  std::string directory, kernelGlob = "*", device, strategy = "auto", objective = "time", database;
  std::vector<tuner::Bindings> sizes; ///< empty: chosen per kernel
  tuner::Budget budget{0, 60};
  std::uint64_t verifyOnly = 0, seed = 1;
  int jobs = 0;
  bool fresh = false, json = false, quiet = false;
};

/// The options, or the exit code when there is nothing more to do (help, version, or a usage error already
/// printed).
std::variant<Options, ExitCode> parseCommandLine(int argc, char** argv);

/// Prints "kernel-tune: error: ..." and the note, and hands back the error's exit code.
ExitCode printError(const Error& error);

} // namespace retile::tool
