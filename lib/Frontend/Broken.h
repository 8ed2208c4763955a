// Judging one kernel by its own AST, and that of what it calls, whatever is wrong elsewhere in the file.
#pragma once

#include "Diagnostics.h"

#include <set>

namespace retile::frontend {

using Reasons = std::vector<std::pair<model::Location, std::string>>;

/// Why `kernel` cannot be used; empty when its AST is clean. Errors that it is blamed for are added to
/// `blamed`.
Reasons brokenReasons(clang::ASTContext& context, const clang::FunctionDecl* kernel,
                      const std::vector<ParseError>& errors, std::set<const ParseError*>& blamed);

} // namespace retile::frontend
