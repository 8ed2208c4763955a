// A template that is the kernel's own text: the same parameter list and body, in the namespace of the
// original, with launch bounds and unrolling as template parameters.
//
//   __global__ void k(int* a, int n) { for (int i = 0; i < n; ++i) a[i] = 0; }
//   ->  template <int MIN_BLOCKS, int UNROLL_I> __global__ void __launch_bounds__(256, MIN_BLOCKS)
//       retile_k(int* a, int n) { { RETILE_UNROLL_BY(UNROLL_I) for (int i = 0; i < n; ++i) a[i] = 0; } }
#include "TemplateEmitter.h"

namespace retile::emit {

std::string scopeOf(const model::Kernel& kernel) {
  size_t at = kernel.qualifiedName.rfind("::");
  return at == std::string::npos ? "" : kernel.qualifiedName.substr(0, at);
}

/// The body with a pragma in front of every loop that a parameter unrolls. Braces around both: a pragma is no
/// part of the statement behind an `if` or `else`.
static std::string bodyText(const model::SourceText& text, const TransformPlan& plan) {
  std::map<size_t, std::string> insertions;
  for (const transform::TextLoopPlan& loop : plan.textLoops) {
    insertions[text.loops[loop.loop].begin] += "{ RETILE_UNROLL_BY(" + loop.parameter + ") ";
    std::string& behind = insertions[text.loops[loop.loop].end];
    behind = " }" + behind;
  }
  std::string body;
  size_t copied = 0;
  for (const auto& [at, insertion] : insertions) {
    body += text.body.substr(copied, at - copied) + insertion;
    copied = at;
  }
  return body + text.body.substr(copied);
}

/// `f(const float* x, int n)` with the names of its parameters alone.
static std::string argumentNames(const model::Kernel& kernel) {
  std::string names;
  for (int index : kernel.parameters)
    names += (names.empty() ? "" : ", ") + kernel.variables[index].name;
  return names;
}

/// The kernel that runs blocks of the original; the logical grid comes behind its arguments.
static std::string blockLoop(const Lifted& lifted, const TransformPlan& plan, const std::string& call) {
  bool isFlat = lifted.axisKnown[1] && lifted.axisKnown[2] && lifted.grid[1].constant() == 1 && lifted.grid[2].constant() == 1;
  bool usesShared = false;
  for (const auto& variable : lifted.kernel.variables)
    usesShared = usesShared || variable.kind == model::Variable::SharedArray || variable.kind == model::Variable::DynamicShared;
  std::string block = isFlat ? "uint3{(unsigned)retileBlock, 0, 0}"
                             : "uint3{(unsigned)(retileBlock % retileBlocks.x), (unsigned)(retileBlock / retileBlocks.x % retileBlocks.y), (unsigned)(retileBlock / retileBlocks.x / retileBlocks.y)}";
  return "  if constexpr (" + plan.coarsen + " == 1 && " + plan.persistent + " == 0) {\n    " + call + "blockIdx, gridDim);\n  } else {\n" +
         "    const dim3 retileBlocks(retileGridX, retileGridY, retileGridZ);\n    const long long retileCount = " +
         (isFlat ? "retileBlocks.x" : "(long long)retileBlocks.x * retileBlocks.y * retileBlocks.z") + ";\n" +
         "    for (long long retileBlock = blockIdx.x; retileBlock < retileCount; retileBlock += gridDim.x) {\n      " + call + block + ", retileBlocks);\n" +
         (usesShared ? "      if (retileBlock + gridDim.x < retileCount) __syncthreads(); // the next one writes to the same shared memory\n" : "") + "    }\n  }\n";
}

std::string keptText(const Lifted& lifted, const TransformPlan& plan, const std::string& name) {
  const model::Kernel& kernel = lifted.kernel;
  std::string parameters, values, unrolls, scope = scopeOf(kernel);
  for (const auto& parameter : plan.parameters)
    parameters += (parameters.empty() ? "int " : ", int ") + parameter.name;
  std::set<std::string> inBody;
  for (const auto& loop : plan.textLoops)
    if (inBody.insert(loop.parameter).second) {
      values += (values.empty() ? "" : ", ") + loop.parameter;
      unrolls += (unrolls.empty() ? "int " : ", int ") + loop.parameter;
    }
  const std::string& own = kernel.text.templateParameters;
  if (!own.empty()) parameters += ", " + own;
  std::string bounds;
  if (plan.textThreads) bounds = " __launch_bounds__(" + std::to_string(*plan.textThreads) + ", " + plan.parameters.front().name + ")";
  std::string comment = titleComment(kernel, "kept as written, with parameters") + parameterComment(plan) + "//\n";
  if (lifted.blocksAreFree)
    comment += "//   proved for all sizes: no block touches an element that another one writes, so blocks may run in any order and\n"
               "//   one after the other; the program of each block is the original's\n";
  for (const auto& remark : lifted.remarks)
    if (remark.isReason) comment += "//   not lifted further because of " + remark.text + "\n";
  comment += assumptionComment(lifted);
  std::string body = bodyText(kernel.text, plan), text;
  const std::string head = "template <" + parameters + ">\n__global__ void" + bounds + "\n" + name + "(" + kernel.text.parameters;
  if (plan.coarsen.empty()) {
    text = head + ")\n" + body + "\n";
  } else {
    // The body sees the block and the grid of the original under their own names.
    std::string templated = unrolls + (unrolls.empty() || own.empty() ? "" : ", ") + own, list = kernel.text.parameters;
    text = "#pragma push_macro(\"blockIdx\")\n#pragma push_macro(\"gridDim\")\n#undef blockIdx\n#undef gridDim\n" +
           (templated.empty() ? "" : "template <" + templated + ">\n") + "__device__ __forceinline__ void\n" + name + "_block(" + list +
           (kernel.parameters.empty() ? "" : ", ") + "const uint3 blockIdx, const dim3 gridDim)\n" + body +
           "\n#pragma pop_macro(\"gridDim\")\n#pragma pop_macro(\"blockIdx\")\n\n" + head + (kernel.parameters.empty() ? "" : ", ") +
           "int retileGridX, int retileGridY, int retileGridZ)\n{\n" +
           blockLoop(lifted, plan, name + "_block" + (templated.empty() ? "" : "<" + values + ">") + "(" + argumentNames(kernel) +
                                       (kernel.parameters.empty() ? "" : ", ")) +
           "}\n";
  }
  return comment + "#pragma once\n\n#include \"retile.cuh\"\n\n" + (scope.empty() ? "" : "namespace " + scope + " {\n\n") + text +
         (scope.empty() ? "" : "\n} // namespace " + scope + "\n");
}

} // namespace retile::emit
