#include "CallSites.h"

#include "HostValues.h"
#include "Types.h"

namespace retile::frontend {

using model::ExprKind;
using model::ExprRef;

namespace {

std::string qualifiedName(const clang::FunctionDecl* function) {
  clang::PrintingPolicy policy(function->getASTContext().getLangOpts());
  policy.SuppressUnwrittenScope = true;
  std::string text;
  llvm::raw_string_ostream out(text);
  function->printQualifiedName(out, policy);
  return text;
}

/// Whether control never gets behind the statement: it returns, throws, leaves the loop, or ends the program.
bool leaves(const clang::Stmt* at) {
  if (!at)
    return false;
  if (llvm::isa<clang::ReturnStmt, clang::BreakStmt, clang::ContinueStmt, clang::CXXThrowExpr,
                clang::GotoStmt>(at))
    return true;
  if (const auto* full = llvm::dyn_cast<clang::ExprWithCleanups>(at))
    return leaves(full->getSubExpr());
  if (const auto* block = llvm::dyn_cast<clang::CompoundStmt>(at))
    return llvm::any_of(block->body(), leaves);
  if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(at))
    return leaves(branch->getThen()) && leaves(branch->getElse());
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(at))
    if (const clang::FunctionDecl* callee = call->getDirectCallee())
      return callee->isNoReturn();
  return false;
}

/// Collects the conditions that hold where the launch is.
class Conditions {
public:
  Conditions(HostValues& values, const HostDefinitions& definitions, std::vector<ExprRef>& out)
      : values(values), definitions(definitions), out(out) {}

  void along(const std::vector<const clang::Stmt*>& path) {
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(path[i]))
        inside(branch, path[i + 1]);
      if (const auto* block = llvm::dyn_cast<clang::CompoundStmt>(path[i]))
        before(block, path[i + 1]);
    }
  }

private:
  HostValues& values;
  const HostDefinitions& definitions;
  std::vector<ExprRef>& out;

  void inside(const clang::IfStmt* branch, const clang::Stmt* child) {
    if (branch->isConstexpr())
      return;
    if (child == branch->getThen())
      holds(branch->getCond(), true);
    else if (child == branch->getElse())
      holds(branch->getCond(), false);
  }

  /// Guards earlier in the block; what stands before the last label may have been jumped over.
  void before(const clang::CompoundStmt* block, const clang::Stmt* child) {
    std::vector<const clang::IfStmt*> guards;
    for (const clang::Stmt* at : block->body()) {
      if (llvm::isa<clang::SwitchCase, clang::LabelStmt>(at))
        guards.clear();
      if (at == child)
        break;
      if (const auto* guard = llvm::dyn_cast<clang::IfStmt>(at); guard && !guard->isConstexpr())
        guards.push_back(guard);
    }
    for (const clang::IfStmt* guard : guards) {
      if (leaves(guard->getThen()))
        holds(guard->getCond(), false);
      else if (guard->getElse() && leaves(guard->getElse()))
        holds(guard->getCond(), true);
    }
  }

  void holds(const clang::Expr* condition, bool truth) {
    condition = condition->IgnoreParenImpCasts();
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(condition);
        unary && unary->getOpcode() == clang::UO_LNot)
      return holds(unary->getSubExpr(), !truth);
    const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(condition);
    if (binary && binary->getOpcode() == (truth ? clang::BO_LAnd : clang::BO_LOr)) {
      holds(binary->getLHS(), truth);
      return holds(binary->getRHS(), truth);
    }
    const ExprRef value = values.value(condition, definitions.orderOf(condition));
    // A condition over something unresolved says nothing about the launch.
    if (hasOpaque(value) || value->kind == ExprKind::IntLiteral)
      return;
    out.push_back(truth ? value : negated(value));
  }

  static ExprRef negated(const ExprRef& value) {
    model::Expr made;
    made.kind = ExprKind::Unary;
    made.type.kind = model::Type::Bool;
    made.type.bits = 8;
    made.type.name = "bool";
    made.text = "!";
    made.operands = {value};
    made.location = value->location;
    return std::make_shared<const model::Expr>(std::move(made));
  }
};

bool isZero(const ExprRef& expr) { return expr->kind == ExprKind::IntLiteral && expr->value == 0; }

/// Arguments, and the bytes behind those pointers whose allocation is in view.
void arguments(HostValues& values, const HostDefinitions& definitions, const Launch& launch,
               model::CallSite& out) {
  const unsigned order = definitions.launchOrder();
  for (unsigned i = 0; i < launch.call->getNumArgs(); ++i) {
    const clang::Expr* argument = launch.call->getArg(i);
    out.arguments.push_back(values.value(argument, order));
    if (!argument->getType()->isPointerType() || !launch.kernel || i >= launch.kernel->getNumParams())
      continue;
    const clang::VarDecl* root = values.rootPointer(argument, order);
    const Write* allocation = root ? definitions.allocation(root, order) : nullptr;
    if (!allocation)
      continue;
    const ExprRef bytes = values.value(allocation->allocatedBytes, allocation->order);
    if (!hasOpaque(bytes))
      out.allocated[launch.kernel->getParamDecl(i)->getNameAsString()] = bytes;
  }
}

} // namespace

model::CallSite callSite(clang::ASTContext& context, const Launch& launch, const TunableMacros& macros,
                         std::map<std::string, std::int64_t>& macrosUsed) {
  model::CallSite out;
  HostDefinitions definitions(launch.host, launch);
  HostValues values(context, definitions, macros, macrosUsed);
  const unsigned order = definitions.launchOrder();
  const clang::CallExpr* config = launch.call->getConfig();

  out.hostFunction = qualifiedName(launch.host);
  for (const clang::ParmVarDecl* parameter : launch.host->parameters()) {
    if (parameter->getName().empty())
      continue;
    out.hostParameters.push_back(parameter->getNameAsString());
    out.hostTypes[out.hostParameters.back()] = convertType(context, parameter->getType());
  }
  out.grid = values.dims(config->getArg(0), order);
  out.block = values.dims(config->getArg(1), order);
  if (config->getNumArgs() > 2 && !llvm::isa<clang::CXXDefaultArgExpr>(config->getArg(2))) {
    out.shared = values.value(config->getArg(2), order);
    if (isZero(out.shared))
      out.shared = nullptr;
  }
  arguments(values, definitions, launch, out);
  Conditions(values, definitions, out.guaranteed).along(launch.path);
  out.location = location(context.getSourceManager(), launch.call->getBeginLoc());
  return out;
}

} // namespace retile::frontend
