// Every result, durable before the next candidate starts: a run that was killed continues where it stopped.
#pragma once

#include "retile/Tuner/Backend.h"

#include <memory>
#include <optional>
#include <string>

namespace retile::tuner {

/// What a result belongs to. The hashes cover the sources, the compile flags and the kernel's entry in the
/// manifest, so that results of an edited template are never mixed with those of another.
struct RecordKey {
  std::string kernel, templateHash, referenceHash, sizes, device;
};

struct Record {
  Outcome outcome = Outcome::Ok;
  std::string detail;
  double medianMs = 0, lowMs = 0, highMs = 0;
  int repetitions = 0;
  Resources resources;
  double compileSeconds = 0, verifySeconds = 0;
  std::string binaryKey; ///< Compiled::key
};

/// One SQLite file, in WAL mode and synchronous=FULL.
class Records {
public:
  /// Makes the file when there is none; `fresh` first moves an existing one to PATH.old. A file that is not a
  /// sound database of this version is an Input error, one that cannot be written an Environment error.
  static Expected<Records> open(const std::string& path, bool fresh);

  Expected<std::optional<Record>> find(const RecordKey& key, const std::string& config) const;
  /// Durable when it returns; replaces an earlier result of the same configuration.
  Status insert(const RecordKey& key, const std::string& config, const Record& record);

private:
  struct Database;
  std::shared_ptr<Database> database;
};

/// The key of `kernel` at `sizes` on a device, from the files in `directory` as they are now.
Expected<RecordKey> makeKey(const std::string& directory, const manifest::CompileFlags& flags,
                            const manifest::Kernel& kernel, const Bindings& sizes, const DeviceInfo& device);

} // namespace retile::tuner
