// Control flow in the form that the lift passes expect.
#pragma once

#include "retile/KernelModel/Model.h"

namespace retile::model {

/// Folds early exits into else branches, so that `exit` (Return or Continue) only ever ends the list:
///
///   if (i >= n) return;        if (i >= n) {} else {
///   a[i] = 0;            ->      a[i] = 0; }
///
/// False if an exit stands where that is impossible (inside a loop, or on one path of a branch that goes on).
bool foldExits(std::vector<StmtRef>& stmts, StmtKind exit);

/// Both kinds of exits, everywhere, and `while (v < n) { ...; v += c; }` as a for loop. Exits that cannot be folded stay.
void normalize(std::vector<StmtRef>& stmts);

/// Whether the statement may end more than itself: a return, or a break or continue of a loop around it.
bool mayLeave(const Stmt& stmt);

/// Whether an exit of this kind stands in the statements; break and continue of inner loops do not count.
bool hasExit(const std::vector<StmtRef>& stmts, StmtKind exit);

/// The statements with a return in place of every continue of the loop whose body they are.
std::vector<StmtRef> replaceContinue(const std::vector<StmtRef>& stmts);

/// Variables that the statements assign to (scalars only), at any depth.
void collectAssigned(const std::vector<StmtRef>& stmts, std::map<int, int>& timesAssigned);

} // namespace retile::model
