// Clang types and places as the model's plain data.
#pragma once

#include "ClangHeaders.h"
#include "retile/KernelModel/Model.h"

namespace retile::frontend {

/// The type with its spelling in the reference slice; references are looked through.
model::Type convertType(clang::ASTContext& context, clang::QualType type);

/// Where the expansion of `at` stands in the user's file.
model::Location location(const clang::SourceManager& sources, clang::SourceLocation at);

} // namespace retile::frontend
