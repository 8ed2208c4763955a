#include "Json.h"

namespace retile {

using nlohmann::ordered_json;
using transform::Dim;

static ordered_json assumptionText(const transform::Assumption& assumption) {
  std::string text = predicate(assumption);
  if (assumption.kind == "no-overlap") text = assumption.tensors[0] + " and " + assumption.tensors[1] + " do not overlap";
  return {{"kind", assumption.kind}, {"text", text}, {"why", assumption.why}};
}

ordered_json toJson(const transform::Lifted& lifted) {
  const model::Kernel& kernel = lifted.kernel;
  ordered_json out{{"kernel", kernel.instance.empty() ? kernel.name : kernel.instance},
                   {"file", kernel.location.file},
                   {"line", kernel.location.line},
                   {"lift", transform::toString(lifted.level)}};
  // Below, accesses and dimensions only served to make test data.
  const bool claims = lifted.level >= transform::Level::Partial;
  auto names = [&](Dim::Kind kind) {
    ordered_json list = ordered_json::array();
    for (const auto* dims : {&lifted.parallel, &lifted.loops})
      for (const Dim& dim : *dims)
        if (dim.kind == kind && claims) list.push_back(dim.name);
    return list;
  };
  out["parallel"] = names(Dim::Parallel);
  out["sequential"] = names(Dim::Sequential);
  out["reduction"] = names(Dim::Reduction);
  ordered_json access = ordered_json::array(), sizes = ordered_json::array(), assumptions = ordered_json::array(),
               remarks = ordered_json::array();
  if (claims)
    for (const auto& one : lifted.accesses) {
      std::string text = lifted.reportAccess(one) + " # " + (one.isMay ? "may-" : "") + (one.isAtomic ? "reduce" : one.isWrite ? "write" : "read");
      if (std::find(access.begin(), access.end(), text) == access.end()) access.push_back(text);
    }
  for (const auto& [name, size] : lifted.sizes) {
    ordered_json entry{{"name", name}, {"kind", size.isMacro ? "macro" : "value"}};
    if (size.value) entry["default"] = *size.value;
    sizes.push_back(entry);
  }
  for (const auto& assumption : lifted.assumptions)
    assumptions.push_back(assumptionText(assumption));
  for (const auto& remark : lifted.remarks)
    remarks.push_back({{"line", remark.location.line}, {"column", remark.location.column}, {"text", remark.text}});
  out["access"] = access;
  out["sizes"] = sizes;
  out["assumptions"] = assumptions;
  out["remarks"] = remarks;
  return out;
}

} // namespace retile
