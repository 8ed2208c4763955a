// Files named by the hash of what they were made from, shared by all runs of one user.
#pragma once

#include "retile/Support/Expected.h"

#include <cstdint>
#include <optional>
#include <string>

namespace retile::backend {

/// $RETILE_CACHE, $XDG_CACHE_HOME/retile, ~/.cache/retile, else a folder of the temporary directory; always
/// one that only this user can write to, since code is loaded from it.
class ArtifactCache {
public:
  static Expected<ArtifactCache> open(const std::string& kind, std::uint64_t mostBytes = std::uint64_t(512)
                                                                                         << 20);

  /// Where the file of this key is or would be.
  std::string path(const std::string& key, const std::string& extension) const;
  /// Its contents, which count as used now.
  std::optional<std::string> read(const std::string& key, const std::string& extension) const;
  bool has(const std::string& key, const std::string& extension) const;
  Status write(const std::string& key, const std::string& extension, const std::string& contents) const;
  /// Removes the files and folders unused for longest until the rest fits.
  void trim() const;
  const std::string& directory() const { return folder; }

private:
  std::string folder;
  std::uint64_t mostBytes = 0;
};

} // namespace retile::backend
