// Compiles originals and candidates for the CPU device: CUDA text behind the SIMT header, through the host
// compiler, to a shared object in the cache.
#pragma once

#include "ArtifactCache.h"
#include "CandidateText.h"

#include "retile/Manifest/Manifest.h"
#include "retile/Support/Expected.h"
#include "retile/Tuner/Backend.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace retile::backend {

/// What Compiled::binary holds on the CPU device.
struct CpuBinary {
  std::string path;        ///< of the shared object; empty when `unsupported`
  std::string unsupported; ///< why this device cannot run it
};

/// Thread-safe.
class CpuCompiler {
public:
  /// $CXX, else g++, clang++, c++. The error has ExitCode::Environment.
  static Expected<std::unique_ptr<CpuCompiler>> open(const std::string& directory,
                                                     const manifest::CompileFlags& flags);

  tuner::Compiled compile(const tuner::Candidate& candidate);
  /// "g++ (Debian 12.2.0-14) 12.2.0"
  const std::string& version() const { return compilerVersion; }

private:
  CpuCompiler(ArtifactCache cache, std::string directory, manifest::CompileFlags flags)
      : cache(std::move(cache)), directory(std::move(directory)), flags(std::move(flags)) {}
  Status findCompiler();
  std::string unitText(const tuner::Candidate& candidate, const CandidateSources& sources) const;
  Expected<std::string> options(const std::string& text);
  std::string prelude(const std::string& formatOptions);
  tuner::Compiled compileUnit(const std::string& text, const std::string& key, const std::string& options);

  ArtifactCache cache;
  std::string directory;
  manifest::CompileFlags flags;
  std::string compiler, compilerVersion, sourcesHash, simtFolder;
  std::mutex preludeMutex;
};

} // namespace retile::backend
