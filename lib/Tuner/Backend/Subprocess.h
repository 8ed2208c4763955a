// Runs a program to its end.
#pragma once

#include "retile/Support/Expected.h"

#include <string>
#include <vector>

namespace retile::backend {

struct ProcessResult {
  int exitCode = -1; ///< -1 when a signal ended it
  bool timedOut = false;
  std::string output; ///< stdout and stderr together, at most 64 KiB
};

/// `argv[0]` is looked up in PATH. Standard input is empty. The process group is killed after `seconds`.
Expected<ProcessResult> runProcess(const std::vector<std::string>& argv, double seconds);

/// The file that PATH finds for `program`; empty when there is none.
std::string findProgram(const std::string& program);

} // namespace retile::backend
