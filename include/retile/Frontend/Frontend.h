// CUDA source text in, kernel models out. The only library that includes clang.
#pragma once

#include "retile/KernelModel/Model.h"
#include "retile/Support/Expected.h"

#include <string>
#include <vector>

namespace retile::frontend {

struct Options {
  std::string file;
  std::vector<std::string> compilerFlags; ///< what stood behind `--`; empty: compile_commands.json, if one lists the file
  std::string arch = "sm_80";             ///< what the analysis assumes __CUDA_ARCH__ to be
  std::string kernelGlob = "*";
  bool strict = false;                    ///< errors that touch no kernel are errors, too
};

/// A clang diagnostic of the user's file.
struct Message {
  enum Severity { Note, Warning, Error } severity = Warning;
  model::Location location;
  std::string text;
  std::string sourceLine;                 ///< for the caret
};

struct Result {
  std::vector<model::Kernel> kernels;     ///< one per instantiation that a call site uses; broken ones included
  std::vector<Message> messages;
  std::vector<std::string> defines;       ///< -D of the user's flags, "NAME=VALUE"
  std::vector<std::string> includes;      ///< -I of the user's flags, absolute
  std::vector<std::string> otherFlags;    ///< the rest, for the manifest's table of flags
  std::string standard = "c++17";
};

/// Parses the file. Errors: unreadable, empty or no kernel at all, or no kernel with a clean AST (first cause named).
Expected<Result> parse(const Options& options);

} // namespace retile::frontend
