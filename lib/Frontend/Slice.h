// The part of a file that one kernel needs, as source text that compiles on its own.
#pragma once

#include "Collect.h"
#include "Macros.h"

#include <string>

namespace retile::frontend {

struct SliceText {
  std::string reference; ///< self-contained; the kernel's definition stands in #ifndef RETILE_NO_REFERENCE
  std::string source;    ///< the kernel's own text as written
};

/// Cuts slices out of one translation unit; the index of its declarations is made once.
class Slicer {
public:
  Slicer(clang::ASTContext& context, const clang::Preprocessor& preprocessor, const MacroLog& log,
         const TunableMacros& macros);
  ~Slicer();

  /// What `kernel` (an instance or a plain function) needs, in source order.
  SliceText slice(const clang::FunctionDecl* kernel);

  struct Index;

private:
  std::unique_ptr<Index> index;
};

} // namespace retile::frontend
