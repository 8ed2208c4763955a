// A .retile directory made for one test: sources given as text, a manifest built in memory.
#pragma once

#include "retile/Tuner/Backend.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace retile::test {

class TemporaryKernel {
public:
  /// The reference defines `original`, the template `candidate`; both take (const float* in, float* out, int
  /// n).
  TemporaryKernel(const std::string& reference, const std::string& candidate,
                  const std::string& block = "64") {
    static int count = 0;
    folder = std::filesystem::temp_directory_path() /
             ("retile-test-" + std::to_string(getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(folder);
    write("k.reference.cu", "#ifndef RETILE_NO_REFERENCE\n" + reference + "\n#endif\n");
    write("k.cuh", candidate);
    kernel.id = kernel.kernel = "k";
    kernel.lift = "full";
    kernel.templateFile = "k.cuh";
    kernel.templateEntry = "candidate";
    kernel.referenceFile = "k.reference.cu";
    kernel.referenceEntry = "original";
    kernel.sizes = {{"n", "value", {}, 1, 1 << 20, ""}};
    kernel.tensors = {{"in", "float", 4, "n", "in", {}, "uniform", {}},
                      {"out", "float", 4, "n", "out", {}, "uniform", {}}};
    kernel.arguments = {tensor("in", "const float *"), tensor("out", "float *"), scalar("n", "int", "n")};
    kernel.original.grid = kernel.launch.grid = {"ceildiv(n, " + block + ")", "1", "1"};
    kernel.original.block = kernel.launch.block = {block, "1", "1"};
  }
  ~TemporaryKernel() { std::filesystem::remove_all(folder); }

  static manifest::Argument tensor(const std::string& name, const std::string& type) {
    return {name, type, "tensor", name, "0", {}};
  }
  static manifest::Argument scalar(const std::string& name, const std::string& type,
                                   std::optional<std::string> value) {
    return {name, type, "scalar", "", "0", std::move(value)};
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }

  tuner::Candidate original(manifest::Bindings sizes) const {
    return {&kernel, std::move(sizes), std::nullopt};
  }
  tuner::Candidate candidate(manifest::Bindings sizes, tuner::Config config = {}) const {
    return {&kernel, std::move(sizes), std::move(config)};
  }

  std::filesystem::path folder;
  manifest::Kernel kernel;
};

} // namespace retile::test
