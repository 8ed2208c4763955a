// NVIDIA's run-time compiler, opened at run time. The prototypes are the public ones of nvrtc.h.
#pragma once

#include "retile/Support/Expected.h"

#include <map>
#include <string>
#include <vector>

namespace retile::backend {

struct NvrtcJob {
  std::string source, name; ///< name: as the compiler's messages call it
  std::vector<std::string> options;
  std::map<std::string, std::string> headers; ///< for #include, when no folder has them
  std::vector<std::string> names;             ///< name expressions to look up
  bool ptx = false;                           ///< take PTX instead of the cubin
};

struct NvrtcResult {
  bool ok = false;
  std::string log, image;
  std::vector<std::string> lowered; ///< one per name
};

/// Thread-safe.
class Nvrtc {
public:
  /// Opens the library once per process; the error names it and the package.
  static Expected<const Nvrtc*> open();

  NvrtcResult compile(const NvrtcJob& job) const;
  /// "13.0"
  const std::string& version() const { return versionText; }
  /// Compute capabilities it has machine code for, ascending: 75, 80, .. 120. Empty before CUDA 11.2.
  const std::vector<int>& architectures() const { return supported; }

private:
  using Program = struct Opaque*;
  Status load();

  int (*getVersion)(int*, int*) = nullptr;
  int (*getNumSupportedArchs)(int*) = nullptr;
  int (*getSupportedArchs)(int*) = nullptr;
  const char* (*getErrorString)(int) = nullptr;
  int (*createProgram)(Program*, const char*, const char*, int, const char* const*,
                       const char* const*) = nullptr;
  int (*destroyProgram)(Program*) = nullptr;
  int (*compileProgram)(Program, int, const char* const*) = nullptr;
  int (*addNameExpression)(Program, const char*) = nullptr;
  int (*getLoweredName)(Program, const char*, const char**) = nullptr;
  int (*getLogSize)(Program, std::size_t*) = nullptr;
  int (*getLog)(Program, char*) = nullptr;
  int (*getCubinSize)(Program, std::size_t*) = nullptr;
  int (*getCubin)(Program, char*) = nullptr;
  int (*getPtxSize)(Program, std::size_t*) = nullptr;
  int (*getPtx)(Program, char*) = nullptr;

  std::string versionText;
  std::vector<int> supported;
};

} // namespace retile::backend
