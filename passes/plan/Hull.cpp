// Splits the domain into its hull, a box, and what else must hold.
//
//   0 <= i < n and 0 <= j <= i   ->   box i < n, j < n; residual j <= i
//
// Emitted code clamps coordinates to the box and tests the residual.
#include "Passes.h"

namespace retile::transform {

/// Whether a point outside of the domain could do harm, or never end, when it runs with another's coordinates: it may see
/// half of what that one writes, and what it combines would count twice.
static bool needsGuard(const Lifted& lifted) {
  bool isPartial = lifted.level == Level::Partial, harms = lifted.returnsEarly;
  for (const Dim& loop : lifted.loops)
    harms = harms || !loop.bounded;
  for (const auto& access : lifted.accesses)
    harms = harms || access.isAtomic;
  for (const auto& [name, array] : lifted.arrays)
    harms = harms || (isPartial && array.isRead && array.isWritten);
  return harms;
}

void planHull(const Lifted& lifted, TransformPlan& plan) {
  std::set<std::string> dims;
  std::string tuple, box;
  for (const Dim& dim : lifted.parallel) {
    dims.insert(dim.name);
    tuple += (tuple.empty() ? "" : ", ") + dim.name;
  }
  bool exact = true;
  auto add = [&](const std::string& constraint) { box += (box.empty() ? "" : " and ") + constraint; };
  for (const Dim& dim : lifted.parallel) {
    if (dim.lower.size() == 1) add(dim.name + " >= " + dim.lower[0].toIsl(dims).value_or("0"));
    else exact = false;
    if (dim.upper.size() == 1) add(dim.name + " <= " + dim.upper[0].toIsl(dims).value_or("0"));
    else if (!dim.upper.empty()) exact = false;
    if (dim.needsEnd)
      if (auto end = dim.end.toIsl(dims)) add(dim.name + " < " + *end);
  }
  std::string prefix = lifted.islParameters() + "{ S[" + tuple + "] : ", context = " and " + lifted.islContext() + " }";
  auto domain = poly::Set::parse(prefix + lifted.domain + context);
  auto hull = exact ? poly::Set::parse(prefix + box + context) : std::nullopt;
  if (domain && hull) {
    auto inside = hull->isSubsetOf(*domain);
    plan.rectangular = inside && *inside;
    if (plan.rectangular) {
      // Points outside of the box do not run at all then.
      plan.rectangular = !needsGuard(lifted);
      return;
    }
  }
  plan.rectangular = false;
  if (!domain) return;
  auto rest = hull ? domain->gist(*hull) : domain;
  if (rest) rest = rest->coalesce();
  auto constraints = rest ? rest->constraints() : std::nullopt;
  if (constraints) plan.residual = *constraints;
}

} // namespace retile::transform
