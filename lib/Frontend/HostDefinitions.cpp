#include "HostDefinitions.h"

namespace retile::frontend {
namespace {

const clang::Expr* bare(const clang::Expr* expr) { return expr ? expr->IgnoreParenCasts() : nullptr; }

const clang::VarDecl* variableOf(const clang::Expr* expr) {
  const auto* reference = llvm::dyn_cast_or_null<clang::DeclRefExpr>(bare(expr));
  return reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
}

int memberIndex(const clang::MemberExpr* member) {
  return llvm::StringSwitch<int>(member->getMemberDecl()->getName())
      .Case("x", 0)
      .Case("y", 1)
      .Case("z", 2)
      .Default(-1);
}

bool isLoop(const clang::Stmt* at) {
  return llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(at);
}

/// Whether a statement evaluates each of its parts exactly once.
bool evaluatesAll(const clang::Stmt* at) {
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at))
    return !binary->isLogicalOp();
  return llvm::isa<clang::DeclStmt, clang::ExprWithCleanups, clang::ParenExpr, clang::CastExpr,
                   clang::CallExpr, clang::UnaryOperator, clang::AttributedStmt>(at);
}

/// An allocation: its first argument is the address of a pointer, its second the bytes.
bool isAllocation(const clang::CallExpr* call) {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (!callee || !callee->getIdentifier() || call->getNumArgs() < 2)
    return false;
  return llvm::StringSwitch<bool>(callee->getName())
      .Cases({"cudaMalloc", "cudaMallocAsync", "cudaMallocManaged", "cudaMallocHost", "cudaHostAlloc"}, true)
      .Default(false);
}

} // namespace

std::vector<const clang::Stmt*> hostChildren(const clang::Stmt* at) {
  std::vector<const clang::Stmt*> out;
  if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(at)) {
    if (const clang::FunctionTemplateDecl* generic = lambda->getDependentCallOperator()) {
      for (const clang::FunctionDecl* instance : generic->specializations())
        if (instance->hasBody())
          out.push_back(instance->getBody());
    } else {
      out.push_back(lambda->getBody());
    }
    return out;
  }
  for (const clang::Stmt* child : at->children())
    if (child)
      out.push_back(child);
  return out;
}

/// Numbers statements and records writes on one walk.
struct HostDefinitions::Scan {
  explicit Scan(HostDefinitions& out) : out(out) {}

  HostDefinitions& out;
  const clang::CompoundStmt* block = nullptr;
  const clang::Stmt* child = nullptr;
  const clang::Stmt* lambda = nullptr;
  std::vector<const clang::Stmt*> loops;
  const clang::Stmt* known = nullptr; ///< an address whose write is recorded already

  void statement(const clang::Stmt* at) {
    const unsigned order = ++out.counter;
    out.orders[at] = order;
    if (at == out.launch.call)
      out.launchAt = order;
    out.hasGoto |= llvm::isa<clang::GotoStmt, clang::IndirectGotoStmt>(at);
    record(at);
    if (const auto* compound = llvm::dyn_cast<clang::CompoundStmt>(at))
      return compoundChildren(compound);
    const Scan saved = *this;
    if (!evaluatesAll(at))
      child = nullptr;
    if (isLoop(at))
      loops.push_back(at);
    if (llvm::isa<clang::LambdaExpr>(at))
      lambda = at;
    for (const clang::Stmt* below : hostChildren(at))
      statement(below);
    restore(saved);
    if (isLoop(at))
      out.loopExtents[at] = {order, out.counter};
  }

private:
  void restore(const Scan& saved) {
    block = saved.block;
    child = saved.child;
    lambda = saved.lambda;
    loops = saved.loops;
  }

  void compoundChildren(const clang::CompoundStmt* compound) {
    const Scan saved = *this;
    for (const clang::Stmt* below : compound->body()) {
      block = compound;
      child = below;
      statement(below);
    }
    restore(saved);
  }

