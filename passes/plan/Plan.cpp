// The plan pipeline and the questions that several passes ask.
#include "Passes.h"
#include "retile/Transform/Plan.h"

#include <algorithm>

namespace retile::transform {

using model::Stmt;
using model::StmtKind;
using model::StmtRef;

const DimPlan* TransformPlan::dim(const std::string& name) const {
  for (const DimPlan& one : dims)
    if (one.name == name) return &one;
  return nullptr;
}
const LoopPlan* TransformPlan::loop(const std::string& name) const {
  for (const LoopPlan& one : loops)
    if (one.name == name) return &one;
  return nullptr;
}
const StagePlan* TransformPlan::stage(const std::string& array) const {
  for (const StagePlan& one : stages)
    if (one.array == array) return &one;
  return nullptr;
}
bool TransformPlan::keeps(const std::string& array) const {
  return std::find(kept.begin(), kept.end(), array) != kept.end();
}

std::string upperName(const std::string& name) {
  std::string upper;
  for (char c : name)
    upper += static_cast<char>(toupper(static_cast<unsigned char>(c)));
  return upper;
}

bool dataSteers(const Lifted& lifted) {
  return std::any_of(lifted.accesses.begin(), lifted.accesses.end(), [](const Access& access) { return access.isSpelled; }) ||
         std::any_of(lifted.loops.begin(), lifted.loops.end(), [](const Dim& loop) { return loop.dataBound; });
}

std::set<std::string> jammedLoops(const Lifted& lifted) {
  std::set<std::string> names;
  auto visit = [&](auto&& self, const std::vector<StmtRef>& stmts) -> void {
    for (const StmtRef& stmt : stmts) {
      if (stmt->kind != StmtKind::For) continue;
      const Dim& dim = lifted.loops[stmt->variable];
      if (!dim.uniform) continue;
      names.insert(dim.name);
      self(self, stmt->body);
    }
  };
  // An array of a thread's own would need a copy an item: such programs run whole, item after item.
  // So do those that may return from inside a loop.
  if (!lifted.hasLocalArrays && !lifted.returnsEarly) visit(visit, lifted.body);
  return names;
}

std::string unusedName(const Lifted& lifted, const TransformPlan& plan, std::string wanted) {
  auto taken = [&](const std::string& name) {
    for (const auto& parameter : plan.parameters)
      if (parameter.name == name) return true;
    return lifted.isSize(name) || lifted.kernel.reference.find(name) != std::string::npos;
  };
  while (taken(wanted))
    wanted += "_";
  return wanted;
}

static void listLegal(const Lifted& lifted, TransformPlan& plan) {
  auto add = [&](const std::string& word) { plan.legal.push_back(word); };
  for (const Dim& dim : lifted.parallel)
    add("coarsen(" + dim.name + ")");
  for (const Dim& dim : lifted.parallel)
    add("tile(" + dim.name + ")");
  bool reduces = false;
  for (const Dim& dim : lifted.loops) {
    if (dim.uniform) add("tile(" + dim.name + ")");
    reduces = reduces || dim.kind == Dim::Reduction;
  }
  if (lifted.parallel.size() + lifted.loops.size() > 1) add("interchange");
  for (const StagePlan& stage : plan.stages)
    add("stage(" + stage.array + ")");
  for (const auto& array : plan.kept)
    add("regcache(" + array + ")");
  const std::string inner = lifted.parallel.back().name;
  for (const auto& access : lifted.accesses)
    if (!access.subscripts.empty() && access.subscripts.back().coefficient(inner) == Polynomial(1)) {
      add("vectorize(" + inner + ")");
      break;
    }
  for (const Dim& dim : lifted.loops)
    add("unroll(" + dim.name + ")");
  if (lifted.loops.empty()) add("unroll(" + inner + ")");
  add("persistent-grid");
  if (reduces) add("split-reduction(fp-reassoc)");
}

TransformPlan plan(const Lifted& lifted) {
  TransformPlan plan;
  if (lifted.keepsText) {
#define RETILE_PLAN_PASS(function, flag, what)
#define RETILE_TEXT_PASS(function, flag, what) function(lifted, plan);
#include "../Passes.def"
#undef RETILE_PLAN_PASS
    return plan;
  }
#define RETILE_PLAN_PASS(function, flag, what) function(lifted, plan);
#include "../Passes.def"
#undef RETILE_PLAN_PASS
  listLegal(lifted, plan);
  return plan;
}

} // namespace retile::transform
