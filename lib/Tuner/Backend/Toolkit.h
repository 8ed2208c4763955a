// Where CUDA's libraries and headers are: the loader's path, a toolkit, or the Python wheels that carry them.
#pragma once

#include "retile/Support/Expected.h"

#include <string>
#include <vector>

namespace retile::backend {

/// Folders that may hold lib<name>.so, most specific first: $CUDA_HOME, $CUDA_PATH, nvcc's own,
/// /usr/local/cuda*, then nvidia/*/lib under Python's search path (asked for once, and only when
/// `withWheels`).
std::vector<std::string> cudaLibraryFolders(bool withWheels);

/// Folders to pass with -I so that <header> (as "cuda_fp16.h") and what it includes are found; empty when it
/// is nowhere.
std::vector<std::string> cudaIncludeFolders(const std::string& header);

/// Opens the first of `sonames` that loads, by the loader's path and then in every folder. The error names
/// the library and `package`, where it comes from.
Expected<void*> openCudaLibrary(const std::vector<std::string>& sonames, const std::string& package);

} // namespace retile::backend
