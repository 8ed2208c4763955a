#include "ArtifactCache.h"

#include "retile/Support/File.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace retile::backend {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> rootCandidates() {
  std::vector<std::string> roots;
  const auto add = [&](const char* variable, const char* suffix) {
    const char* value = std::getenv(variable);
    if (value && *value)
      roots.push_back(std::string(value) + suffix);
  };
  add("RETILE_CACHE", "");
  add("XDG_CACHE_HOME", "/retile");
  add("HOME", "/.cache/retile");
  std::error_code ignored;
  roots.push_back(fs::temp_directory_path(ignored).string() + "/retile-" + std::to_string(geteuid()));
  return roots;
}

/// Ours alone: a directory, not a link, that nobody else can write to.
bool isPrivate(const std::string& folder) {
  struct stat info;
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(folder.c_str(), W_OK) == 0;
}

bool preparePrivate(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    return false;
  chmod(folder.c_str(), 0700);
  return isPrivate(folder);
}

/// Of a file, or of all files in a folder.
std::uint64_t bytesOf(const fs::directory_entry& entry) {
  std::error_code failed;
  if (entry.is_regular_file(failed))
    return entry.file_size(failed);
  std::uint64_t total = 0;
  for (fs::recursive_directory_iterator it(entry.path(), failed), end; !failed && it != end;
       it.increment(failed))
    if (std::error_code bad; it->is_regular_file(bad))
      total += it->file_size(bad);
  return total;
}

} // namespace

Expected<ArtifactCache> ArtifactCache::open(const std::string& kind, std::uint64_t mostBytes) {
  ArtifactCache cache;
  cache.mostBytes = mostBytes;
  for (const std::string& root : rootCandidates()) {
    if (!preparePrivate(root) || !preparePrivate(root + "/" + kind))
      continue;
    cache.folder = root + "/" + kind;
    cache.trim();
    return cache;
  }
  return Error{"no folder for compiled candidates", "set RETILE_CACHE to a folder of your own",
               ExitCode::Environment};
}

std::string ArtifactCache::path(const std::string& key, const std::string& extension) const {
  return folder + "/" + key + extension;
}

bool ArtifactCache::has(const std::string& key, const std::string& extension) const {
  const std::string file = path(key, extension);
  if (access(file.c_str(), R_OK) != 0)
    return false;
  utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
  return true;
}

std::optional<std::string> ArtifactCache::read(const std::string& key, const std::string& extension) const {
  if (!has(key, extension))
    return std::nullopt;
  Expected<std::string> contents = readFile(path(key, extension), std::size_t(256) << 20);
  if (!contents)
    return std::nullopt;
  return *std::move(contents);
}

Status ArtifactCache::write(const std::string& key, const std::string& extension,
                            const std::string& contents) const {
  return writeFileAtomically(path(key, extension), contents);
}

void ArtifactCache::trim() const {
  struct Entry {
    fs::file_time_type used;
    std::uint64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code bad;
    const Entry entry{it->last_write_time(bad), bytesOf(*it), it->path()};
    if (bad)
      continue;
    total += entry.bytes;
    entries.push_back(entry);
  }
  if (total <= mostBytes)
    return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= mostBytes)
      break;
    fs::remove_all(entry.path, failed);
    total -= entry.bytes;
  }
}

} // namespace retile::backend
