#include "retile/KernelModel/Normalize.h"

#include <algorithm>

namespace retile::model {

static bool mentions(const std::vector<StmtRef>& stmts, StmtKind exit, bool intoLoops) {
  return std::any_of(stmts.begin(), stmts.end(), [&](const StmtRef& stmt) {
    if (stmt->kind == exit) return true;
    // An inlined function: what returns in it, returns from it.
    if (stmt->kind == StmtKind::Block) return false;
    bool isLoop = stmt->kind == StmtKind::For || stmt->kind == StmtKind::While;
    if (isLoop && !intoLoops) return false;
    return mentions(stmt->body, exit, intoLoops) || mentions(stmt->otherwise, exit, intoLoops);
  });
}

static bool endsIn(const std::vector<StmtRef>& stmts, StmtKind exit) {
  return !stmts.empty() && stmts.back()->kind == exit;
}

bool mayLeave(const Stmt& stmt) {
  bool isExit = stmt.kind == StmtKind::Return || stmt.kind == StmtKind::Break || stmt.kind == StmtKind::Continue;
  bool isLoop = stmt.kind == StmtKind::For || stmt.kind == StmtKind::While;
  if (isExit) return true;
  if (stmt.kind == StmtKind::Block) return false;
  for (const auto* list : {&stmt.body, &stmt.otherwise})
    for (StmtKind exit : {StmtKind::Return, StmtKind::Break, StmtKind::Continue})
      if (exit == StmtKind::Return ? mentions(*list, exit, true) : !isLoop && mentions(*list, exit, false)) return true;
  return false;
}

bool hasExit(const std::vector<StmtRef>& stmts, StmtKind exit) { return mentions(stmts, exit, exit == StmtKind::Return); }

/// The exits in front of a loop that has one of its own, too: what is left then stands in the loop alone.
static bool fold(std::vector<StmtRef>& stmts, StmtKind exit, bool leaveInLoops);

bool foldExits(std::vector<StmtRef>& stmts, StmtKind exit) { return fold(stmts, exit, false); }

static bool fold(std::vector<StmtRef>& stmts, StmtKind exit, bool leaveInLoops) {
  // A return leaves every loop around it; a continue belongs to the innermost one.
  bool intoLoops = exit == StmtKind::Return;
  for (size_t n = 0; n < stmts.size(); ++n) {
    const StmtRef stmt = stmts[n];
    if (stmt->kind == exit) {
      stmts.resize(n);
      return true;
    }
    bool isLoop = stmt->kind == StmtKind::For || stmt->kind == StmtKind::While;
    if (isLoop && (!intoLoops || leaveInLoops)) continue;
    bool look = intoLoops && !leaveInLoops;
    if (!mentions(stmt->body, exit, look) && !mentions(stmt->otherwise, exit, look)) continue;
    if (stmt->kind != StmtKind::If) return false;
    Stmt merged = *stmt;
    std::vector<StmtRef> rest(stmts.begin() + static_cast<long>(n) + 1, stmts.end());
    if (endsIn(merged.body, exit)) merged.otherwise.insert(merged.otherwise.end(), rest.begin(), rest.end());
    else if (endsIn(merged.otherwise, exit)) merged.body.insert(merged.body.end(), rest.begin(), rest.end());
    else if (!rest.empty()) return false;
    if (!fold(merged.body, exit, leaveInLoops) || !fold(merged.otherwise, exit, leaveInLoops)) return false;
    stmts.resize(n);
    stmts.push_back(std::make_shared<const Stmt>(std::move(merged)));
    return true;
  }
  return true;
}

/// `while (v < n) { ...; v += c; }`, where nothing else in the body changes v.
static StmtRef whileAsFor(const Stmt& loop) {
  if (loop.isDo || loop.body.empty() || !loop.value || loop.value->kind != ExprKind::Binary) return nullptr;
  const StmtRef& last = loop.body.back();
  if (last->kind != StmtKind::Assign || (last->text != "+=" && last->text != "-=")) return nullptr;
  auto names = [&](ExprRef expr) {
    while (expr->kind == ExprKind::Cast && expr->implicit)
      expr = expr->operands[0];
    return expr->kind == ExprKind::Variable && expr->variable == last->variable;
  };
  if (!names(loop.value->operands[0]) && !names(loop.value->operands[1])) return nullptr;
  std::map<int, int> assigned;
  collectAssigned(loop.body, assigned);
  if (assigned[last->variable] != 1 || mentions(loop.body, StmtKind::Continue, false)) return nullptr;
  Stmt counted = loop;
  counted.kind = StmtKind::For;
  counted.step = {last};
  counted.body.pop_back();
  return std::make_shared<const Stmt>(std::move(counted));
}

static void normalizeLoops(std::vector<StmtRef>& stmts) {
  for (StmtRef& stmt : stmts) {
    if (stmt->body.empty() && stmt->otherwise.empty()) continue;
    Stmt changed = *stmt;
    bool isLoop = changed.kind == StmtKind::For || changed.kind == StmtKind::While;
    if (changed.kind == StmtKind::Block) fold(changed.body, StmtKind::Return, true);
    if (changed.kind == StmtKind::While)
      if (StmtRef counted = whileAsFor(changed)) changed = *counted;
    if (isLoop) foldExits(changed.body, StmtKind::Continue);
    normalizeLoops(changed.body);
    normalizeLoops(changed.otherwise);
    stmt = std::make_shared<const Stmt>(std::move(changed));
  }
}

void normalize(std::vector<StmtRef>& stmts) {
  if (!foldExits(stmts, StmtKind::Return)) fold(stmts, StmtKind::Return, true);
  normalizeLoops(stmts);
}

std::vector<StmtRef> replaceContinue(const std::vector<StmtRef>& stmts) {
  std::vector<StmtRef> out;
  for (const StmtRef& stmt : stmts) {
    bool isLoop = stmt->kind == StmtKind::For || stmt->kind == StmtKind::While || stmt->kind == StmtKind::Block;
    if (isLoop || !hasExit({stmt}, StmtKind::Continue)) {
      out.push_back(stmt);
      continue;
    }
    Stmt changed = *stmt;
    if (stmt->kind == StmtKind::Continue) changed.kind = StmtKind::Return;
    changed.body = replaceContinue(stmt->body);
    changed.otherwise = replaceContinue(stmt->otherwise);
    out.push_back(std::make_shared<const Stmt>(std::move(changed)));
  }
  return out;
}

void collectAssigned(const std::vector<StmtRef>& stmts, std::map<int, int>& timesAssigned) {
  for (const StmtRef& stmt : stmts) {
    bool assigns = stmt->kind == StmtKind::Assign || stmt->kind == StmtKind::Sync || stmt->kind == StmtKind::Atomic;
    if (assigns && stmt->variable >= 0) ++timesAssigned[stmt->variable];
    collectAssigned(stmt->init, timesAssigned);
    collectAssigned(stmt->step, timesAssigned);
    collectAssigned(stmt->body, timesAssigned);
    collectAssigned(stmt->otherwise, timesAssigned);
  }
}

} // namespace retile::model
