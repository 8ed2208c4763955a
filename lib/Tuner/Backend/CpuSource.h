// CUDA text -> what the SIMT header lets a host compiler read. Only three things need the text itself
// changed: dynamic shared arrays, the word static beside __shared__, and __noinline__ (a macro of that name
// would break the standard library). Line numbers stay.
#pragma once

#include <optional>
#include <string>

namespace retile::backend {

/// `extern __shared__ float s[];` becomes a pointer to the block's dynamic shared memory.
std::string prepareForCpu(const std::string& text);

/// What the CPU device cannot run, as "inline PTX (line 12)"; nullopt when nothing of the kind is in the
/// text.
std::optional<std::string> unsupportedOnCpu(const std::string& text);

/// Which of the toolkit's number formats the text mentions.
struct NumberFormats {
  bool fp16 = false, bf16 = false, fp8 = false;
  bool any() const { return fp16 || bf16 || fp8; }
};
NumberFormats numberFormats(const std::string& text);

} // namespace retile::backend
