// Why a kernel with barriers, shared memory or warp-synchronous code is not well defined, if it is not:
//
//   if (t < s) { ...; __syncthreads(); }        a barrier that only some threads of the block reach
//   volatile float* s; s[t] += s[t + 16];       lanes that exchange data without a barrier or shuffle
//   s[t] = a; b = s[N - 1 - t];                 a write and a read of shared memory in one barrier interval
//   printf("%d", i);                            output that shows the order of threads
//
// These are reasons to refuse, whatever else could be said about the kernel.
#include "Lifter.h"
#include "retile/KernelModel/Normalize.h"
#include "retile/KernelModel/Visit.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;
using model::Variable;

namespace {

/// Which variables differ between the threads of a block.
class ThreadDependence {
public:
  bool depends(const ExprRef& expr) const {
    // Memory may differ from thread to thread through its index only.
    return model::anyExpr(expr, [&](const Expr& node) {
      return node.kind == ExprKind::Builtin ? node.text.rfind("threadIdx", 0) == 0
                                            : node.kind == ExprKind::Variable && dependent.count(node.variable) != 0;
    });
  }

  /// To a fixed point; `controlled` is true under a condition that depends on the thread.
  void run(const std::vector<StmtRef>& stmts) {
    for (size_t before = ~size_t{0}; before != dependent.size();) {
      before = dependent.size();
      scan(stmts, false);
    }
  }

private:
  std::set<int> dependent;

  void scan(const std::vector<StmtRef>& stmts, bool controlled) {
    for (const StmtRef& stmt : stmts) {
      bool sets = stmt->kind == StmtKind::Declare || stmt->kind == StmtKind::Assign || stmt->kind == StmtKind::Sync ||
                  stmt->kind == StmtKind::Atomic;
      if (sets && stmt->variable >= 0 && (depends(stmt->value) || (controlled && stmt->kind != StmtKind::Declare)))
        dependent.insert(stmt->variable);
      scan(stmt->init, controlled);
      bool inside = controlled || depends(stmt->value);
      scan(stmt->body, inside);
      scan(stmt->otherwise, inside);
      scan(stmt->step, inside);
    }
  }
};

bool hasBarrier(const std::vector<StmtRef>& stmts) {
  bool found = false;
  model::forEachStmt(stmts, [&](const Stmt& stmt) { found = found || stmt.kind == StmtKind::Barrier; });
  return found;
}

const Stmt* divergentBarrier(const ThreadDependence& threads, const std::vector<StmtRef>& stmts, bool divergent) {
  for (const StmtRef& stmt : stmts) {
    if (stmt->kind == StmtKind::Barrier && divergent) return stmt.get();
    bool inside = divergent || threads.depends(stmt->value);
    for (const auto* inner : {&stmt->body, &stmt->otherwise})
      if (const Stmt* found = divergentBarrier(threads, *inner, inside)) return found;
  }
  return nullptr;
}

} // namespace

void Lifter::checkSynchronisation() {
  const auto& body = out.kernel.body;
  ThreadDependence threads;
  threads.run(body);
  if (const Stmt* barrier = divergentBarrier(threads, body, false))
    refuse(barrier->location, "a barrier in a divergent branch or loop: not every thread of the block reaches it");
  model::forEachStmt(body, [&](const Stmt& stmt) {
    static const std::set<std::string> visible{"printf", "clock", "clock64", "vprintf"};
    if (stmt.kind == StmtKind::Sync && stmt.value && visible.count(stmt.value->text))
      refuse(stmt.location, "the mapping of threads is visible in the output: " + stmt.value->text);
  });
  bool usesVolatile = false;
  for (const Variable& variable : out.kernel.variables)
    if (variable.type.isVolatile && (variable.kind == Variable::SharedArray || variable.type.kind == model::Type::Pointer)) {
      if (!usesVolatile)
        refuse(variable.location, "warp-synchronous code: lanes exchange data through volatile '" + variable.sourceName +
                                    "' without a barrier, __syncwarp or shuffle");
      usesVolatile = true;
    }
  if (!usesVolatile) checkSharedRaces();
}

