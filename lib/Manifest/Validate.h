// Checks that need the whole manifest: names, expressions, duplicates and references. Not installed.
#pragma once

#include "retile/Manifest/Manifest.h"

namespace retile::manifest {

/// The error's message starts with the JSON pointer of what is wrong; the caller puts the file's name before
/// it.
Status validate(const Manifest& manifest);

} // namespace retile::manifest
