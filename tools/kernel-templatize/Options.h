// The command line of kernel-templatize.
#pragma once

#include "retile/Frontend/Frontend.h"

#include <optional>

namespace retile {

struct Options {
  frontend::Options frontend;
  std::string output;
  bool json = false, explain = false, force = false, printModel = false;
};

/// nullopt with an exit code in `exitCode` where the program is to end (help, version, or a usage error already printed).
std::optional<Options> parseOptions(int argc, char** argv, int& exitCode);

} // namespace retile