  void write(const clang::VarDecl* variable, const clang::Expr* value, int member = -1,
             bool isDefault = false, const clang::Expr* bytes = nullptr) {
    if (!variable)
      return;
    Write made;
    made.order = out.counter;
    made.value = value;
    made.member = member;
    made.isDefault = isDefault;
    made.allocatedBytes = bytes;
    made.lambda = lambda;
    made.loops = loops;
    if (child) {
      made.block = block;
      made.child = child;
    }
    out.writes[variable].push_back(std::move(made));
  }

  void assign(const clang::Expr* target, const clang::Expr* value) {
    target = bare(target);
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(target)) {
      const int index = memberIndex(member);
      if (member->isArrow())
        return;
      return write(variableOf(member->getBase()), index < 0 ? nullptr : value, index);
    }
    if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(target))
      return bare(element->getBase())->getType()->isArrayType()
                 ? write(variableOf(element->getBase()), nullptr)
                 : void();
    write(variableOf(target), value);
  }

  void record(const clang::Stmt* at) {
    if (const auto* declared = llvm::dyn_cast<clang::DeclStmt>(at)) {
      for (const clang::Decl* decl : declared->decls())
        if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl))
          declaration(variable);
    } else if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at)) {
      if (binary->isAssignmentOp())
        assign(binary->getLHS(), binary->isCompoundAssignmentOp() ? nullptr : binary->getRHS());
    } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at)) {
      if (unary->isIncrementDecrementOp())
        assign(unary->getSubExpr(), nullptr);
      else if (unary->getOpcode() == clang::UO_AddrOf && unary != known)
        assign(unary->getSubExpr(), nullptr);
    } else if (const auto* call = llvm::dyn_cast<clang::CallExpr>(at)) {
      callArguments(call);
    }
  }

  void declaration(const clang::VarDecl* variable) {
    if (variable->isStaticLocal() && !variable->getType().isConstQualified())
      return write(variable, nullptr);
    const clang::Expr* init = variable->getInit();
    if (variable->getType()->isReferenceType() && init &&
        !variable->getType()->getPointeeType().isConstQualified())
      assign(init, nullptr);
    write(variable, init, -1, !init);
  }

  /// Arguments that a call can change: those bound to a non-const reference; `&p` of an allocation is no
  /// unknown write.
  void callArguments(const clang::CallExpr* call) {
    if (isAllocation(call)) {
      const auto* address = llvm::dyn_cast<clang::UnaryOperator>(bare(call->getArg(0)));
      if (!address || address->getOpcode() != clang::UO_AddrOf)
        return;
      known = address;
      return write(variableOf(address->getSubExpr()), nullptr, -1, false, call->getArg(1));
    }
    if (const auto* operation = llvm::dyn_cast<clang::CXXOperatorCallExpr>(call);
        operation && operation->isAssignmentOp() && call->getNumArgs() == 2)
      return assign(call->getArg(0), operation->getOperator() == clang::OO_Equal ? call->getArg(1) : nullptr);
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (!callee)
      return;
    const bool method =
        llvm::isa<clang::CXXOperatorCallExpr>(call) && llvm::isa<clang::CXXMethodDecl>(callee);
    for (unsigned i = 0; i < callee->getNumParams() && i + method < call->getNumArgs(); ++i) {
      const clang::QualType type = callee->getParamDecl(i)->getType();
      if (type->isReferenceType() && !type->getPointeeType().isConstQualified() &&
          call->getArg(i + method)->isLValue())
        assign(call->getArg(i + method), nullptr);
    }
  }
};

HostDefinitions::HostDefinitions(const clang::FunctionDecl* host, const Launch& launch) : launch(launch) {
  included.insert(host);
  Scan(*this).statement(host->getBody());
}

void HostDefinitions::include(const clang::FunctionDecl* helper) {
  if (included.insert(helper).second)
    Scan(*this).statement(helper->getBody());
}

unsigned HostDefinitions::orderOf(const clang::Stmt* at) const {
  const auto found = orders.find(at);
  return found == orders.end() ? launchAt : found->second;
}

const std::vector<Write>* HostDefinitions::of(const clang::VarDecl* variable) const {
  const auto found = writes.find(variable);
  return found == writes.end() ? nullptr : &found->second;
}

