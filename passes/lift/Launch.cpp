// What the call site says: sizes, argument values, grid and block.
//
//   gemm<<<dim3((N + 15) / 16, M), dim3(16)>>>(A, M * K)   ->   sizes N, M, K; strideA = M*K; block 16 x 1 x 1
#include "Lifter.h"
#include "retile/KernelModel/Normalize.h"

namespace retile::lift {

using model::Type;

static const char axisNames[] = "xyz";

static bool usable(const std::string& name) {
  // Words of isl's notation cannot be parameters.
  static const std::set<std::string> reserved{"exists", "and", "or", "not", "min", "max", "floor", "ceil", "mod", "implies",
                                              "infty", "NaN", "rat", "true", "false", "floord", "ceild"};
  return !reserved.count(name) && name.find("_x_") == std::string::npos;
}

void Lifter::readLaunch() {
  const model::Kernel& kernel = out.kernel;
  // Prefer a call site whose block is constant.
  const model::CallSite* chosen = nullptr;
  bool foundConstant = false;
  for (const auto& site : kernel.callSites) {
    bool constant = true;
    for (const auto& component : site.block) {
      auto value = evaluateHost(component);
      constant = constant && value && value->constant();
    }
    if (!chosen || (constant && !foundConstant)) chosen = &site;
    foundConstant = foundConstant || constant;
  }
  out.callSite = chosen;

  auto addSize = [&](const std::string& name, int bits) {
    auto& size = out.sizes[name];
    size.name = name;
    size.bits = std::max(size.bits, bits);
    auto macro = kernel.macroSizes.find(name);
    if (macro != kernel.macroSizes.end()) {
      size.isMacro = true;
      size.value = macro->second;
    }
  };
  auto addSizes = [&](const Polynomial& value) {
    for (const auto& name : value.symbols()) {
      auto type = chosen ? chosen->hostTypes.find(name) : std::map<std::string, Type>::const_iterator{};
      addSize(name, chosen && type != chosen->hostTypes.end() ? type->second.bits : 32);
    }
  };
  auto resolvable = [&](const std::optional<Polynomial>& value) {
    if (!value) return false;
    for (const auto& name : value->symbols())
      if (!usable(name)) return false;
    return true;
  };

  for (int a = 0; a < 3; ++a) {
    auto grid = chosen ? evaluateHost(chosen->grid[a]) : std::nullopt;
    auto block = chosen ? evaluateHost(chosen->block[a]) : std::nullopt;
    out.axisKnown[a] = resolvable(grid) && resolvable(block);
    out.grid[a] = resolvable(grid) ? *grid : Polynomial::symbol(std::string("gridDim_") + axisNames[a]);
    out.block[a] = resolvable(block) ? *block : Polynomial::symbol(std::string("blockDim_") + axisNames[a]);
    Axis& axis = axes[a];
    axis.global = std::string("global_") + axisNames[a];
    axis.block = std::string("block_") + axisNames[a];
    axis.gridSymbol = std::string("gridDim_") + axisNames[a];
    if (resolvable(block) && block->constant()) axis.blockSize = block;
    axis.threads = axis.blockSize ? *axis.blockSize : Polynomial::symbol(std::string("blockDim_") + axisNames[a]);
  }
  for (const auto& [name, value] : kernel.macroSizes)
    addSize(name, 32);
  for (size_t n = 0; n < kernel.parameters.size(); ++n) {
    const model::Variable& parameter = kernel.variables[kernel.parameters[n]];
    if (parameter.type.kind != Type::Int) continue;
    auto value = chosen && n < chosen->arguments.size() ? evaluateHost(chosen->arguments[n]) : std::nullopt;
    bool isConstant = value && value->constant();
    if (resolvable(value) && !isConstant && !value->symbols().empty()) {
      out.arguments[parameter.name] = *value;
      addSizes(*value);
      for (const auto& name : value->symbols())
        out.sizes[name].bits = std::max(out.sizes[name].bits, value->asSymbol() ? 0 : 32);
    } else {
      std::string name = usable(parameter.name) && !out.sizes.count(parameter.name) ? parameter.name : parameter.name + "_";
      out.arguments[parameter.name] = Polynomial::symbol(name);
      addSize(name, parameter.type.bits);
      if (isConstant) out.sizes[name].value = value->constant();
    }
  }
  // The launch may use sizes that the kernel does not see.
  for (int a = 0; a < 3; ++a)
    for (const Polynomial* p : {&out.grid[a], &out.block[a]})
      if (p->symbols().empty() || *p->symbols().begin() != std::string(p == &out.grid[a] ? "gridDim_" : "blockDim_") + axisNames[a])
        addSizes(*p);
}

/// Looks through the leading declarations for the names that the user gives to the indices.
void Lifter::nameAxes() {
  Environment saved = environment;
  std::map<int, int> assigned;
  model::collectAssigned(out.kernel.body, assigned);
  auto scan = [&](auto&& self, const std::vector<model::StmtRef>& stmts) -> void {
    for (const auto& stmt : stmts) {
      if (stmt->kind == model::StmtKind::If || stmt->kind == model::StmtKind::For) {
        if (stmt == stmts.back()) {
          self(self, stmt->body);
          self(self, stmt->otherwise);
        }
        continue;
      }
      bool declares = stmt->kind == model::StmtKind::Declare && stmt->value;
      bool assigns = stmt->kind == model::StmtKind::Assign && stmt->text == "=";
      if (!declares && !assigns) continue;
      const model::Variable& variable = out.kernel.variables[stmt->variable];
      if (variable.type.kind != Type::Int || variable.type.bits < 32) continue;
      auto value = evaluator().integer(stmt->value);
      if (!value) continue;
      Value entry;
      entry.kind = Value::Integer;
      entry.value = *value;
      environment[stmt->variable] = entry;
      for (Axis& axis : axes) {
        auto named = [&](const std::string& symbol, std::string& name, std::int64_t& offset, Type& type) {
          auto rest = (*value - Polynomial::symbol(symbol)).constant();
          if (!rest || !name.empty() || !usable(variable.name) || assigned[stmt->variable] > (assigns ? 1 : 0)) return;
          name = variable.name;
          offset = *rest;
          type = variable.type;
        };
        named(axis.global, axis.globalName, axis.globalOffset, axis.globalType);
        named(axis.block, axis.blockName, axis.blockOffset, axis.blockType);
      }
    }
  };
  scan(scan, out.kernel.body);
  environment = saved;
  // A loop that strides over the whole grid names its own dimension; what it starts from is only a thread's number.
  std::set<std::string> taken;
  for (const auto& [name, size] : out.sizes)
    taken.insert(name);
  for (int a = 0; a < 3; ++a) {
    Axis& axis = axes[a];
    auto unique = [&](std::string wanted) {
      while (!taken.insert(wanted).second)
        wanted += "_";
      return wanted;
    };
    auto intType = [] {
      Type type;
      type.kind = Type::Int;
      type.bits = 32;
      type.isSigned = true;
      type.name = "int";
      return type;
    };
    if (axis.globalName.empty()) axis.globalType = intType();
    if (axis.blockName.empty()) axis.blockType = intType();
    axis.global = unique(axis.globalName.empty() ? std::string("global") + static_cast<char>(axisNames[a] - 32) : axis.globalName);
    axis.block = unique(axis.blockName.empty() ? std::string("block") + static_cast<char>(axisNames[a] - 32) : axis.blockName);
  }
}

std::optional<Polynomial> Lifter::builtin(const std::string& name) {
  size_t dot = name.find('.');
  if (dot == std::string::npos || dot + 1 >= name.size()) return std::nullopt;
  int a = name[dot + 1] - 'x';
  if (a < 0 || a > 2) return std::nullopt;
  Axis& axis = axes[a];
  std::string kind = name.substr(0, dot);
  Polynomial block = Polynomial::symbol(axis.block) - Polynomial(axis.blockOffset);
  if (kind == "blockDim") return axis.threads;
  if (kind == "gridDim") return Polynomial::symbol(axis.gridSymbol);
  if (kind == "blockIdx") return block;
  if (kind != "threadIdx") return std::nullopt;
  if (axis.blockSize && axis.blockSize->constant() == 1) return Polynomial(0);
  return Polynomial::symbol(axis.global) - Polynomial(axis.globalOffset) - block * axis.threads;
}

} // namespace retile::lift
