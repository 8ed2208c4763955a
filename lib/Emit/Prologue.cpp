// Head comment, signature, block coordinates and tiles.
#include "TemplateEmitter.h"

namespace retile::emit {

using model::Variable;

TemplateEmitter::TemplateEmitter(const Lifted& lifted, const TransformPlan& plan, std::string name)
    : lifted(lifted), plan(plan), name(std::move(name)), jammed(transform::jammedLoops(lifted)), guarded(!plan.rectangular) {
  for (const Variable& variable : lifted.kernel.variables)
    taken.insert({variable.name, variable.name + "Of"});
  for (const auto* dims : {&lifted.parallel, &lifted.loops})
    for (const Dim& dim : *dims)
      taken.insert(dim.name);
  for (const auto& [size, info] : lifted.sizes)
    taken.insert(size);
  for (const char* word : {"ALL_INSIDE", "inside", "outside", "whole", "slot", "thread", "any"})
    taken.insert(word);
  for (const DimPlan& dim : plan.dims)
    names[dim.name] = {unique(dim.name + "0"), unique("l" + dim.name), unique("t" + dim.name), unique("d" + dim.name), unique("r" + dim.name)};
  for (const auto& parameter : plan.parameters)
    templateParameters.push_back(parameter.name);
}

std::string TemplateEmitter::unique(const std::string& wanted) {
  std::string name = wanted;
  for (int n = 2; !taken.insert(name).second; ++n)
    name = wanted + std::to_string(n);
  return name;
}

void TemplateEmitter::line(const std::string& text) { body += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n"; }

/// The hull's bound as a signed number: below the lower one, and below zero, where the domain is empty.
std::string TemplateEmitter::upperValue(const Dim& dim) const {
  auto& self = const_cast<TemplateEmitter&>(*this);
  std::string text;
  auto least = [&](const std::string& one) { text = text.empty() ? one : "retile::smaller(" + text + ", " + one + ")"; };
  if (!dim.upper.empty()) {
    Polynomial most = dim.upper[0];
    for (const Polynomial& piece : dim.upper)
      most = Polynomial::maximum(most, piece);
    least(factorText(self.number(most)));
  }
  if (dim.needsEnd) {
    std::string argument;
    for (const ExtraArgument& extra : extras)
      if (extra.name == "end_" + dim.name) argument = extra.name;
    if (argument.empty()) {
      argument = self.unique("end_" + dim.name);
      self.extras.push_back({argument, dim.type.name, dim.end});
    }
    bool wraps = dim.type.kind == model::Type::Int && !dim.type.isSigned;
    least((wraps ? "((long long)" : "(") + argument + " - 1)");
  }
  return text;
}

std::string TemplateEmitter::lowerValue(const Dim& dim) const {
  auto& self = const_cast<TemplateEmitter&>(*this);
  Polynomial least = dim.lower[0];
  for (const Polynomial& piece : dim.lower)
    least = Polynomial::minimum(least, piece);
  return factorText(self.number(least));
}

std::string TemplateEmitter::upperBound(const Dim& dim) const { return "(" + dim.type.name + ")" + upperValue(dim); }
std::string TemplateEmitter::lowerBound(const Dim& dim) const { return "(" + dim.type.name + ")" + lowerValue(dim); }

/// `value`, but not outside of the dimension's hull.
std::string TemplateEmitter::clamped(const Dim& dim, const std::string& value) const {
  std::string type = dim.type.name + (threadsLeave ? ", ALL_INSIDE" : "");
  if (needsLower(dim)) return "retile::within<" + type + ">(" + value + ", " + lowerBound(dim) + ", " + upperBound(dim) + ")";
  return "retile::atMost<" + type + ">(" + value + ", " + upperBound(dim) + ")";
}

std::string TemplateEmitter::orAllInside(const std::string& test) const { return threadsLeave ? "ALL_INSIDE || (" + test + ")" : test; }

/// The test that `value` lies in the dimension's hull.
std::string TemplateEmitter::inBounds(const Dim& dim, const std::string& value) const {
  bool wraps = dim.type.kind == model::Type::Int && !dim.type.isSigned;
  // Threads of an empty domain have not left; -1 as an unsigned bound would let all of them in.
  if (guarded && wraps && mayBeEmpty(dim))
    return "(long long)" + factorText(value) + " <= (long long)" + upperValue(dim) +
           (needsLower(dim) ? " && " + value + " >= " + lowerBound(dim) : "");
  return value + " <= " + upperBound(dim) + (needsLower(dim) ? " && " + value + " >= " + lowerBound(dim) : "");
}

bool TemplateEmitter::needsLower(const Dim& dim) const {
  for (const Polynomial& piece : dim.lower)
    if (!(piece == dim.origin)) return true;
  return false;
}

/// Whether the launch has exactly one block a point, so that no test is needed.
bool TemplateEmitter::isExact(const Dim& dim) const { return dim.needsEnd && dim.upper.empty() && !needsLower(dim); }

bool TemplateEmitter::mayBeEmpty(const Dim& dim) const {
  for (const Polynomial& lower : dim.lower)
    for (const Polynomial& upper : dim.upper)
      if (!lifted.neverNegative(upper - lower)) return true;
  return dim.needsEnd;
}

void TemplateEmitter::coordinates() {
  static const char axes[] = "xyz";
  for (const DimPlan& one : plan.dims)
    if (one.tiled)
      line("constexpr int THREADS_" + one.upper + " = TILE_" + one.upper + " / ITEMS_" + one.upper + ";");
  std::string threads, thread;
  for (size_t n = 0; n < plan.dims.size(); ++n) {
    const DimPlan& one = plan.dims[n];
    const Dim& dim = lifted.parallel[n];
    std::string type = dim.type.name, axis(1, axes[one.axis]), origin = number(dim.origin);
    std::string plus = dim.origin.isZero() ? "" : " + " + factorText(origin);
    if (!one.tiled) {
      line("const " + type + " " + dim.name + " = (" + type + ")blockIdx." + axis + plus + ";");
      if (!isExact(dim))
        line("if ((long long)" + dim.name + " > (long long)" + upperValue(dim) + (needsLower(dim) ? " || " + dim.name + " < " + lowerBound(dim) : "") + ") return;");
      continue;
    }
    const Names& own = names.at(one.name);
    std::string block = "(" + type + ")blockIdx." + axis;
    if (one.persistent) {
      std::string tile = unique(dim.name + "Tile"), first = tile + " * TILE_" + one.upper + (dim.origin.isZero() ? "" : " + (long long)" + factorText(origin));
      line("for (long long " + tile + " = blockIdx." + axis + "; " + first + " <= (long long)(" + upperBound(dim) + "); " + tile + " += gridDim." + axis + ") {");
      ++depth;
      block = "(" + type + ")" + tile;
    }
    line("const " + type + " " + own.origin + " = " + block + " * TILE_" + one.upper + plus + ";");
    line("const int " + own.thread + " = threadIdx." + axis + ";");
    if (mayBeEmpty(dim) && !guarded)
      line("if ((long long)" + upperValue(dim) + " < (long long)" + lowerValue(dim) + " || (long long)" + own.origin + " > (long long)" + upperValue(dim) + ") return;");
  }
}

/// What a thread without work does: it leaves, or goes on to its block's next tile.
std::string TemplateEmitter::leave() const {
  for (const DimPlan& one : plan.dims)
    if (one.persistent) return "continue;";
  return "return;";
}

/// Where a thread has one item and nobody waits for it at a barrier, it leaves when that item is outside of the hull.
/// ALL_INSIDE then spares every later test and clamp of the coordinates.
void TemplateEmitter::skipOutside() {
  std::string items, outside, stages;
  for (size_t n = 0; n < plan.dims.size(); ++n) {
    const DimPlan& one = plan.dims[n];
    const Dim& dim = lifted.parallel[n];
    if (!one.tiled) continue;
    const Names& own = names.at(one.name);
    items += (items.empty() ? "ITEMS_" : " * ITEMS_") + one.upper;
    std::string at = "(" + dim.type.name + ")(" + own.origin + " + " + own.thread + ")";
    outside += (outside.empty() ? "" : " || ") + at + " > " + upperBound(dim) + (needsLower(dim) ? " || " + at + " < " + lowerBound(dim) : "");
  }
  if (outside.empty()) return;
  for (const auto& stage : plan.stages)
    stages += (stages.empty() ? " && " : " + ") + ("STAGE_" + stage.upper);
  if (!stages.empty()) stages += " == 0";
  threadsLeave = true;
  line("constexpr bool ALL_INSIDE = " + items + " == 1" + stages + ";");
  line("if constexpr (ALL_INSIDE) {");
  line("  if (" + outside + ") " + leave());
  line("}");
}

/// Ends the loops over a block's tiles.
void TemplateEmitter::closeTileLoops() {
  std::string stages;
  for (const auto& stage : plan.stages)
    stages += (stages.empty() ? "" : " + ") + ("STAGE_" + stage.upper);
  for (size_t n = plan.dims.size(); n-- > 0;) {
    if (!plan.dims[n].persistent) continue;
    line("if constexpr (BLOCKS_" + plan.dims[n].upper + " == 0) break;");
    if (!stages.empty()) line("if constexpr (" + stages + " > 0) __syncthreads();");
    --depth;
    line("}");
  }
}

void TemplateEmitter::fill(const transform::StagePlan& stage, const std::string& slot) {
  const transform::Array& array = lifted.arrays.at(stage.array);
  size_t rank = stage.window.size();
  std::string strides, origins, ranges;
  for (size_t pad = rank; pad < 3; ++pad) {
    strides += "0, ";
    origins += "0, ";
    ranges += "{0, 1}, ";
  }
  for (size_t k = 0; k < rank; ++k) {
    const auto& dim = stage.window[k];
    if (k + 1 < rank) strides += number(array.strides[k]) + ", ";
    std::string origin;
    for (const auto& [term, coefficient] : dim.terms) {
      const DimPlan* tiled = plan.dim(term);
      std::string start = tiled && !tiled->tiled ? term : names.at(term).origin;
      origin += (origin.empty() ? "" : " + ") + (coefficient == 1 ? "" : std::to_string(coefficient) + " * ") + "(long long)" + start;
    }
    std::string rest = dim.origin.isZero() ? "" : number(dim.origin);
    if (!rest.empty()) origin += origin.empty() ? rest : rest[0] == '-' ? " - " + rest.substr(1) : " + " + rest;
    origins += (origin.empty() ? "0" : origin) + ", ";
    ranges += "{" + number(dim.lo) + ", " + number(dim.hi) + "}, ";
  }
  std::string vector = stage.canVectorize ? "VECTOR_" + stage.upper : "1", flat;
  if (stage.clipFlat) flat = ", retile::Range{" + number(stage.flatLo) + ", " + number(stage.flatHi) + "}";
  line("if constexpr (STAGE_" + stage.upper + " != 0)");
  line("  tile" + stage.upper + ".template loadAsync<" + vector + ", THREADS>(" + slot + ", " + stage.array + ", " + strides + origins);
  line("      " + ranges + "thread" + flat + ");");
}

void TemplateEmitter::tiles() {
  if (plan.stages.empty()) return;
  std::string threads, thread, previous;
  for (size_t n = plan.dims.size(); n-- > 0;) {
    const DimPlan& one = plan.dims[n];
    if (!one.tiled) continue;
    std::string own = names.at(one.name).thread;
    thread += threads.empty() ? own : " + " + threads + " * " + own;
    threads += (threads.empty() ? "" : " * ") + ("THREADS_" + one.upper);
  }
  line("constexpr int THREADS = " + threads + ";");
  line("const int thread = " + thread + ";");
  line("(void)thread;");
  for (const auto& stage : plan.stages) {
    std::string slots = "STAGE_" + stage.upper + (stage.loop.empty() ? "" : " * STAGES_" + transform::upperName(stage.loop)), extents;
    for (size_t pad = stage.window.size(); pad < 3; ++pad)
      extents += ", 1";
    for (const auto& dim : stage.window)
      extents += ", " + transform::windowExtent(plan, dim);
    std::string type = "Tile" + stage.upper;
    line("using " + type + " = retile::Tile<" + lifted.arrays.at(stage.array).element.name + ", " + slots + extents + ", PAD_" + stage.upper + ">;");
    line(type + " tile" + stage.upper + "(retile::sharedMemory()" + previous + ");");
    previous += " + " + type + "::BYTES";
  }
  std::string any;
  bool first = true;
  for (const auto& stage : plan.stages) {
    if (!stage.loop.empty()) continue;
    fill(stage, "0");
    any += (first ? "" : " + ") + ("STAGE_" + stage.upper);
    first = false;
  }
  if (any.empty()) return;
  line("if constexpr (" + any + " > 0) {");
  line("  retile::asyncCommit();");
  line("  retile::asyncWait<0>();");
  line("  __syncthreads();");
  line("}");
}

std::string titleComment(const model::Kernel& kernel, const std::string& how) {
  std::string file = kernel.location.file.substr(kernel.location.file.rfind('/') == std::string::npos ? 0 : kernel.location.file.rfind('/') + 1);
  return "// " + kernel.instance + " (" + file + ":" + std::to_string(kernel.location.line) + "), " + how +
         ". Written by kernel-templatize; the original is the source.\n//\n";
}

std::string parameterComment(const TransformPlan& plan) {
  std::string out = "//   parameter        original   meaning\n";
  for (const auto& parameter : plan.parameters) {
    std::string row = "//   " + parameter.name;
    row.resize(std::max<size_t>(row.size() + 1, 22), ' ');
    row += std::to_string(parameter.original);
    row.resize(std::max<size_t>(row.size() + 1, 33), ' ');
    out += row + parameter.meaning + "\n";
  }
  return out;
}

std::string assumptionComment(const Lifted& lifted) {
  std::string out;
  for (const auto& assumption : lifted.assumptions) {
    std::string text = predicate(assumption);
    out += "//   assumed, tested before every launch: " + text + (text.empty() ? "" : " (") + assumption.why + (text.empty() ? "" : ")") + "\n";
  }
  return out;
}

std::string TemplateEmitter::headComment() const {
  std::string out = titleComment(lifted.kernel, "as a template");
  std::string points;
  for (const Dim& dim : lifted.parallel)
    points += (points.empty() ? "" : ", ") + dim.name;
  out += "//   independent points: " + points + "\n";
  for (const Dim& loop : lifted.loops)
    out += "//   in each point: " + loop.name + " from " + loop.from.toText() + " to " + loop.to.toText() + " in order" +
           (loop.kind == Dim::Reduction ? ", which carries only an accumulation" : "") + "\n";
  out += "//\n" + parameterComment(plan);
  out += "//\n//   proved for all sizes and tiles: no point touches an element that another one writes, so points may run in any\n"
         "//   order and grouping; the program of each point keeps its order\n";
  return out + assumptionComment(lifted);
}

std::string TemplateEmitter::signature() {
  std::string parameters, threads, arguments;
  for (const auto& parameter : templateParameters)
    parameters += (parameters.empty() ? "int " : ", int ") + parameter;
  for (const DimPlan& one : plan.dims)
    if (one.tiled) threads += (threads.empty() ? "" : " * ") + ("(TILE_" + one.upper + " / ITEMS_" + one.upper + ")");
  auto add = [&](const std::string& text) { arguments += (arguments.empty() ? "" : ", ") + text; };
  for (int index : lifted.kernel.parameters) {
    const Variable& parameter = lifted.kernel.variables[index];
    std::string type = parameter.type.name;
    if (size_t at = type.find("__restrict"); at != std::string::npos) type = type.substr(0, at);
    add(type + (parameter.type.isRestrict ? " __restrict__ " : " ") + parameter.name);
  }
  for (const ExtraArgument& extra : extras)
    add(extra.type + " " + extra.name);
  return "template <" + parameters + ">\n__global__ void __launch_bounds__(" + threads + ", MIN_BLOCKS)\n" + name + "(" + arguments + ")\n";
}

std::string TemplateEmitter::run() {
  findCarried();
  coordinates();
  if (guarded) skipIdle();
  else skipOutside();
  tiles();
  std::string items;
  for (const DimPlan& one : plan.dims)
    if (one.tiled) items += "[ITEMS_" + one.upper + "]";
  for (const auto& array : plan.kept)
    line(lifted.arrays.at(array).element.name + " kept" + transform::upperName(array) + items + ";");
  for (const auto& [variable, yes] : carried)
    line(lifted.kernel.variables[variable].type.name + " " + lifted.kernel.variables[variable].name + "Of" + items + ";");
  keptValues(true);
  nodes(lifted.body);
  keptValues(false);
  closeTileLoops();
  std::string usings;
  std::string qualified = lifted.kernel.qualifiedName;
  for (size_t at = qualified.find("::"); at != std::string::npos; at = qualified.find("::", at + 2)) {
    std::string scope = qualified.substr(0, at);
    if (scope.find('(') == std::string::npos) usings += "using namespace ::" + scope + ";\n";
  }
  return headComment() + "#pragma once\n\n#include \"retile.cuh\"\n\nnamespace retile::templates {\n" + usings + "\n" + signature() + "{\n" + body +
         "}\n\n} // namespace retile::templates\n";
}

} // namespace retile::emit