/// Races on shared memory between the barriers of straight-line code, where every index is affine in the thread index.
void Lifter::checkSharedRaces() {
  struct Use {
    bool isWrite;
    std::string subscript, conditions;
    model::Location location;
  };
  std::map<int, std::vector<Use>> interval;
  Environment saved = environment;
  std::set<std::string> dims = dimNames();
  std::vector<std::string> conditions;
  std::string tuple, twin, box;
  for (int a = 0; a < 3; ++a) {
    if (!axes[a].blockSize) return;
    std::string name = std::string("t_") + "xyz"[a];
    tuple += (tuple.empty() ? "" : ", ") + name;
    twin += (twin.empty() ? "" : ", ") + name + "__";
    box += (box.empty() ? "0 <= " : " and 0 <= ") + name + " < " + axes[a].blockSize->toText();
  }
  // In terms of the thread index alone: global = thread + block * size.
  auto inThreads = [&](Polynomial p) {
    for (int a = 0; a < 3; ++a)
      p = p.substitute(axes[a].global, Polynomial::symbol(std::string("t_") + "xyz"[a]) + Polynomial(axes[a].globalOffset) +
                                           (Polynomial::symbol(axes[a].block) - Polynomial(axes[a].blockOffset)) * axes[a].threads);
    return p;
  };
  std::set<std::string> inner{"t_x", "t_y", "t_z"};
  auto report = [&] {
    for (auto& [variable, uses] : interval)
      for (const Use& write : uses) {
        if (!write.isWrite) continue;
        for (const Use& other : uses) {
          auto side = [&](const Use& use, const std::string& name) {
            return poly::Map::parse("{ " + name + "[" + tuple + "] -> [" + use.subscript + "] : " + box + use.conditions + " }");
          };
          auto a = side(write, "S"), b = side(other, "T");
          auto meet = a && b ? a->conflictsWith(*b) : std::nullopt;
          auto distinct = poly::Map::parse("{ S[t_x, t_y, t_z] -> T[t_x__, t_y__, t_z__] : t_x < t_x__ or t_x > t_x__ or t_y < t_y__ "
                                           "or t_y > t_y__ or t_z < t_z__ or t_z > t_z__ }");
          auto race = meet && distinct ? meet->intersect(*distinct) : std::nullopt;
          auto empty = race ? race->isEmpty() : std::nullopt;
          if (!empty || *empty) continue;
          refuse(write.location, "a race on shared memory '" + out.kernel.variables[variable].sourceName +
                                   "': a write and " + (other.isWrite ? "another write" : "a read") +
                                   " by different threads in the same barrier interval");
          return;
        }
      }
  };
  auto use = [&](const Expr& load, bool isWrite) {
    Value pointer = evaluator().evaluate(load.operands[0]);
    auto index = evaluator().integer(load.operands[1]);
    if (pointer.kind != Value::Pointer || !index) return;
    auto kind = out.kernel.variables[pointer.base].kind;
    if (kind != Variable::SharedArray && kind != Variable::DynamicShared) return;
    Polynomial subscript = inThreads(pointer.value + *index);
    for (const auto& name : subscript.symbols())
      if (!inner.count(name)) return;
    auto text = subscript.toIsl(inner);
    std::string guards;
    for (const auto& condition : conditions)
      guards += " and " + condition;
    if (text) interval[pointer.base].push_back({isWrite, *text, guards, load.location});
  };
  auto reads = [&](const ExprRef& expr) {
    model::forEachExpr(expr, [&](const Expr& node) {
      if (node.kind == ExprKind::Load) use(node, false);
    });
  };
  // Only what is certain: statements that every thread runs, outside of loops and conditions.
  for (const StmtRef& stmt : out.kernel.body) {
    switch (stmt->kind) {
    case StmtKind::Declare:
      reads(stmt->value);
      if (stmt->value) environment[stmt->variable] = evaluator().evaluate(stmt->value);
      break;
    case StmtKind::Assign:
      reads(stmt->value);
      environment[stmt->variable] = stmt->text == "=" ? evaluator().evaluate(stmt->value) : Value{};
      break;
    case StmtKind::Store:
      reads(stmt->value);
      if (stmt->text != "=") use(*stmt->target, false);
      use(*stmt->target, true);
      break;
    case StmtKind::Barrier:
      report();
      interval.clear();
      break;
    default: {
      std::map<int, int> assigned;
      std::vector<StmtRef> one{stmt};
      model::collectAssigned(one, assigned);
      for (const auto& [variable, times] : assigned)
        environment[variable] = Value{};
      if (hasBarrier(one)) {
        report();
        interval.clear();
      }
      break;
    }
    }
  }
  report();
  environment = saved;
}

} // namespace retile::lift
