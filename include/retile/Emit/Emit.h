// From a plan to text: the template, and its entry in the manifest.
#pragma once

#include "retile/Manifest/Manifest.h"
#include "retile/Support/Expected.h"
#include "retile/Transform/Plan.h"

namespace retile::emit {

/// A kernel as written to the output directory.
struct Emitted {
  std::string templateText, referenceText;
  manifest::Kernel entry;
};

/// `id` is file-safe and unique in the output.
Emitted emitKernel(const transform::Lifted& lifted, const transform::TransformPlan& plan, const std::string& id);

/// Writes manifest, templates, references and device helpers to `directory`, all or nothing: files are staged beside their
/// place and renamed. Files of an earlier run are replaced only where their hash is the one that run wrote; an edited
/// one is an error unless `force`.
Status writeOutput(const std::string& directory, manifest::Manifest manifest, const std::vector<Emitted>& kernels, bool force);

} // namespace retile::emit
