// Where the CUDA headers and clang's own headers are on this machine.
#pragma once

#include "retile/Support/Expected.h"

#include <string>
#include <vector>

namespace retile::frontend {

struct Toolkit {
  std::vector<std::string> includes; ///< system include directories: the runtime's headers, then cccl
  std::string version;               ///< "13.0"
  std::string resourceDir;           ///< clang's: has include/__clang_cuda_runtime_wrapper.h
};

/// Looks at `requested` (from --cuda-path; may be empty), $CUDA_HOME, $CUDA_PATH, /usr/local/cuda and the
/// nvidia wheels of the Pythons in sight. Error (Environment): no toolkit, or no clang resource directory.
Expected<Toolkit> findToolkit(const std::string& requested);

} // namespace retile::frontend
