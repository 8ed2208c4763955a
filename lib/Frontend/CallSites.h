// Launches in host code as model::CallSite: every expression over the host function's parameters, macros and
// literals.
#pragma once

#include "retile/KernelModel/Model.h"

#include "Collect.h"
#include "Macros.h"

namespace retile::frontend {

/// `macrosUsed` receives the overridable macros that occur in the result.
model::CallSite callSite(clang::ASTContext& context, const Launch& launch, const TunableMacros& macros,
                         std::map<std::string, std::int64_t>& macrosUsed);

} // namespace retile::frontend
