// The lift pipeline, in order; each step is one file beside this one.
#include "BlockLifter.h"
#include "Parameters.h"
#include "retile/KernelModel/Normalize.h"

namespace retile::lift {

Lifter::Lifter(const model::Kernel& kernel) { out.kernel = kernel; }

Lifted Lifter::run() {
  model::Kernel& kernel = out.kernel;
  for (const auto& [at, why] : kernel.broken)
    fail(at, why);
  if (failed) return out;
  normalize(kernel.body);
  copyChangedParameters(kernel);
  for (const auto& [at, why] : kernel.opaque)
    fail(at, why);
  readLaunch();
  nameAxes();
  checkSynchronisation();
  if (failed) return out;
  peel(kernel.body);
  if (failed) return out;
  dropDeadCode();
  // In this order: bounds need the dimensions, subscripts need the bounds, proofs need the subscripts.
  collectDims();
  if (!failed) boundDims();
  if (!failed) delinearize();
  if (!failed) proveIndependence();
  if (!failed) classifyLoops();
  if (!failed) computeExtents();
  if (!failed && out.accesses.empty()) fail(kernel.location, "the kernel touches no memory");
  bool writes = false;
  for (const auto& access : out.accesses)
    writes = writes || access.isWrite;
  if (!failed && !writes) fail(kernel.location, "the kernel writes nothing");
  bool isPartial = out.returnsEarly;
  for (const auto& access : out.accesses)
    isPartial = isPartial || access.isSpelled || access.isAtomic;
  for (const Dim& loop : out.loops)
    isPartial = isPartial || loop.dataBound;
  if (!failed) out.level = isPartial ? transform::Level::Partial : transform::Level::Full;
  return out;
}

} // namespace retile::lift

namespace retile::transform {

Lifted lift(const model::Kernel& kernel) {
  Lifted pointwise = lift::Lifter(kernel).run();
  if (pointwise.level != Level::Refuse || pointwise.illDefined || !kernel.broken.empty()) return pointwise;
  return lift::BlockLifter(kernel).run(pointwise);
}

} // namespace retile::transform
