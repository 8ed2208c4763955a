#include "retile/Device/Files.h"

namespace retile::device {

extern const File embeddedFiles[];
extern const std::size_t embeddedFilesCount;

std::span<const File> files() { return {embeddedFiles, embeddedFilesCount}; }

std::string_view text(std::string_view path) {
  for (const File& file : files())
    if (file.path == path)
      return file.text;
  return {};
}

} // namespace retile::device
