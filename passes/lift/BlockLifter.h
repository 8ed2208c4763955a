// Lifts a kernel whose unit is the block: the program of a thread is followed with block and thread indices
// apart from each other, nothing is split up, and what cannot be followed widens what an access may touch.
//
//   buf[threadIdx.x] = x[blockIdx.x * n + c]; __syncthreads(); ...   ->   blocks t; x[t, c] for 0 <= c < n
//
// BlockWalk.cpp follows the program, BlockUnits.cpp finds how threads share the work, BlockLift.cpp decides whether blocks are
// independent points, Knobs.cpp says what is left when they are not.
#pragma once

#include "Lifter.h"

namespace retile::lift {

class BlockLifter : public Lifter {
public:
  /// `namesUnits`: a variable that counts warps or threads over all blocks becomes a dimension in place of the block index.
  explicit BlockLifter(const model::Kernel& kernel, bool namesUnits = true) : Lifter(kernel), namesUnits(namesUnits) {}
  /// `pointwise` is what became of the kernel point by point: its reasons are kept.
  Lifted run(const Lifted& pointwise);

private:
  struct Unknown {
    model::Location location;
    std::string why;
    int array;                                ///< -1: any
    bool isWrite;
  };
  struct Unit {
    std::string name;
    Polynomial value;                         ///< over block and thread indices
  };
  bool namesUnits;
  std::array<std::string, 3> threadNames;     ///< of the loops that stand for threadIdx; "" where there is one thread
  std::vector<Unknown> unknown;               ///< accesses that nothing bounds
  std::vector<Unit> units;
  std::map<std::string, const model::Stmt*> sourceLoops; ///< by the name of their dimension
  std::map<int, int> assignedInAll;
    std::string noAccesses;                     ///< why the accesses could not be written down, else ""
  bool usesAtomicResult = false, mixesAtomics = false, sumsFloatsAtomically = false;
  std::map<int, std::string> atomicOf;        ///< array to the function that updates it

  std::optional<Polynomial> builtin(const std::string& name) override;
  // BlockWalk.cpp
  void enterBlocks();
  void enterThreads();
  void follow(const std::vector<model::StmtRef>& stmts);
  void followStatement(const model::Stmt& stmt);
  void followBranch(const model::Stmt& stmt);
  void followLoop(const model::Stmt& stmt);
  void followAtomic(const model::Stmt& stmt);
  void set(int variable, const Value& value);
  void reads(const model::ExprRef& expr);
  void touch(const model::Expr& load, bool isWrite, bool isRead, bool isAtomic);
  void addConstraint(const std::string& left, const char* relation, const Polynomial& right);
  bool neverNegativeHere(const Polynomial& value);
  // BlockUnits.cpp: how threads share the work
  void nameUnit(int variable);
  std::optional<Polynomial> spread(const Polynomial& threads) const;
  bool distribute(const Counted& found, Dim& dim) const;
  Polynomial withoutUnits(Polynomial value) const;
  bool isThread(const std::string& name) const;
  void dropIdleThreads();
  // BlockLift.cpp: which kernels are lifted, and what their loops are
      std::string attempt(const std::function<void()>& pass);
  void writeDownAccesses();
  void liftBlocks(const Lifted& pointwise);
    std::string whyNotByBlocks();
  std::string whyDependsOnGrid() const;
  void classifyDistributed();
  // Knobs.cpp
  void keepText(const Lifted& pointwise);
  void resolveLaunch();
  std::optional<Polynomial> hostValue(const model::ExprRef& expr);
};

} // namespace retile::lift
