// How many elements of each array the kernel reaches, and which arrays must not overlap.
#include "Lifter.h"

namespace retile::lift {

using model::Type;

/// Arrays are taken for disjoint; a call site that passes one array twice says that they are not.
std::string Lifter::whySharesArrays(const std::set<int>& written) const {
  const model::Kernel& kernel = out.kernel;
  for (const model::CallSite& site : kernel.callSites)
    for (size_t a = 0; a < kernel.parameters.size() && a < site.arguments.size(); ++a)
      for (size_t b = 0; b < kernel.parameters.size() && b < site.arguments.size(); ++b) {
        const auto &one = kernel.variables[kernel.parameters[a]], &other = kernel.variables[kernel.parameters[b]];
        bool compared = a != b && one.type.kind == Type::Pointer && other.type.kind == Type::Pointer && written.count(kernel.parameters[a]);
        if (!compared || !site.arguments[a] || !site.arguments[b]) continue;
        std::string text = print(kernel, site.arguments[a]);
        if (!text.empty() && text == print(kernel, site.arguments[b])) return "a call site passes '" + text + "' as both '" + one.name + "' and '" + other.name + "'";
      }
  return "";
}

void Lifter::computeExtents() {
  boundUnknowns();
  for (auto& [name, array] : out.arrays) {
    // Largest subscript of each dimension; the last element is the sum of all of them.
    Polynomial last;
    for (size_t k = 0; k < array.strides.size(); ++k) {
      std::optional<Polynomial> most;
      for (const Access& access : out.accesses) {
        if (access.array != name) continue;
        auto bounds = subscriptBounds(access, access.subscripts[k], true);
        if (!bounds && access.isMay) {
          if (out.untestable.empty()) out.untestable = "no bound is known for the subscript of '" + name + "' in line " + std::to_string(access.location.line);
          continue;
        }
        if (!bounds) return fail(access.location, "the extent of '" + name + "' has no bound");
        for (const Polynomial& bound : *bounds)
          most = most ? Polynomial::maximum(*most, bound) : bound;
      }
      if (most) last = last + *most * array.strides[k];
    }
    array.extent = last + Polynomial(1);
    const model::Variable& variable = out.kernel.variables[array.variable];
    if (variable.kind == model::Variable::Global) {
      std::int64_t declared = 1;
      for (auto extent : variable.extents)
        declared *= extent;
      // Beyond what is declared the original reads what happens to lie there.
      Polynomial rest = Polynomial(declared - 1) - last;
      Evaluator evaluate = evaluator();
      bool within = true;
      for (const Access& access : out.accesses)
        within = within && (access.array != name || provedAt(access, Polynomial(declared - 1) - access.flat));
      if (!within && !out.neverNegative(rest)) {
        bool canTest = rest.toIsl({}) && !rest.constant() && evaluate.isSizesOnly(rest);
        std::string why = "'" + name + "' has " + std::to_string(declared) + " elements and is used up to [" + last.toText() + "]";
        if (!canTest) return rest.constant() ? refuse(out.kernel.location, why) : fail(out.kernel.location, why);
        evaluate.assume(rest, name + " is declared with " + std::to_string(declared) + " elements");
      }
      array.extent = Polynomial(declared);
    }
  }
  std::set<int> written;
  for (const auto& [name, array] : out.arrays)
    if (array.isWritten) written.insert(array.variable);
  if (std::string why = whySharesArrays(written); !why.empty()) fail(out.kernel.location, why);
  for (const auto& [name, array] : out.arrays) {
    if (!array.isWritten) continue;
    for (const auto& [otherName, other] : out.arrays) {
      if (otherName == name || (other.isWritten && otherName < name)) continue;
      const auto &a = out.kernel.variables[array.variable].type, &b = out.kernel.variables[other.variable].type;
      if (!array.symbol.empty() || !other.symbol.empty()) continue;
      if (a.isRestrict && b.isRestrict) continue;
      out.assumptions.push_back({"no-overlap", {}, "", {name, otherName}, name + " does not overlap " + otherName});
    }
  }
}

} // namespace retile::lift
