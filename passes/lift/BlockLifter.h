// Lifts a kernel whose unit is the block: the program of a thread is followed with block and thread indices
// apart from each other, nothing is split up, and what cannot be followed widens what an access may touch.
//
//   buf[threadIdx.x] = x[blockIdx.x * n + c]; __syncthreads(); ...   ->   blocks t; x[t, c] for 0 <= c < n
//
// BlockWalk.cpp follows the program, Knobs.cpp says what is left when only the kernel's text can be kept.
#pragma once

#include "Lifter.h"

namespace retile::lift {

class BlockLifter : public Lifter {
public:
  explicit BlockLifter(const model::Kernel& kernel) : Lifter(kernel) {}
  /// `pointwise` is what became of the kernel point by point: its reasons are kept.
  Lifted run(const Lifted& pointwise);

private:
  std::array<std::string, 3>
      threadNames; ///< of the loops that stand for threadIdx; "" where there is one thread
  std::vector<std::pair<model::Location, std::string>> unknown; ///< accesses that nothing bounds

  std::optional<Polynomial> builtin(const std::string& name) override;
  // BlockWalk.cpp
  void enterBlocks();
  void enterThreads();
  void follow(const std::vector<model::StmtRef>& stmts);
  void followStatement(const model::Stmt& stmt);
  void followBranch(const model::Stmt& stmt);
  void followLoop(const model::Stmt& stmt);
  void forget(const std::vector<model::StmtRef>& stmts);
  void set(int variable, const Value& value);
  void reads(const model::ExprRef& expr);
  void touch(const model::Expr& load, bool isWrite, bool isRead, bool isAtomic);
  void addConstraint(const std::string& left, const char* relation, const Polynomial& right);
  bool neverNegativeHere(const Polynomial& value);
  void dropIdleThreads();
  // Knobs.cpp
  void keepText(const Lifted& pointwise);
  void resolveLaunch();
  std::optional<Polynomial> hostValue(const model::ExprRef& expr);
};

} // namespace retile::lift
