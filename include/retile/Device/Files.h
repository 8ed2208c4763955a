// The sources under device/, carried inside the programs so that neither tool needs them installed.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace retile::device {

/// `path` is relative to device/, as "retile.cuh" or "simt/simt.h".
struct File {
  std::string_view path, text;
};

/// All of them.
std::span<const File> files();

/// The text of one; empty when there is none.
std::string_view text(std::string_view path);

/// retile.cuh, which kernel-templatize writes beside every template.
inline std::string_view retileHeader() { return text("retile.cuh"); }

} // namespace retile::device
