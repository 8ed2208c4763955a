// A kernel's definition as text, cut up for templates that keep it whole.
#pragma once

#include "ClangHeaders.h"
#include "retile/KernelModel/Model.h"

namespace retile::frontend {

/// `kernel` is an instance or a plain function with a body.
model::SourceText kernelText(clang::ASTContext& context, const clang::FunctionDecl* kernel);

} // namespace retile::frontend
