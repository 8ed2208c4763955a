// Runs the outermost uniform loops in tiles of TILE_k steps, unrolled UNROLL_k times. The order of the steps stays.
//
//   for (k = 0; k < K; ++k) S   ->   for (k0 = 0; k0 < K; k0 += TILE_K) for (k in tile) S
//
// Legality: none needed, a sequential loop is cut into pieces. Alone it only unrolls; with stage it gives reuse.
#include "Passes.h"

namespace retile::transform {

void planLoops(const Lifted& lifted, TransformPlan& plan) {
  auto jammed = jammedLoops(lifted);
  for (const auto& stmt : lifted.body) {
    if (stmt->kind != model::StmtKind::For) continue;
    const Dim& dim = lifted.loops[stmt->variable];
    auto trip = (dim.to - dim.from).constant();
    if (!jammed.count(dim.name) || dim.step.constant() != 1 || (trip && *trip <= 32)) continue;
    LoopPlan loop;
    loop.name = dim.name;
    loop.upper = upperName(dim.name);
    plan.loops.push_back(loop);
  }
}

/// Called by stage once it is known whether anything is staged in the loop.
void addLoopParameters(TransformPlan& plan) {
  for (const LoopPlan& loop : plan.loops) {
    std::string tile = "TILE_" + loop.upper, unroll = "UNROLL_" + loop.upper;
    plan.parameters.push_back({unroll, "unrolled steps of " + loop.name + ", 0 leaves it to the compiler", {0, 1, 2, 4, 8, 16, 32}, 0});
    if (!loop.staged) continue;
    plan.parameters.push_back({tile, "steps of " + loop.name + " between two barriers", {1, 4, 8, 16, 32, 64}, 1});
    plan.parameters.push_back({"STAGES_" + loop.upper, "tiles of " + loop.name + " in flight", {1, 2, 3, 4}, 1});
    std::string any;
    for (const StagePlan& stage : plan.stages)
      if (stage.loop == loop.name) any += (any.empty() ? "" : " + ") + ("STAGE_" + stage.upper);
    plan.constraints.emplace_back(any + " > 0 || (" + tile + " == 1 && STAGES_" + loop.upper + " == 1)",
                                  "without staging there is nothing to tile for");
    plan.constraints.emplace_back(any + " == 0 || " + tile + " > 1", "a barrier a step is too many");
    plan.constraints.emplace_back(unroll + " <= max(" + tile + ", 8 * (" + tile + " == 1))", "unrolling stays within a tile");
  }
}

} // namespace retile::transform
