// Drops what only served indices: scalars that nothing reads any more now that subscripts and bounds are polynomials, and
// the loads in their values.
//
//   size_t step = blockDim.x * gridDim.x;   (the loop that used it is a dimension now)   ->   nothing
#include "Lifter.h"
#include "retile/KernelModel/Visit.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;

namespace {

/// Variables that something reads which has an effect, directly or through what it sets.
std::set<int> readsOf(const std::vector<StmtRef>& stmts) {
  std::set<int> reads;
  auto note = [&](const Expr& node) {
    if (node.kind == ExprKind::Variable || node.kind == ExprKind::Array || node.kind == ExprKind::Access) reads.insert(node.variable);
  };
  auto scan = [&](auto&& self, const std::vector<StmtRef>& list, bool isHeader) -> void {
    for (const StmtRef& stmt : list) {
      bool sets = stmt->kind == StmtKind::Declare || stmt->kind == StmtKind::Assign;
      if (!sets || isHeader || reads.count(stmt->variable)) {
        model::forEachExpr(stmt->value, note);
        bool isPart = sets && stmt->target && stmt->target->kind != ExprKind::Variable;
        if (!sets || isPart) model::forEachExpr(stmt->target, note);
        if (sets && isHeader) reads.insert(stmt->variable);
      }
      self(self, stmt->init, true);
      self(self, stmt->step, true);
      self(self, stmt->body, false);
      self(self, stmt->otherwise, false);
    }
  };
  for (size_t before = ~size_t{0}; before != reads.size();) {
    before = reads.size();
    scan(scan, stmts, false);
  }
  return reads;
}

bool prune(std::vector<StmtRef>& stmts, const std::set<int>& reads) {
  bool changed = false;
  std::vector<StmtRef> kept;
  for (const StmtRef& stmt : stmts) {
    bool sets = stmt->kind == StmtKind::Declare || stmt->kind == StmtKind::Assign;
    if (sets && !reads.count(stmt->variable)) {
      changed = true;
      continue;
    }
    if (stmt->body.empty() && stmt->otherwise.empty()) {
      kept.push_back(stmt);
      continue;
    }
    Stmt copy = *stmt;
    bool inner = prune(copy.body, reads);
    inner = prune(copy.otherwise, reads) || inner;
    changed = changed || inner;
    kept.push_back(inner ? std::make_shared<Stmt>(std::move(copy)) : stmt);
  }
  stmts = std::move(kept);
  return changed;
}

/// Renumbers the Access and Affine nodes that are left.
class Renumber {
public:
  Renumber(std::vector<Access>& accesses, std::vector<Polynomial>& values) : accesses(accesses), values(values) {}

  std::vector<StmtRef> stmts(const std::vector<StmtRef>& list) {
    std::vector<StmtRef> out;
    for (const StmtRef& stmt : list) {
      Stmt copy = *stmt;
      copy.init = stmts(stmt->init);
      copy.value = expr(stmt->value);
      bool alsoReads = stmt->kind == StmtKind::Store && (stmt->text != "=" || stmt->target->kind != ExprKind::Access);
      copy.target = expr(stmt->target, alsoReads);
      copy.step = stmts(stmt->step);
      copy.body = stmts(stmt->body);
      copy.otherwise = stmts(stmt->otherwise);
      out.push_back(std::make_shared<Stmt>(std::move(copy)));
    }
    return out;
  }

  std::vector<Access> liveAccesses;
  std::vector<Polynomial> liveValues;

private:
  std::vector<Access>& accesses;
  std::vector<Polynomial>& values;

  std::int64_t keep(std::int64_t index) {
    liveAccesses.push_back(accesses[static_cast<size_t>(index)]);
    return static_cast<std::int64_t>(liveAccesses.size()) - 1;
  }

  /// An update's read stands right in front of its write.
  ExprRef expr(const ExprRef& node, bool alsoReads = false) {
    if (!node) return node;
    auto copy = std::make_shared<Expr>(*node);
    bool isAccess = node->kind == ExprKind::Access;
    for (size_t n = 0; n < copy->operands.size(); ++n)
      copy->operands[n] = expr(copy->operands[n], alsoReads && !isAccess && n == 0);
    alsoReads = alsoReads && isAccess;
    if (alsoReads) keep(node->value - 1);
    if (node->kind == ExprKind::Access) copy->value = keep(node->value);
    if (node->kind == ExprKind::Affine) {
      liveValues.push_back(values[static_cast<size_t>(node->value)]);
      copy->value = static_cast<std::int64_t>(liveValues.size()) - 1;
    }
    return copy;
  }
};

} // namespace

void Lifter::dropDeadCode() {
  while (prune(out.body, readsOf(out.body))) {
  }
  Renumber renumber(out.accesses, out.values);
  out.body = renumber.stmts(out.body);
  out.accesses = std::move(renumber.liveAccesses);
  out.values = std::move(renumber.liveValues);
}

} // namespace retile::lift