/// Whether `loop` is around `inside` but not around `outside`.
bool HostDefinitions::inLoopWithout(const clang::Stmt* loop, unsigned inside, unsigned outside) const {
  const auto [first, last] = loopExtents.lookup(loop);
  return first <= inside && inside <= last && !(first <= outside && outside <= last);
}

/// Whether every way to the read at `order` passes the write: it is a statement of a block around the launch
/// (or of a helper's body), with no label between it and the way on.
bool HostDefinitions::dominates(const Write& write, unsigned order) const {
  if (write.order >= order || !write.block)
    return false;
  const auto onPath = std::find(launch.path.begin(), launch.path.end(), write.block);
  if (onPath == launch.path.end()) {
    for (const clang::FunctionDecl* helper : included)
      if (helper->getBody() == write.block)
        return true;
    return false;
  }
  if (onPath + 1 == launch.path.end())
    return false;
  bool after = false;
  for (const clang::Stmt* child : write.block->body()) {
    if (after && llvm::isa<clang::SwitchCase, clang::LabelStmt>(child))
      return false;
    if (child == *(onPath + 1))
      return true;
    after |= child == write.child;
  }
  return true;
}

std::optional<const Write*> HostDefinitions::reaching(const clang::VarDecl* variable, unsigned order,
                                                      int member) const {
  const std::vector<Write>* all = of(variable);
  const Write* last = nullptr;
  if (all)
    for (const Write& write : *all)
      if (write.order < order && (write.member < 0 || member < 0 || write.member == member))
        last = &write;
  if (!last && (!llvm::isa<clang::ParmVarDecl>(variable) || (hasGoto && all)))
    return std::nullopt;
  if (last && !dominates(*last, order))
    return std::nullopt;
  const unsigned from = last ? last->order : 0;
  if (all)
    for (const Write& write : *all) {
      if (write.member >= 0 && member >= 0 && write.member != member)
        continue;
      const bool elsewhere = write.lambda && std::find(launch.path.begin(), launch.path.end(),
                                                       write.lambda) == launch.path.end();
      if (elsewhere && &write != last)
        return std::nullopt;
      for (const clang::Stmt* loop : write.loops)
        if (&write != last && inLoopWithout(loop, order, from))
          return std::nullopt;
    }
  // A lambda runs when it is called: what the enclosing function writes after it may be there by then.
  for (const clang::Stmt* step : launch.path)
    if (llvm::isa<clang::LambdaExpr>(step) && all)
      for (const Write& write : *all)
        if (write.order > orderOf(step) && !write.lambda && from < orderOf(step))
          return std::nullopt;
  return last;
}

bool HostDefinitions::unchanged(const clang::VarDecl* variable, unsigned order) const {
  const std::vector<Write>* all = of(variable);
  if (!all)
    return true;
  for (const Write& write : *all) {
    if (order < write.order && write.order < launchAt)
      return false;
    for (const clang::Stmt* loop : write.loops)
      if (inLoopWithout(loop, launchAt, order))
        return false;
  }
  return true;
}

const Write* HostDefinitions::allocation(const clang::VarDecl* variable, unsigned order) const {
  const Write* found = nullptr;
  if (const std::vector<Write>* all = of(variable))
    for (const Write& write : *all) {
      if (write.isDefault)
        continue;
      if (write.allocatedBytes) {
        if (found || write.order > order)
          return nullptr;
        found = &write;
      }
    }
  return found;
}

bool HostDefinitions::onlyAllocated(const clang::VarDecl* variable) const {
  const std::vector<Write>* all = of(variable);
  return all && !llvm::isa<clang::ParmVarDecl>(variable) && llvm::all_of(*all, [](const Write& write) {
           const clang::Expr* value = write.value ? write.value->IgnoreParenCasts() : nullptr;
           return write.isDefault || write.allocatedBytes ||
                  llvm::isa_and_nonnull<clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr,
                                        clang::IntegerLiteral>(value);
         });
}

bool HostDefinitions::isHostParameter(const clang::VarDecl* variable) const {
  return llvm::is_contained(launch.host->parameters(), variable);
}

} // namespace retile::frontend
