// The state that the lift passes share while a kernel is lifted; each pass is one file.
#pragma once

#include "Evaluate.h"
#include "retile/Transform/Lifted.h"

namespace retile::lift {

using transform::Access;
using transform::Dim;
using transform::Lifted;

class Lifter {
public:
  explicit Lifter(const model::Kernel& kernel);
  virtual ~Lifter() = default;
  Lifted run();

protected:
  Lifted out;
  Environment environment;
  bool failed = false;
  std::vector<std::string> pathConditions;   ///< isl constraints around the current statement
  int mayDepth = 0;                          ///< > 0: under a condition that is not affine
  std::vector<size_t> openLoops;             ///< indices into out.loops, outermost first
  int statements = 0;                        ///< names S0, S1, ...

  /// How the builtins of one axis read.
  struct Axis {
    std::string global, block;               ///< symbols of the global id and the block index
    std::int64_t globalOffset = 0, blockOffset = 0;
    std::string globalName, blockName;       ///< the user's variables that hold them, or ""
    model::Type globalType, blockType;
    std::optional<Polynomial> blockSize;     ///< known threads a block
    Polynomial threads;                      ///< blockSize, or the symbol for it
    std::string gridSymbol;
  };
  std::array<Axis, 3> axes;

  // Launch.cpp: call site, sizes, axes
  void readLaunch();
  void nameAxes();
  // Walk.cpp: the point program
  void walk(const std::vector<model::StmtRef>& stmts, std::vector<model::StmtRef>& into);
  void statement(const model::StmtRef& stmt, std::vector<model::StmtRef>& into);
  void store(const model::Stmt& stmt, std::vector<model::StmtRef>& into);
  void branch(const model::Stmt& stmt, std::vector<model::StmtRef>& into);
  void assign(const model::Stmt& stmt, std::vector<model::StmtRef>& into);
  void declare(const model::Stmt& stmt, std::vector<model::StmtRef>& into);
  model::ExprRef rewrite(const model::ExprRef& expr);
  model::ExprRef access(const model::Expr& load, bool isWrite, bool isRead);
  model::ExprRef part(const model::Expr& place, bool isWrite, bool isRead);
  void scope(const model::Stmt& stmt, std::vector<model::StmtRef>& into);
  model::ExprRef record(const Access& made, const model::Expr& at, bool isWrite, bool isRead);
  Evaluator evaluator();
  Value valueOf(int variable, bool withUnknowns) const;
  virtual std::optional<Polynomial> builtin(const std::string& name);
  bool proveNonNegative(const Polynomial& value);
  // Atomics.cpp: updates whose order is free
  void atomic(const model::Stmt& stmt, std::vector<model::StmtRef>& into);
  // Unknowns.cpp: integers that only the data knows
  Evaluator dataEvaluator();
  Value standIn(const model::ExprRef& expr);
  Value held(const model::Type& type, const model::ExprRef& value);
  Value joined(const Value& a, const Value& b, const std::optional<std::string>& whenA, const std::optional<std::string>& whenB);
  std::string addUnknown(const std::string& constraints, const std::string& source);
  std::vector<std::string> unknownsIn(std::set<std::string> names) const;
  std::map<const model::Expr*, std::string> stoodIn; ///< unknowns of the current statement
  // Loops.cpp: counted loops, induction variables
  struct Counted {
    int variable;
    Polynomial from, to, step;
    bool isDown = false;
  };
  std::optional<Counted> counted(const model::Stmt& stmt, std::string& why);
  void loop(const model::Stmt& stmt, std::vector<model::StmtRef>& into);
  void enterInductions(const model::Stmt& stmt, const Counted& loop);
  std::string loopName(const std::string& wanted) const;
  // DataLoops.cpp: loops that stay as they are spelled
  void dataLoop(const model::Stmt& stmt, std::vector<model::StmtRef>& into);
  std::optional<Counted> dataCounted(const model::Stmt& stmt);
  bool isReadBehind(const model::Stmt& loop) const;
  void enterData(const std::map<int, int>& assigned, const Environment& before);
  // GlobalIds.cpp: guards and distributed loops around the whole program
  void peel(const std::vector<model::StmtRef>& stmts);
  bool peelDistributed(const model::Stmt& stmt);
  void collectDims();
  void boundDims();
  // DeadCode.cpp
  void dropDeadCode();
  // Delinearize.cpp
  void delinearize();
  void splitConstantStrides();
  void proveSubscripts();
  bool provedAt(const Access& access, const Polynomial& value);
  std::optional<std::pair<std::int64_t, std::int64_t>> constantRange(const Polynomial& subscript) const;
  std::optional<std::vector<Polynomial>> subscriptBounds(const Access& access, const Polynomial& subscript, bool upper);
  // Independence.cpp
  void proveIndependence();
  static std::string describe(const Access& access);
  // Classify.cpp
    void classifyLoops();
  static bool isAccumulation(const model::Stmt& stmt);
  bool meetsAcrossIterations(const Access& a, const Access& b, const Dim& loop);
  // Extents.cpp
  void computeExtents();
  std::string whySharesArrays(const std::set<int>& written) const;
  // TestData.cpp: what loaded subscripts and bounds may be
  void boundUnknowns();
  // Barriers.cpp: why a kernel with shared memory or barriers is ill defined, if it is
  void checkSynchronisation();
  void checkSharedRaces();

  void fail(const model::Location& at, const std::string& why);
  /// Fails for good: the kernel is not well defined, so no template of it could be checked.
  void refuse(const model::Location& at, const std::string& why);
  std::set<std::string> dimNames() const;
};

} // namespace retile::lift
