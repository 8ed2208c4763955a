// Blocks as independent points: the program of a block is kept whole, and which blocks run where, and in which order, is free.
//
//   one block a row; shuffles and shared memory inside   ->   parallel row (and the columns that its loops share out)
//
// Legality: no element that a block writes is touched by another one, but by commutative atomic updates whose old values nobody
// uses. What happens between the barriers of one block stays as it is, so it needs no proof. Refused: the old value of an atomic
// update, the number of blocks visible in the result, subscripts of written arrays that are not affine, opaque code.
#include "BlockLifter.h"
#include "retile/KernelModel/Normalize.h"
#include "retile/KernelModel/Visit.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;
using model::Type;

/// Where gridDim goes anywhere but into the steps of loops over the whole grid.
std::string BlockLifter::whyDependsOnGrid() const {
  std::set<int> tainted;
  std::set<const Stmt*> strided;
  for (const auto& [name, stmt] : sourceLoops)
    if (const Dim* dim = out.dim(name); dim && dim->isStrided) strided.insert(stmt->step.front().get());
  auto usesGrid = [&](const model::ExprRef& expr) {
    return model::anyExpr(expr, [&](const Expr& node) {
      return node.kind == ExprKind::Builtin ? node.text.rfind("gridDim", 0) == 0 : node.kind == ExprKind::Variable && tainted.count(node.variable) != 0;
    });
  };
  bool visible = false;
  auto visit = [&](auto&& self, const std::vector<StmtRef>& stmts) -> void {
    for (const StmtRef& stmt : stmts) {
      bool sets = stmt->kind == StmtKind::Declare || stmt->kind == StmtKind::Assign;
      bool grid = (usesGrid(stmt->value) || usesGrid(stmt->target)) && !strided.count(stmt.get());
      if (grid && sets && stmt->variable >= 0 && out.kernel.variables[stmt->variable].type.kind == Type::Int) tainted.insert(stmt->variable);
      else visible = visible || grid;
      for (const auto* inner : {&stmt->init, &stmt->body, &stmt->otherwise, &stmt->step})
        self(self, *inner);
    }
  };
  // Twice: a loop may taint what its head uses.
  visit(visit, out.kernel.body);
  visit(visit, out.kernel.body);
  return visible ? "the result depends on the number of blocks" : "";
}

/// What each loop carries: nothing (parallel) or an accumulation that threads then combine (reduction).
void BlockLifter::classifyDistributed() {
  for (Dim& dim : out.loops) {
    auto source = sourceLoops.find(dim.name);
    if (source == sourceLoops.end()) continue;
    std::map<int, int> assigned;
    std::set<int> declared;
    bool updates = false, others = false;
    model::collectAssigned(source->second->body, assigned);
    model::forEachStmt(source->second->body, [&](const Stmt& stmt) {
      if (stmt.kind == StmtKind::Declare) declared.insert(stmt.variable);
      updates = updates || stmt.kind == StmtKind::Atomic;
    });
    model::forEachStmt(source->second->body, [&](const Stmt& stmt) {
      if (stmt.kind != StmtKind::Assign || declared.count(stmt.variable)) return;
      if (isAccumulation(stmt) || dim.isDistributed) updates = true;
      else others = true;
    });
    dim.kind = others ? Dim::Sequential : updates ? Dim::Reduction : Dim::Parallel;
  }
}

/// "" where blocks are proved to be independent.
std::string BlockLifter::whyNotByBlocks() {
  const model::Kernel& kernel = out.kernel;
  if (!kernel.opaque.empty()) return kernel.opaque.front().second;
  if (usesAtomicResult) return "the old value of an atomic update is used";
  if (mixesAtomics) return "atomic updates that do not commute";
  if (kernel.text.callsUseBlockIndex) return "a function that it calls reads the block index";
  if (kernel.text.parameters.find("__grid_constant__") != std::string::npos) return "a parameter that is a grid constant";
  for (int index : kernel.parameters)
    if (kernel.text.parameters.find(kernel.variables[index].name) == std::string::npos) return "a parameter without a name";
  std::set<int> written;
  for (const Access& access : out.accesses)
    if (access.isWrite) written.insert(access.variable);
  if (written.empty()) return "the kernel writes nothing that is affine";
  for (const Unknown& one : unknown)
    if (one.isWrite || one.array < 0 || written.count(one.array)) return one.why;
  if (std::string why = whyDependsOnGrid(); !why.empty()) return why;
      if (!noAccesses.empty()) return noAccesses;
  if (std::string why = whySharesArrays(written); !why.empty()) return why;
  return attempt([&] { proveIndependence(); });
}

/// Runs a pass that may fail; "" or why it did. Accesses are over-approximated here: a conflict is no proof of a race.
std::string BlockLifter::attempt(const std::function<void()>& pass) {
  size_t before = out.remarks.size();
  pass();
  std::string why = failed ? out.remarks.back().text : "";
  out.remarks.resize(before);
  out.illDefined = failed = false;
  return why;
}

void BlockLifter::writeDownAccesses() {
  dropIdleThreads();
  out.domain = "1 = 1";
  for (const Dim& dim : out.parallel) {
    out.domain += " and " + dim.name + " >= 0";
    if (auto end = dim.endKnown ? dim.end.toIsl({}) : std::nullopt) out.domain += " and " + dim.name + " < " + *end;
  }

  resolveLaunch();
  noAccesses = attempt([&] { delinearize(); });
  if (noAccesses.empty()) noAccesses = attempt([&] { computeExtents(); });
  // The text runs as it did: arrays may overlap where they did.
  std::erase_if(out.assumptions, [](const transform::Assumption& one) { return one.kind == "no-overlap"; });
}

void BlockLifter::liftBlocks(const Lifted& pointwise) {

  // A grid that is walked over by its blocks is no dimension: its size is a choice.
  std::erase_if(out.parallel, [&](const Dim& block) {
    return std::any_of(out.loops.begin(), out.loops.end(), [&](const Dim& loop) { return loop.isStrided && loop.axis == block.axis; });
  });
    writeDownAccesses();
  std::string why = whyNotByBlocks();
  keepText(pointwise);
  if (!why.empty()) {
    out.remarks.push_back({out.kernel.location, "not by blocks either: " + why, true});
    return;
  }
  out.level = transform::Level::Partial;
  out.blocksAreFree = true;
  classifyDistributed();
}

} // namespace retile::lift
