// What a loop of the point program carries from one iteration to the next: nothing (parallel), only an accumulation
// (reduction: the order is kept all the same), or anything else (sequential).
#include "Lifter.h"
#include "retile/KernelModel/Normalize.h"
#include "retile/KernelModel/Visit.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;

static bool mentionsVariable(const ExprRef& expr, int variable) {
  return model::anyExpr(expr, [&](const Expr& node) { return node.kind == ExprKind::Variable && node.variable == variable; });
}

/// `v += e`, `v = v + e`, `v = fmaf(a, b, v)`, `v = max(v, e)`: v once, as an operand of an associative operation.
bool Lifter::isAccumulation(const Stmt& stmt) {
  int variable = stmt.variable;
  if (stmt.text == "+=" || stmt.text == "-=" || stmt.text == "*=") return !mentionsVariable(stmt.value, variable);
  if (stmt.text != "=") return false;
  ExprRef value = stmt.value;
  while (value->kind == ExprKind::Cast)
    value = value->operands[0];
  auto isSelf = [&](ExprRef operand) {
    while (operand->kind == ExprKind::Cast)
      operand = operand->operands[0];
    return operand->kind == ExprKind::Variable && operand->variable == variable;
  };
  size_t self = 0, mentions = 0;
  for (const ExprRef& operand : value->operands) {
    self += isSelf(operand);
    mentions += mentionsVariable(operand, variable);
  }
  if (self != 1 || mentions != 1) return false;
  if (value->kind == ExprKind::Binary) return value->text == "+" || value->text == "*" || (value->text == "-" && isSelf(value->operands[0]));
  static const std::set<std::string> combines{"fmaf", "fma", "__fmaf_rn", "fmaxf", "fminf", "fmax", "fmin", "max", "min"};
  bool isFma = value->text.find("fma") != std::string::npos && value->text.find("max") == std::string::npos;
  return value->kind == ExprKind::Call && combines.count(value->text) && (!isFma || isSelf(value->operands[2]));
}

void Lifter::classifyLoops() {
  model::forEachStmt(out.body, [&](const Stmt& stmt) {
    if (stmt.kind != StmtKind::For) return;
    Dim& dim = out.loops[stmt.variable];
    if (!dim.bounded || model::hasExit(stmt.body, StmtKind::Break) || model::hasExit(stmt.body, StmtKind::Return)) return;
    std::map<int, int> assigned;
    std::set<int> declared;
    bool other = false, reduces = false;
    model::collectAssigned(stmt.body, assigned);
    model::forEachStmt(stmt.body, [&](const Stmt& inner) {
      if (inner.kind == StmtKind::Declare) declared.insert(inner.variable);
    });
    model::forEachStmt(stmt.body, [&](const Stmt& inner) {
      for (const auto& [variable, times] : assigned) {
        if (declared.count(variable)) continue;
        bool isUpdate = inner.kind == StmtKind::Assign && inner.variable == variable;
        if (isUpdate && isAccumulation(inner)) {
          reduces = true;
          continue;
        }
        if (isUpdate || mentionsVariable(inner.value, variable)) other = true;
      }
    });
    // Memory: does one iteration of this loop meet another at the same element, within one point?
    for (const Access& write : out.accesses) {
      if (!write.isWrite || std::find(write.loops.begin(), write.loops.end(), dim.name) == write.loops.end()) continue;
      for (const Access& peer : out.accesses) {
        if (peer.array != write.array || std::find(peer.loops.begin(), peer.loops.end(), dim.name) == peer.loops.end()) continue;
        if (!meetsAcrossIterations(write, peer, dim)) continue;
        bool selfAccumulation = peer.statement == write.statement;
        if (selfAccumulation) reduces = true;
        else other = true;
      }
    }
    dim.kind = other ? Dim::Sequential : reduces ? Dim::Reduction : Dim::Parallel;
  });
}

bool Lifter::meetsAcrossIterations(const Access& a, const Access& b, const Dim& loop) {
  auto tuple = [&](const Access& access, const char* suffix) {
    std::string dims;
    for (const Dim& dim : out.parallel)
      dims += (dims.empty() ? "" : ", ") + dim.name;
    for (const auto& name : access.loops) {
      bool outer = false;
      for (const auto& around : access.loops) {
        if (around == loop.name) break;
        outer = outer || around == name;
      }
      dims += ", " + name + (outer ? "" : suffix);
    }
    for (const auto& name : access.unknowns)
      dims += ", " + name + suffix;
    return dims;
  };
  auto first = poly::Map::parse(out.islAccess(a)), second = poly::Map::parse(out.islAccess(b, "@T"));
  auto conflicts = first && second ? first->conflictsWith(*second) : std::nullopt;
  auto later = poly::Map::parse(out.islParameters() + "{ S[" + tuple(a, "") + "] -> T[" + tuple(b, "__") + "] : " + loop.name +
                                " < " + loop.name + "__ or " + loop.name + " > " + loop.name + "__ }");
  auto both = conflicts && later ? conflicts->intersect(*later) : std::nullopt;
  auto empty = both ? both->isEmpty() : std::nullopt;
  return !empty || !*empty;
}

} // namespace retile::lift
