// One JSON object a kernel, for --json.
#pragma once

#include "retile/Transform/Lifted.h"

#include <nlohmann/json.hpp>

namespace retile {

/// {kernel, file, line, lift, parallel, sequential, reduction, access, sizes, legal, assumptions, remarks}; the parameters
/// come from the plan and are added by the caller.
nlohmann::ordered_json toJson(const transform::Lifted& lifted);

} // namespace retile
