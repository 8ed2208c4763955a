// Which test data a kernel can run on that uses loaded numbers as subscripts and bounds.
//
//   x[col[j]]                                   ->   col holds numbers in [0, extent of x), or [0, col_end)
//   where x has none for (j = ptr[i]; j < ptr[i + 1]; ++j) a[j]  ->   ptr holds sorted numbers from 0 to
//   ptr_end, which is a's extent for (k = 0; k < len[i]; ++k) a[k*n + i]     ->   len holds numbers in [0,
//   len_end]
//
// Only data that keep every subscript bounded are asked for: what the program clamps itself stays random.
// These ranges are for tests alone: they come after all proofs.
#include "Lifter.h"

namespace retile::lift {

using transform::Array;
using transform::Unknown;

void Lifter::boundUnknowns() {
  // Unknowns that a subscript without a bound depends on.
  std::set<std::string> needed;
  for (const Access& access : out.accesses) {
    if (access.unknowns.empty() && !access.isMay)
      continue;
    bool isBounded = true;
    for (const auto& subscript : access.subscripts)
      isBounded =
          isBounded && subscriptBounds(access, subscript, true) && subscriptBounds(access, subscript, false);
    if (!isBounded)
      needed.insert(access.unknowns.begin(), access.unknowns.end());
  }
  std::map<std::string, std::vector<std::string>> bySource;
  for (const auto& name : needed)
    if (auto found = out.unknowns.find(name); found != out.unknowns.end() && !found->second.source.empty())
      bySource[found->second.source].push_back(name);

  for (const auto& [source, names] : bySource) {
    auto array = out.arrays.find(source);
    // What the kernel itself writes is not test data.
    if (array == out.arrays.end() || array->second.isWritten ||
        array->second.element.kind != model::Type::Int)
      continue;
    auto isOurs = [&](const Polynomial& value) {
      for (const auto& name : value.symbols())
        if (std::find(names.begin(), names.end(), name) != names.end())
          return true;
      return false;
    };
    bool isFirst = false, isLast = false;
    for (const Dim& loop : out.loops) {
      if (!loop.dataBound || !loop.bounded)
        continue;
      isFirst = isFirst || isOurs(loop.from);
      isLast = isLast || isOurs(loop.to);
    }
    // An extent that is known otherwise: a row of constant length, or what affine accesses of the array
    // reach.
    std::optional<Polynomial> end;
    bool agrees = true;
    for (const Access& access : out.accesses) {
      Array& target = out.arrays[access.array];
      for (size_t k = 0; k < access.subscripts.size(); ++k) {
        auto symbol = access.subscripts[k].asSymbol();
        if (!symbol || !isOurs(access.subscripts[k]))
          continue;
        std::optional<Polynomial> extent;
        if (k > 0)
          extent = Polynomial::floorDiv(target.strides[k - 1], target.strides[k]);
        if (k > 0 && target.strides[k].constant() == 1)
          extent = target.strides[k - 1];
        for (const Access& other : out.accesses)
          if (k == 0 && other.array == access.array && other.unknowns.empty() && !other.isMay)
            if (auto bounds = subscriptBounds(other, other.subscripts[0], true);
                bounds && bounds->size() == 1)
              extent = bounds->front() + Polynomial(1);
        const model::Variable& variable = out.kernel.variables[target.variable];
        if (k == 0 && !variable.extents.empty() && variable.extents.size() == target.strides.size())
          extent = Polynomial(variable.extents[0]);
        if (!extent)
          continue;
        agrees = agrees && (!end || *end == *extent);
        end = extent;
      }
    }
    if (!end || !agrees) {
      std::string size = source + "_end";
      while (out.isSize(size) || out.dim(size) || out.arrays.count(size))
        size += "_";
      out.sizes[size].name = size;
      end = Polynomial::symbol(size);
    }
    bool isBound = isFirst || isLast;
    auto text = (isBound ? *end : *end - Polynomial(1)).toIsl(dimNames());
    if (!text)
      continue;
    for (const auto& name : names)
      out.unknowns[name].range = "0 <= " + name + " <= " + *text;
    array->second.data = isFirst && isLast ? "offsets" : "index";
    array->second.dataEnd = isBound && !(isFirst && isLast) ? *end + Polynomial(1) : *end;
  }
}

} // namespace retile::lift
