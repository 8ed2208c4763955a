// What is left where a kernel is well defined but not lifted: its own text, with launch bounds and the
// unrolling of its loops as parameters, on the same grid and block and with the same arguments. Nothing has
// to be proved for that but that the text is there; sizes and extents are only needed to make test data.
#include "BlockLifter.h"
#include "retile/KernelModel/Normalize.h"

namespace retile::lift {

/// A value of the call site over sizes that are known; new ones are added.
std::optional<Polynomial> BlockLifter::hostValue(const model::ExprRef& expr) {
  auto value = evaluateHost(expr);
  if (!value || !value->isValid())
    return std::nullopt;
  for (const auto& name : value->symbols())
    if (!out.isSize(name))
      return std::nullopt;
  return value;
}

/// The launch on axes that no call site gives: as many blocks as the accesses can tell apart.
void BlockLifter::resolveLaunch() {
  for (size_t n = 0; n < out.parallel.size(); ++n) {
    Dim& dim = out.parallel[n];
    if (dim.endKnown)
      continue;
    std::optional<Polynomial> most;
    bool bounded = true;
    for (const Access& access : out.accesses) {
      auto map = poly::Map::parse(out.islAccess(access));
      auto domain = map ? map->domain() : std::nullopt;
      auto pieces = domain ? domain->maximum(static_cast<unsigned>(n)) : std::nullopt;
      bounded = bounded && pieces;
      for (const Polynomial& piece : pieces.value_or(std::vector<Polynomial>{}))
        most = most ? Polynomial::maximum(*most, piece) : piece;
    }
    if (out.accesses.empty()) bounded = false;
    if (!bounded || !most) {
      out.untestable = std::string("nothing says how many blocks there are along ") + "xyz"[dim.axis];
      return;
    }
    out.grid[dim.axis] = *most + Polynomial(1);
  }
}

void BlockLifter::keepText(const Lifted& pointwise) {
  out.keepsText = true;
  out.level = transform::Level::Knobs;
  out.remarks = pointwise.remarks;
  out.sumsInAnyOrder = sumsFloatsAtomically;
  std::string& why = out.untestable;
  bool unknownShared = out.callSite && out.callSite->shared && !out.sharedBytes;
  if (unknownShared) why = "the bytes of dynamic shared memory at the launch are not known";
  if (why.empty() && !unknown.empty()) why = unknown.front().why;
  // What is opaque may touch memory of its own.
  if (why.empty() && !out.kernel.opaque.empty()) why = out.kernel.opaque.front().second;
  if (why.empty() && usesAtomicResult) why = "the result depends on the order of atomic updates";
  if (why.empty()) why = noAccesses;
  if (why.empty()) return;
  if (!noAccesses.empty()) out.accesses.clear();
  out.arrays.clear();
  out.assumptions.clear();
}

Lifted BlockLifter::run(const Lifted& pointwise) {
  model::Kernel& kernel = out.kernel;
  const model::Kernel original = kernel;
  if (!kernel.text.whyNot.empty() || kernel.text.body.empty()) {
    out.remarks = pointwise.remarks;
    out.remarks.push_back({kernel.location, "its text cannot be kept: " + kernel.text.whyNot, true});
    return out;
  }
  model::normalize(kernel.body);
  model::collectAssigned(kernel.body, assignedInAll);
  readLaunch();
  if (out.callSite && out.callSite->shared) out.sharedBytes = hostValue(out.callSite->shared);
  nameAxes();
  enterBlocks();
  enterThreads();
  follow(kernel.body);
  liftBlocks(pointwise);
  // A block index beside the unit that stands for it: they would have to be tied together.
  bool retry = out.level == transform::Level::Knobs && !units.empty();
  return retry ? BlockLifter(original, false).run(pointwise) : out;
}

} // namespace retile::lift
