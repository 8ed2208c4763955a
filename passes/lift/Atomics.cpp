// Atomic updates as an associative combine over the points.
//
//   atomicAdd(&hist[data[i]], 1)   ->   hist[q] combined by atomicAdd, for any q
//
// Legality: nobody needs the old value, and the combination commutes: integers exactly, floats but for
// rounding, so that the verification allows a tolerance. Updates of one kind never conflict; with anything
// else the elements must differ between points (Independence.cpp). Refused: exchanges, compare-and-swap, a
// use of the old value (it depends on the order).
#include "Lifter.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtRef;

void Lifter::atomic(const Stmt& stmt, std::vector<StmtRef>& into) {
  std::string kind = stmt.text.substr(0, stmt.text.find("_block"));
  kind = kind.substr(0, kind.find("_system"));
  static const std::set<std::string> commuting{"atomicAdd", "atomicSub", "atomicMin", "atomicMax",
                                               "atomicAnd", "atomicOr",  "atomicXor"};
  if (!commuting.count(kind))
    return fail(stmt.location, "an atomic update that depends on the order: " + stmt.text);
  if (stmt.variable >= 0)
    return fail(stmt.location, "the old value of an atomic update, which depends on the order: " + stmt.text);
  if (stmt.text != kind)
    return fail(stmt.location, "an atomic update of another scope: " + stmt.text);
  Stmt kept = stmt;
  kept.value = rewrite(stmt.value);
  ExprRef target = access(*stmt.target, true, false);
  if (target->kind != ExprKind::Access)
    return fail(stmt.location, "an atomic update of a thread's own array");
  Access& made = out.accesses[static_cast<size_t>(target->value)];
  made.isAtomic = true;
  // a - b and a + (-b) are one kind.
  made.combine = kind == "atomicSub" ? "atomicAdd" : kind;
  kept.target = target;
  into.push_back(std::make_shared<Stmt>(std::move(kept)));
  ++statements;
}

} // namespace retile::lift
