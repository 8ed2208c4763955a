#include "Options.h"

#include "../CommandLine.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace retile {

static constexpr const char* about =
    R"(Lifts every CUDA kernel of a file to what it computes, proves which other mappings are legal, and writes each one
back as a readable template with tunable parameters. The file itself is never changed.)";

static constexpr const char* more = R"(
Plan passes, in order:
#PASSES#
Examples:
  kernel-templatize gemm.cu
      writes gemm.retile/ beside the file; then: kernel-tune gemm.retile
  kernel-templatize src/ops.cu -o ops.retile --explain -- -Iinclude -DTILE=16 -std=c++17
      with compiler flags of your own (without them compile_commands.json is used, where one lists the file)

Exit codes: 0 a template was written, 1 every kernel was refused, 2 usage or input, 3 environment, 4 internal error)";

static std::string footer() {
  std::string passes, text = more;
#define RETILE_PLAN_PASS(function, flag, what) passes += std::string("  ") + flag + std::string(14 - sizeof(flag), ' ') + what + "\n";
#define RETILE_TEXT_PASS RETILE_PLAN_PASS
#include "../../passes/Passes.def"
#undef RETILE_PLAN_PASS
  return text.replace(text.find("#PASSES#"), 8, passes);
}

std::optional<Options> parseOptions(int argc, char** argv, int& exitCode) {
  Options options;
  // What stands behind `--` is the compiler's.
  int own = argc;
  for (int n = 1; n < argc && own == argc; ++n)
    if (std::string(argv[n]) == "--") own = n;
  for (int n = own + 1; n < argc; ++n)
    options.frontend.compilerFlags.push_back(argv[n]);
  CLI::App app(about, "kernel-templatize");
  app.footer(footer());
  app.set_version_flag("-V,--version", "kernel-templatize 0.1.0");
  app.add_option("FILE", options.frontend.file, "the CUDA file")->required();
  app.add_option("-o,--output", options.output, "directory to write (default: FILE with .retile in place of .cu)");
  app.add_flag("--json", options.json, "print one JSON object a line and kernel");
  app.add_flag("--explain", options.explain, "say what was lifted, assumed and refused, with source lines");
  app.add_option("--kernel", options.frontend.kernelGlob, "only kernels whose name matches this pattern");
  app.add_option("--arch", options.frontend.arch, "architecture that the analysis assumes")->capture_default_str();
  app.add_flag("--strict", options.frontend.strict, "treat errors that touch no kernel as errors");
  app.add_flag("--force", options.force, "replace files that were edited");
  app.add_flag("--print-model", options.printModel, "print the kernel model on standard error");
  try {
    app.parse(own, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      exitCode = 0;
    } else {
      std::cerr << "kernel-templatize: error: " << tool::startingSmall(error.what()) << "\nkernel-templatize: note: see kernel-templatize --help\n";
      exitCode = static_cast<int>(ExitCode::Input);
    }
    return std::nullopt;
  }
  if (options.output.empty()) {
    options.output = options.frontend.file;
    if (size_t dot = options.output.rfind(".cu"); dot != std::string::npos && dot + 3 == options.output.size()) options.output.resize(dot);
    options.output += ".retile";
  }
  return options;
}

} // namespace retile
