// Loads, stores and numbers as text.
#include "TemplateEmitter.h"

namespace retile::emit {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Variable;

/// A size as the template sees it: the kernel argument that holds it, its macro, or an extra argument.
std::string TemplateEmitter::sizeName(const std::string& symbol) {
  for (const auto& [argument, value] : lifted.arguments)
    if (value.asSymbol() == symbol) return argument;
  auto size = lifted.sizes.find(symbol);
  if (size != lifted.sizes.end() && size->second.isMacro) return symbol;
  if (size == lifted.sizes.end()) return symbol;
  for (const ExtraArgument& extra : extras)
    if (extra.value == Polynomial::symbol(symbol)) return extra.name;
  extras.push_back({unique(symbol), size->second.bits > 32 ? "long long" : "int", Polynomial::symbol(symbol)});
  return extras.back().name;
}

/// Whether the variable that holds a size or dimension is an unsigned int, or a wider unsigned number.
bool TemplateEmitter::isUnsigned(const std::string& symbol, int mostBits) const {
  auto wraps = [&](const model::Type& type) {
    return type.kind == model::Type::Int && !type.isSigned && type.bits >= 32 && type.bits <= mostBits;
  };
  if (const Dim* dim = lifted.dim(symbol)) return wraps(dim->type);
  for (const auto& [argument, value] : lifted.arguments)
    if (value.asSymbol() == symbol)
      for (const Variable& variable : lifted.kernel.variables)
        if (variable.name == argument) return wraps(variable.type);
  return false;
}

std::string TemplateEmitter::number(const Polynomial& value, const std::map<std::string, std::string>& rename, bool modulo) {
  PolynomialNames naming;
  naming.name = [&](const std::string& symbol) {
    auto found = rename.find(symbol);
    if (found != rename.end()) return found->second;
    if (lifted.dim(symbol)) return symbol;
    return sizeName(symbol);
  };
  naming.whole = [&](const Polynomial& product) -> std::string {
    for (const auto& [argument, held] : lifted.arguments)
      if (held == product) return argument;
    return "";
  };
  naming.isUnsigned = [&](const std::string& symbol) { return isUnsigned(symbol); };
  return polynomialText(value, Dialect::Device, naming, modulo);
}

std::string TemplateEmitter::globalText(const Access& access, const std::map<std::string, std::string>& rename) {
  const transform::Array& array = lifted.arrays.at(access.array);
  const Variable& variable = lifted.kernel.variables[access.variable];
  bool isScalar = variable.kind == Variable::Global && variable.extents.empty();
  std::string base = array.symbol.empty() ? array.name : array.symbol;
  if (isScalar) return base;
  // Rows of a multi-dimensional variable: address from its first element.
  if (variable.extents.size() > 1) {
    std::string first = "&" + base;
    for (size_t n = 0; n < variable.extents.size(); ++n)
      first += "[0]";
    base = "(" + first + ")";
  }
  std::string offset;
  bool wide = access.indexBits > 32;
  for (size_t k = 0; k < access.subscripts.size(); ++k) {
    if (access.subscripts[k].isZero()) continue;
    std::string subscript = number(access.subscripts[k], rename, true);
    if (k + 1 < access.subscripts.size()) {
      subscript = (wide ? "(long long)" + ("(" + subscript + ")") : factorText(subscript)) + " * " + factorText(number(array.strides[k]));
      offset += (offset.empty() ? "" : " + ") + subscript;
    } else if (offset.empty()) {
      offset = subscript;
    } else {
      offset += subscript[0] == '-' ? " - " + subscript.substr(1) : " + " + subscript;
    }
  }
  return base + "[" + (offset.empty() ? "0" : offset) + "]";
}

std::string TemplateEmitter::tileText(const transform::StagePlan& stage, const Access& access) {
  std::string indices;
  size_t rank = stage.window.size();
  for (size_t pad = rank; pad < 3; ++pad)
    indices += ", 0";
  for (size_t k = 0; k < rank; ++k) {
    Polynomial local = access.subscripts[k] - stage.window[k].origin;
    std::map<std::string, std::string> rename;
    for (const DimPlan& dim : plan.dims) {
      if (dim.tiled) rename[dim.name] = names.at(dim.name).local;
      else local = local.substitute(dim.name, Polynomial(0));
    }
    for (const auto& [loop, step] : segment.tileLocal)
      rename[loop] = step;
    indices += ", " + number(local, rename);
  }
  return "tile" + stage.upper + "(" + (stage.loop.empty() ? "0" : segment.slot) + indices + ")";
}

std::string TemplateEmitter::accessText(std::int64_t index) {
  const Access& access = lifted.accesses[static_cast<size_t>(index)];
  auto run = segment.runs.find(index);
  if (run != segment.runs.end()) return run->second + "[" + names.at(plan.dims.back().name).run + "]";
  if (plan.keeps(access.array))
    return "retile::choose<KEEP_" + transform::upperName(access.array) + " != 0>(kept" + transform::upperName(access.array) +
           itemIndices() + ", " + globalText(access) + ")";
  if (const auto* stage = plan.stage(access.array))
    return "(STAGE_" + stage->upper + " ? " + tileText(*stage, access) + " : " + globalText(access) + ")";
  return globalText(access);
}

std::string TemplateEmitter::itemIndices() const {
  std::string text;
  for (const DimPlan& dim : plan.dims)
    if (dim.tiled) text += "[" + names.at(dim.name).item + "]";
  return text;
}

std::string TemplateEmitter::leaf(const Expr& expr) {
  if (expr.kind == ExprKind::Access && !expr.operands.empty()) return this->expr(expr.operands[0]) + "[" + this->expr(expr.operands[1]) + "]";
  if (expr.kind == ExprKind::Access) return accessText(expr.value);
  if (expr.kind == ExprKind::Array && lifted.kernel.variables[expr.variable].kind == Variable::Global) {
    // Rows of a multi-dimensional variable: address from its first element.
    const Variable& variable = lifted.kernel.variables[expr.variable];
    std::string first;
    for (size_t n = 0; n < variable.extents.size(); ++n)
      first += "[0]";
    return variable.extents.size() > 1 ? "(&" + variable.sourceName + first + ")" : variable.sourceName;
  }
  if (expr.kind == ExprKind::Affine)
    return "((" + expr.type.name + ")(" + number(lifted.values[static_cast<size_t>(expr.value)]) + "))";
  if (expr.kind == ExprKind::Variable && expr.variable >= 0) {
    auto found = carried.find(expr.variable);
    if (found != carried.end()) return lifted.kernel.variables[expr.variable].name + "Of" + itemIndices();
    for (const Dim& loop : lifted.loops)
      if (loop.variable == expr.variable) return loop.name;
    for (const Dim& dim : lifted.parallel)
      if (dim.variable == expr.variable) return dim.name;
    const Variable& variable = lifted.kernel.variables[expr.variable];
    if (variable.kind == Variable::Global) return variable.sourceName;
  }
  return "";
}

std::string TemplateEmitter::expr(const ExprRef& node) {
  return model::ExprPrinter(lifted.kernel, [this](const Expr& one) { return leaf(one); }).print(node);
}

} // namespace retile::emit
