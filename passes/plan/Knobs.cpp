// Parameters of a template that keeps the kernel's own text: how many blocks are to be resident, how often
// its loops are unrolled.
//
//   for (int i = ...; i < end; i += blockDim.x)   ->   UNROLL_I in 0 (the compiler's choice), 1, 2, 4, 8
//
// Always legal: neither changes what a thread does. Left out: loops whose source already says how to unroll
// them, and launch bounds where nothing says how many threads a block has.
#include "Passes.h"

namespace retile::transform {

void planKnobs(const Lifted& lifted, TransformPlan& plan) {
  const model::Kernel& kernel = lifted.kernel;
  std::int64_t threads = 1;
  bool known = true;
  for (const Polynomial& size : lifted.block) {
    known = known && size.constant();
    threads *= size.constant().value_or(1);
  }
  if (kernel.maxThreads)
    plan.textThreads = *kernel.maxThreads;
  else if (known)
    plan.textThreads = threads;
  // 0: no bound, as in the original that has none.
  if (plan.textThreads) {
    std::vector<std::int64_t> values{0, 1, 2, 3, 4};
    std::int64_t original = kernel.minBlocks.value_or(0);
    if (original > 4)
      values.push_back(original);
    plan.parameters.push_back({unusedName(lifted, plan, "MIN_BLOCKS"),
                               "blocks that are to be resident on a multiprocessor, 0: as the compiler likes",
                               values, original});
  }
  std::map<std::string, std::string> parameterOf;
  for (size_t n = 0; n < kernel.text.loops.size(); ++n) {
    const model::SourceLoop& loop = kernel.text.loops[n];
    if (loop.hasPragma || loop.variable.empty())
      continue;
    // Loops over one name share a parameter: the search space stays small.
    auto [entry, isNew] = parameterOf.try_emplace(loop.variable);
    if (isNew) {
      entry->second = unusedName(lifted, plan, "UNROLL_" + upperName(loop.variable));
      plan.parameters.push_back(
          {entry->second,
           "iterations of " + loop.variable + " that are unrolled, 0: as the compiler likes",
           {0, 1, 2, 4, 8},
           0});
      plan.legal.push_back("unroll(" + loop.variable + ")");
    }
    plan.textLoops.push_back({n, entry->second});
  }
  if (plan.parameters.empty())
    plan.parameters.push_back(
        {unusedName(lifted, plan, "AS_WRITTEN"), "nothing of this kernel varies", {1}, 1});
}

} // namespace retile::transform
