// Kernel parameters that the kernel changes become variables: the items of a thread share its parameters.
//
//   k(float* p, int n) { p += n; ... }   ->   k(float* p, int n) { float* p2 = p; p2 += n; ... }
#include "Parameters.h"
#include "retile/KernelModel/Normalize.h"

#include <set>

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;

namespace {

using Renamed = std::map<int, int>;

ExprRef rename(const ExprRef& expr, const Renamed& renamed) {
  if (!expr)
    return expr;
  auto copy = std::make_shared<Expr>(*expr);
  if (auto found = renamed.find(expr->variable); found != renamed.end())
    copy->variable = found->second;
  for (ExprRef& operand : copy->operands)
    operand = rename(operand, renamed);
  return copy;
}

std::vector<StmtRef> rename(const std::vector<StmtRef>& stmts, const Renamed& renamed) {
  std::vector<StmtRef> out;
  for (const StmtRef& stmt : stmts) {
    Stmt copy = *stmt;
    if (auto found = renamed.find(stmt->variable); found != renamed.end())
      copy.variable = found->second;
    copy.target = rename(stmt->target, renamed);
    copy.value = rename(stmt->value, renamed);
    for (auto* list : {&copy.init, &copy.step, &copy.body, &copy.otherwise})
      *list = rename(*list, renamed);
    out.push_back(std::make_shared<const Stmt>(std::move(copy)));
  }
  return out;
}

} // namespace

void copyChangedParameters(model::Kernel& kernel) {
  std::map<int, int> assigned;
  model::collectAssigned(kernel.body, assigned);
  Renamed renamed;
  std::vector<StmtRef> copies;
  std::set<std::string> names;
  for (const auto& variable : kernel.variables)
    names.insert(variable.name);
  for (int parameter : kernel.parameters) {
    if (!assigned.count(parameter))
      continue;
    model::Variable variable = kernel.variables[parameter];
    variable.kind = model::Variable::Scalar;
    variable.type.isRestrict = false;
    const std::string base = variable.name;
    for (int n = 2; !names.insert(variable.name).second; ++n)
      variable.name = base + std::to_string(n);
    Stmt copy;
    copy.kind = StmtKind::Declare;
    copy.variable = static_cast<int>(kernel.variables.size());
    copy.location = variable.location;
    auto value = std::make_shared<Expr>();
    value->kind = ExprKind::Variable;
    value->type = kernel.variables[parameter].type;
    value->text = base;
    value->variable = parameter;
    value->location = variable.location;
    copy.value = value;
    copies.push_back(std::make_shared<const Stmt>(std::move(copy)));
    renamed[parameter] = static_cast<int>(kernel.variables.size());
    kernel.variables.push_back(std::move(variable));
  }
  if (renamed.empty())
    return;
  std::vector<StmtRef> body = rename(kernel.body, renamed);
  kernel.body = std::move(copies);
  kernel.body.insert(kernel.body.end(), body.begin(), body.end());
}

} // namespace retile::lift
