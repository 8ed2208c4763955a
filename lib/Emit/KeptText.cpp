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

std::string keptText(const Lifted& lifted, const TransformPlan& plan, const std::string& name) {
  const model::Kernel& kernel = lifted.kernel;
  std::string parameters, scope = scopeOf(kernel);
  for (const auto& parameter : plan.parameters)
    parameters += (parameters.empty() ? "int " : ", int ") + parameter.name;
  if (!kernel.text.templateParameters.empty())
    parameters += ", " + kernel.text.templateParameters;
  std::string bounds;
  if (plan.textThreads)
    bounds =
        " __launch_bounds__(" + std::to_string(*plan.textThreads) + ", " + plan.parameters.front().name + ")";
  std::string comment =
      titleComment(kernel, "kept as written, with parameters") + parameterComment(plan) + "//\n";
  for (const auto& remark : lifted.remarks)
    if (remark.isReason)
      comment += "//   not lifted further because of " + remark.text + "\n";
  comment += assumptionComment(lifted);
  // A factor of 0 is meant: the compiler ignores such a pragma, as if there were none.
  return comment + "#pragma once\n\n#include \"retile.cuh\"\n\n" +
         (scope.empty() ? "" : "namespace " + scope + " {\n\n") + "template <" + parameters +
         ">\n__global__ void" + bounds + "\n" + name + "(" + kernel.text.parameters + ")\n" +
         bodyText(kernel.text, plan) + "\n" + (scope.empty() ? "" : "\n} // namespace " + scope + "\n");
}

} // namespace retile::emit
