// Which functions of a translation unit matter: kernels, host functions, launches. One walk over the user's
// declarations.
#pragma once

#include "ClangHeaders.h"

namespace retile::frontend {

/// A `k<<<...>>>(...)` in code that exists: not in a template pattern, but in its instantiations.
struct Launch {
  const clang::CUDAKernelCallExpr* call = nullptr;
  const clang::FunctionDecl* kernel =
      nullptr;                               ///< the definition; null when the callee is not a known function
  const clang::FunctionDecl* host = nullptr; ///< around it; of a lambda: the function around that
  std::vector<const clang::Stmt*> path;      ///< from the body of `host` down to the call
};

struct Collected {
  std::vector<const clang::FunctionDecl*>
      functions; ///< every function definition of user code, patterns included
  std::vector<const clang::FunctionDecl*> kernels; ///< definitions and instantiations, in source order
  std::vector<const clang::FunctionDecl*>
      patterns;                      ///< kernel templates of the main file that nothing instantiates
  std::vector<Launch> launches;      ///< in the main file
  std::optional<std::string> header; ///< a user's header with kernels that the main file does not launch
};

/// Whether `where` is in a file of the user: not in a system header, not in our shim.
bool isUserCode(const clang::SourceManager& sources, clang::SourceLocation where);

/// Kernels of the main file, and those of the user's headers that the main file launches.
Collected collect(clang::ASTContext& context);

} // namespace retile::frontend
