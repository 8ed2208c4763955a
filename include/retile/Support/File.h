// Whole files: read with a size limit, written so that a reader sees the old contents or the new, never a
// part.
#pragma once

#include "retile/Support/Expected.h"

#include <cstddef>
#include <string>

namespace retile {

/// The bytes of a regular file of at most `limit` bytes; the error names the file and the system's reason.
Expected<std::string> readFile(const std::string& path, std::size_t limit = std::size_t(64) << 20);

/// Writes a temporary file beside `path`, syncs it and renames it over `path`. Errors have
/// ExitCode::Environment.
Status writeFileAtomically(const std::string& path, const std::string& contents);

/// Makes `path` and its parents. Errors have ExitCode::Environment.
Status makeDirectory(const std::string& path);

} // namespace retile
