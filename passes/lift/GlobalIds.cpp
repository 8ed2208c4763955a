// Thread and block indices become parallel dimensions.
//
//   i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) S        ->   parallel i in [0, n): S
//   for (i = gid; i < n; i += blockDim.x * gridDim.x) S            ->   parallel i in [0, n): S
//   row = blockIdx.x; for (c = threadIdx.x; c < n; c += blockDim.x) S   ->   parallel row, c
//
// Legality: the guards and distributed loops must enclose everything that the kernel does; in front of them only values
// may be computed, which every point then computes for itself. Refused: an axis whose block and thread index are used
// apart from each other, an axis along which all threads do the same.
#include "Lifter.h"
#include "retile/KernelModel/Normalize.h"

namespace retile::lift {

using model::Stmt;
using model::StmtKind;
using model::StmtRef;

void Lifter::peel(const std::vector<StmtRef>& stmts) {
  for (size_t n = 0; n < stmts.size(); ++n) {
    const StmtRef& stmt = stmts[n];
    bool isLast = n + 1 == stmts.size(), onlyValuesSoFar = statements == 0 && out.loops.empty();
    if (isLast && onlyValuesSoFar && stmt->kind == StmtKind::If && stmt->body.empty() != stmt->otherwise.empty()) {
      bool negated = stmt->body.empty();
      if (auto guard = evaluator().condition(stmt->value, negated)) {
        out.guards.push_back(*guard);
        return peel(negated ? stmt->otherwise : stmt->body);
      }
    }
    if (isLast && onlyValuesSoFar && stmt->kind == StmtKind::For && peelDistributed(*stmt)) return;
    statement(stmt, out.body);
    // What comes behind a statement that may leave happens only if it did not.
    if (model::mayLeave(*stmt)) ++mayDepth;
  }
}

bool Lifter::peelDistributed(const Stmt& stmt) {
  std::string why;
  auto found = counted(stmt, why);
  if (!found) return false;
  if (model::hasExit(stmt.body, StmtKind::Return) || model::hasExit(stmt.body, StmtKind::Break)) return false;
  for (int a = 0; a < 3; ++a) {
    Axis& axis = axes[a];
    if (!found->from.mentions(axis.global)) continue;
    Polynomial thread = *builtin(std::string("threadIdx.") + "xyz"[a]);
    Polynomial global = Polynomial::symbol(axis.global) - Polynomial(axis.globalOffset);
    auto without = [&](const Polynomial& start) -> std::optional<Polynomial> {
      Polynomial rest = found->from - start;
      for (const auto& name : rest.symbols())
        if (!out.isSize(name)) return std::nullopt;
      return rest;
    };
    std::optional<Polynomial> origin;
    bool overGrid = found->step == axis.threads * Polynomial::symbol(axis.gridSymbol);
    if (overGrid) origin = without(global);
    else if (found->step == axis.threads) origin = without(thread);
    if (!origin) continue;
    Dim dim;
    const model::Variable& variable = out.kernel.variables[found->variable];
    dim.name = variable.name;
    std::set<std::string> taken = dimNames();
    // Its own start value may have lent the axis its name.
    bool sharesName = axis.globalName == dim.name;
    for (const auto& [name, size] : out.sizes)
      taken.insert(name);
    if (sharesName) dim.name += "_";
    while (taken.count(dim.name))
      dim.name += "_";
    dim.type = variable.type;
    dim.variable = found->variable;
    dim.axis = a;
    dim.isStrided = true;
    dim.origin = *origin;
    dim.end = found->to;
    out.parallel.push_back(dim);
    auto from = origin->toIsl(dimNames()), to = found->to.toIsl(dimNames());
    if (!from || !to) return fail(stmt.location, "a distributed loop whose bounds are not affine"), true;
    out.guards.push_back(dim.name + " >= " + *from);
    out.guards.push_back(dim.name + " < " + *to);
    Value counter;
    counter.kind = Value::Integer;
    counter.value = Polynomial::symbol(dim.name);
    environment[found->variable] = counter;
    // What goes on with the next iteration ends the point.
    peel(model::replaceContinue(stmt.body));
    return true;
  }
  return false;
}

void Lifter::collectDims() {
  std::set<std::string> used;
  for (const Access& access : out.accesses) {
    used.merge(access.flat.symbols());
    used.merge(poly::namesIn(access.conditions));
  }
  for (const Polynomial& value : out.values)
    used.merge(value.symbols());
  for (const std::string& guard : out.guards)
    used.merge(poly::namesIn(guard));
  for (const Dim& loop : out.loops) {
    used.merge(loop.from.symbols());
    used.merge(loop.to.symbols());
  }
  std::vector<Dim> strided = out.parallel;
  out.parallel.clear();
  for (int a = 2; a >= 0; --a) {
    Axis& axis = axes[a];
    std::string letter(1, "xyz"[a]), upper(1, "XYZ"[a]);
    bool global = used.count(axis.global) != 0, block = used.count(axis.block) != 0;
    if (used.count(axis.gridSymbol)) return fail(out.kernel.location, "the result depends on gridDim." + letter);
    if (!axis.blockSize && used.count("blockDim_" + letter))
      return fail(out.kernel.location, "the result depends on blockDim." + letter + ", which the call sites do not fix");
    if (global && block)
      return fail(out.kernel.location, "blockIdx." + letter + " and threadIdx." + letter + " are used apart from each other");
    bool hasStrided = std::any_of(strided.begin(), strided.end(), [&](const Dim& dim) { return dim.axis == a; });
    bool single = out.axisKnown[a] && (out.grid[a] * out.block[a]).constant() == 1;
    if (!global && !block && !hasStrided && !single) {
      if (a > 0 && !out.callSite) {
        out.assumptions.push_back({"covers", {}, "GRID_" + upper + " * BLOCK_" + upper + " == 1", {}, "one thread along " + letter});
        continue;
      }
      return fail(out.kernel.location, "all threads along " + letter + " do the same");
    }
    if (global || block) {
      Dim dim;
      dim.axis = a;
      dim.isBlockIndex = block;
      dim.name = block ? axis.block : axis.global;
      dim.type = block ? axis.blockType : axis.globalType;
      dim.origin = Polynomial(block ? axis.blockOffset : axis.globalOffset);
      dim.end = (block ? out.grid[a] : out.grid[a] * out.block[a]) + dim.origin;
      dim.endKnown = out.axisKnown[a];
      out.parallel.push_back(dim);
    }
    for (const Dim& dim : strided)
      if (dim.axis == a) out.parallel.push_back(dim);
    bool literalBlock = axis.blockSize && !single && !block;
    if (literalBlock)
      out.assumptions.push_back({"covers", {}, "BLOCK_" + upper + " == " + axis.blockSize->toText(), {},
                                 "the block that the analysis saw at the call site"});
  }
  if (out.parallel.empty()) fail(out.kernel.location, "no parallel dimension");
  if (out.parallel.size() > 3) fail(out.kernel.location, "more than three parallel dimensions");
}

void Lifter::boundDims() {
  std::set<std::string> dims = dimNames();
  std::string tuple, guardText, endText;
  auto add = [](std::string& text, const std::string& constraint) { text += (text.empty() ? "" : " and ") + constraint; };
  for (const Dim& dim : out.parallel) {
    tuple += (tuple.empty() ? "" : ", ") + dim.name;
    if (!dim.isStrided) add(guardText, dim.name + " >= " + *dim.origin.toIsl(dims));
  }
  for (const std::string& guard : out.guards)
    add(guardText, guard);
  if (guardText.empty()) guardText = "1 = 1";
  auto domainOf = [&](const std::string& constraints) {
    return poly::Set::parse(out.islParameters() + "{ S[" + tuple + "] : " + constraints + " and " + out.islContext() + " }");
  };
  auto guarded = domainOf(guardText);
  if (!guarded) return fail(out.kernel.location, "the domain cannot be written down: " + guardText);
  for (size_t n = 0; n < out.parallel.size(); ++n) {
    Dim& dim = out.parallel[n];
    if (dim.isStrided) continue;
    auto end = dim.endKnown ? dim.end.toIsl(dims) : std::nullopt;
    auto bound = guarded->maximum(static_cast<unsigned>(n));
    if (end) {
      auto launched = domainOf(guardText + " and " + dim.name + " < " + *end);
      auto covered = launched ? guarded->isSubsetOf(*launched) : std::nullopt;
      dim.needsEnd = !bound || !covered || !*covered;
      if (dim.needsEnd && bound && dim.end.constant()) {
        // A launch of constant size for a guard over sizes: written for the sizes that it covers.
        for (const Polynomial& piece : *bound)
          evaluator().assume(dim.end - Polynomial(1) - piece, "the launch covers " + dim.name);
        dim.needsEnd = false;
        guarded = domainOf(guardText);
        if (!guarded) return fail(out.kernel.location, "the domain cannot be written down: " + guardText);
      }
      if (dim.needsEnd) add(endText, dim.name + " < " + *end);
    } else {
      dim.endKnown = false;
      if (!bound) return fail(out.kernel.location, "only a launch that cannot be resolved bounds '" + dim.name + "'");
    }
    if (!dim.needsEnd) {
      std::string reach;
      for (const Polynomial& piece : *bound) {
        std::string one = (piece + Polynomial(1) - dim.origin).toText();
        reach = reach.empty() ? one : "max(" + reach + ", " + one + ")";
      }
      std::string letter(1, static_cast<char>('X' + dim.axis));
      out.assumptions.push_back({"covers", {}, "GRID_" + letter + (dim.isBlockIndex ? "" : " * BLOCK_" + letter) + " >= " + reach,
                                 {}, "the launch covers " + dim.name});
    }
  }
  out.domain = guardText + (endText.empty() ? "" : " and " + endText);
  auto domain = domainOf(out.domain);
  if (!domain) return fail(out.kernel.location, "the domain cannot be written down: " + out.domain);
  if (auto empty = domain->isEmpty(); empty && *empty) return fail(out.kernel.location, "no thread passes the guards");
  for (size_t n = 0; n < out.parallel.size(); ++n) {
    Dim& dim = out.parallel[n];
    auto lower = domain->minimum(static_cast<unsigned>(n)), upper = domain->maximum(static_cast<unsigned>(n));
    if (!lower || !upper) return fail(out.kernel.location, "'" + dim.name + "' has no bounds");
    dim.lower = *lower;
    dim.upper = *upper;
    // A launch-bounded dimension: the guards' own bounds, and the end that the launch passes.
    if (dim.needsEnd) dim.upper = guarded->maximum(static_cast<unsigned>(n)).value_or(std::vector<Polynomial>{});
  }
}

} // namespace retile::lift
