// Compiles originals and candidates for a GPU with NVRTC, into the cache.
#pragma once

#include "ArtifactCache.h"
#include "Nvrtc.h"

#include "retile/Manifest/Manifest.h"
#include "retile/Tuner/Backend.h"

#include <memory>
#include <string>
#include <vector>

namespace retile::backend {

/// What Compiled::binary holds on a GPU.
struct CudaBinary {
  std::string image;                ///< a cubin, or PTX for a GPU newer than NVRTC
  std::string entry;                ///< the kernel's lowered name
  std::vector<std::string> symbols; ///< per tensor: its variable's lowered name, empty for an argument
};

/// Registers, spilled bytes and static shared bytes of one kernel in the log of --ptxas-options=-v.
tuner::Resources parseResources(const std::string& log, const std::string& entry);

/// Thread-safe.
class CudaCompiler {
public:
  /// `capability`: the device's, 90 for 9.0.
  static Expected<std::unique_ptr<CudaCompiler>> open(const std::string& directory,
                                                      const manifest::CompileFlags& flags, int capability);

  tuner::Compiled compile(const tuner::Candidate& candidate) const;
  /// The image of device/harness/kernels.cuh, which the worker checks results with; its kernels are extern
  /// "C".
  Expected<std::string> harness() const;
  /// "NVRTC 13.0"
  std::string version() const { return "NVRTC " + nvrtc->version(); }

private:
  CudaCompiler(const Nvrtc* nvrtc, ArtifactCache cache, std::string directory, manifest::CompileFlags flags)
      : nvrtc(nvrtc), cache(std::move(cache)), directory(std::move(directory)), flags(std::move(flags)) {}
  std::vector<std::string> options(bool ofCandidate) const;
  tuner::Compiled compileUnit(const NvrtcJob& job, const std::string& key) const;

  const Nvrtc* nvrtc;
  ArtifactCache cache;
  std::string directory;
  manifest::CompileFlags flags;
  std::string architecture; ///< "sm_90", or "compute_120" where NVRTC has no machine code for the device
  std::vector<std::string> includes;
};

} // namespace retile::backend
