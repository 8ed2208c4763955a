// From a kernel's AST to model statements.
#pragma once

#include "ClangHeaders.h"
#include "Macros.h"
#include "retile/KernelModel/Model.h"

namespace retile::frontend {

/// Fills parameters, variables, maxThreads, body, macroSizes, opaque and broken of `out` from the definition of `kernel`
/// (an instantiation, if the kernel is a template). What cannot be modelled becomes an Opaque node and a reason in
/// `out.opaque`; nothing is guessed.
void buildBody(clang::ASTContext& context, const clang::FunctionDecl* kernel, const TunableMacros& macros,
               model::Kernel& out);

} // namespace retile::frontend
