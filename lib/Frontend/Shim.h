// A header of ours that is included after clang's CUDA wrapper. It closes the gaps between clang and nvcc
// that real files run into: host min and max, cache-hint loads and stores, runtime calls that newer toolkits
// removed.
#pragma once

#include <string_view>

namespace retile::frontend {

/// The path under which the shim is visible to the compiler; no file on disk has it.
inline constexpr const char* shimPath = "/retile-builtin/clang-shim.h";

std::string_view shimText();

} // namespace retile::frontend
