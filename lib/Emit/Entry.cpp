// The manifest entry of a kernel: sizes, arguments, tensors, launches, parameters and what they must satisfy.
#include "TemplateEmitter.h"
#include "retile/Emit/Emit.h"

namespace retile::emit {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;
using model::Type;
using model::Variable;

static std::string text(const Polynomial& value) { return polynomialText(value, Dialect::Manifest); }

/// Floating-point operations of an expression: one each, two for a fused multiply-add.
static std::int64_t operations(const ExprRef& expr) {
  if (!expr) return 0;
  std::int64_t count = 0;
  bool isFloat = expr->type.kind == Type::Float || expr->type.kind == Type::Record;
  bool isArithmetic = (expr->kind == ExprKind::Binary && std::string("+-*/").find(expr->text) != std::string::npos) || expr->kind == ExprKind::Call;
  if (isFloat && isArithmetic) count = expr->text.find("fma") == 0 || expr->text.find("__fma") == 0 ? 2 : 1;
  for (const ExprRef& operand : expr->operands)
    count += operations(operand);
  return count;
}

static std::optional<Polynomial> flops(const Lifted& lifted, const std::vector<StmtRef>& stmts) {
  Polynomial total;
  for (const StmtRef& stmt : stmts) {
    bool isDataBound = stmt->kind == StmtKind::While || (stmt->kind == StmtKind::For && lifted.loops[stmt->variable].dataBound);
    if (isDataBound) return std::nullopt;
    std::int64_t own = operations(stmt->value);
    bool updates = (stmt->kind == StmtKind::Assign || stmt->kind == StmtKind::Store) && stmt->text != "=" && stmt->value &&
                   (stmt->value->type.kind == Type::Float || stmt->value->type.kind == Type::Record);
    total = total + Polynomial(own + updates);
    auto inner = flops(lifted, stmt->body), other = flops(lifted, stmt->otherwise);
    if (!inner || !other) return std::nullopt;
    if (stmt->kind == StmtKind::For) {
      const Dim& loop = lifted.loops[stmt->variable];
      auto step = loop.step.constant();
      Polynomial trips = loop.to - loop.from;
      for (const auto& name : trips.symbols())
        if (!lifted.isSize(name)) return std::nullopt;
      if (step && *step > 1) trips = Polynomial::floorDiv(trips + Polynomial(*step - 1), Polynomial(*step));
      total = total + trips * *inner;
    } else {
      total = total + *inner + *other;
    }
  }
  return total;
}

/// Points of a dimension: how far from its first to its last.
static std::string reach(const Dim& dim, bool fromOrigin) {
  Polynomial first = fromOrigin ? dim.origin : dim.lower.empty() ? dim.origin : dim.lower[0];
  std::string out;
  if (!dim.upper.empty()) {
    Polynomial most = dim.upper[0];
    for (const Polynomial& piece : dim.upper)
      most = Polynomial::maximum(most, piece);
    out = text(most + Polynomial(1) - first);
  }
  if (dim.needsEnd) {
    std::string end = text(dim.end - first);
    out = out.empty() ? end : "min(" + out + ", " + end + ")";
  }
  return out;
}

static void addSizes(const Lifted& lifted, manifest::Kernel& entry) {
  for (const auto& [name, info] : lifted.sizes) {
    manifest::Size size;
    size.name = name;
    size.kind = info.isMacro ? "macro" : "value";
    size.defaultValue = info.value;
    size.meaning = info.isMacro ? "the macro " + name : "size " + name;
    entry.sizes.push_back(size);
  }
}

static void addArguments(const Lifted& lifted, const std::vector<ExtraArgument>& extras, manifest::Kernel& entry) {
  const model::Kernel& kernel = lifted.kernel;
  for (int index : kernel.parameters) {
    const Variable& parameter = kernel.variables[index];
    manifest::Argument argument;
    argument.name = parameter.name;
    bool isTypedef = parameter.type.kind != Type::Pointer && parameter.type.kind != Type::Record;
    argument.type = isTypedef ? parameter.type.canonical : parameter.type.name;
    if (parameter.type.kind == Type::Pointer) {
      argument.kind = "tensor";
      argument.tensor = parameter.name;
      if (!lifted.arrays.count(parameter.name)) {
        manifest::Tensor unused;
        unused.name = parameter.name;
        unused.type = parameter.type.element->canonical;
        unused.size = std::max(1, parameter.type.element->bits / 8);
        unused.extent = "1";
        entry.tensors.push_back(unused);
      }
    } else {
      argument.kind = "scalar";
      auto value = lifted.arguments.find(parameter.name);
      if (value != lifted.arguments.end()) argument.value = text(value->second);
    }
    entry.arguments.push_back(argument);
  }
  for (const ExtraArgument& extra : extras)
    entry.extraArguments.push_back({extra.name, extra.type, "scalar", "", "0", text(extra.value)});
}

static void addTensors(const Lifted& lifted, manifest::Kernel& entry) {
  std::string bytes;
  for (const auto& [name, array] : lifted.arrays) {
    manifest::Tensor tensor;
    tensor.name = name;
    tensor.type = array.element.canonical;
    tensor.size = array.element.bits / 8;
    tensor.extent = text(array.extent);
    // A record's test data are its scalars, or its bytes.
    if (const auto& part = array.element.element; array.element.kind == Type::Record && part && part->bits > 0) {
      tensor.type = part->canonical;
      tensor.size = part->bits / 8;
      tensor.extent = std::to_string(array.element.bits / part->bits) + " * (" + tensor.extent + ")";
    }
    // A partly written array keeps its old contents elsewhere: both sides start from the same ones.
    tensor.role = !array.isWritten ? "in" : array.isRead ? "inout" : "out";
    if (!array.symbol.empty()) tensor.symbol = array.symbol;
    if (!array.data.empty()) {
      tensor.data = array.data;
      tensor.dataMax = text(array.dataEnd);
    }
    int passes = array.isRead + array.isWritten;
    bytes += (bytes.empty() ? "" : " + ") + std::to_string(passes * tensor.size) + " * (" + tensor.extent + ")";
    entry.tensors.push_back(tensor);
    for (const auto& access : lifted.accesses)
      if (access.array == name && access.indexBits <= 32) {
        entry.assumptions.push_back({"size", tensor.extent + " <= 2147483647", {}, "32-bit subscripts of " + name + " do not overflow"});
        break;
      }
  }
  if (!bytes.empty()) entry.bytes = bytes;
}

static void addLaunch(const Lifted& lifted, const TransformPlan& plan, manifest::Kernel& entry) {
  for (size_t n = 0; n < plan.dims.size(); ++n) {
    const DimPlan& one = plan.dims[n];
    const Dim& dim = lifted.parallel[n];
    std::string points = reach(dim, true);
    std::string& blocks = entry.launch.grid[one.axis];
    blocks = one.tiled ? "max(1, ceildiv(" + points + ", TILE_" + one.upper + "))" : "max(1, " + points + ")";
    if (one.persistent) {
      std::string own = "BLOCKS_" + one.upper, some = "min(" + blocks + ", " + own + " * SM_COUNT)";
      if (lifted.axisKnown[dim.axis]) some = own + " < 0 ? " + text(lifted.grid[dim.axis]) + " : " + some;
      blocks = own + " == 0 ? " + blocks + " : " + some;
    }
    entry.launch.block[one.axis] = one.tiled ? "TILE_" + one.upper + " / ITEMS_" + one.upper : "1";
    if (one.axis > 0) entry.constraints.push_back({entry.launch.grid[one.axis] + " <= 65535", "blocks along " + std::string(1, "xyz"[one.axis])});
  }
  entry.launch.shared = plan.sharedBytes;
  // The original's launch; where the call site does not say, one that covers the points.
  for (int a = 0; a < 3; ++a) {
    if (lifted.axisKnown[a]) {
      entry.original.grid[a] = text(lifted.grid[a]);
      entry.original.block[a] = text(lifted.block[a]);
      continue;
    }
    std::int64_t threads = lifted.block[a].constant().value_or(1);
    const Dim* onAxis = nullptr;
    for (size_t n = 0; n < lifted.parallel.size(); ++n)
      if (lifted.parallel[n].axis == a) {
        onAxis = &lifted.parallel[n];
        if (!lifted.block[a].constant()) threads = plan.dims[n].threads;
      }
    entry.original.block[a] = std::to_string(threads);
    if (!onAxis) continue;
    std::string blocks = "ceildiv(" + reach(*onAxis, true) + ", " + std::to_string(onAxis->isBlockIndex ? 1 : threads) + ")";
    entry.original.grid[a] = onAxis->isStrided ? "max(1, min(" + blocks + ", " + std::to_string(transform::usualBlocksPerMultiprocessor) + " * SM_COUNT))" : "max(1, " + blocks + ")";
  }
}

static void addAlignment(const Lifted& lifted, const TransformPlan& plan, manifest::Kernel& entry) {
  auto rows = [&](const std::string& array, const std::string& width) {
    const auto& strides = lifted.arrays.at(array).strides;
    for (size_t k = 0; k + 1 < strides.size(); ++k)
      entry.constraints.push_back({"(" + text(strides[k]) + ") % " + width + " == 0", "rows of " + array + " begin aligned"});
    entry.assumptions.push_back({"aligned", width + " * " + std::to_string(lifted.arrays.at(array).element.bits / 8), {array}, "vector accesses to " + array});
  };
  for (const auto& stage : plan.stages)
    if (stage.canVectorize) rows(stage.array, "VECTOR_" + stage.upper);
  std::set<std::string> done;
  for (std::int64_t n : plan.vectorAccesses) {
    const auto& array = lifted.accesses[static_cast<size_t>(n)].array;
    if (done.insert(array).second) rows(array, "RUN_" + plan.dims.back().upper);
  }
}

/// Atomic sums of floats come in any order, in the original too: equal but for rounding.
static void combineRule(const Lifted& lifted, manifest::Kernel& entry) {
  bool isAnyFloat = false, isDouble = false, isHalf = false;
  for (const auto& access : lifted.accesses) {
    if (!access.isAtomic) continue;
    const Type& type = access.element;
    bool isFloat = type.kind == Type::Float || type.kind == Type::Record;
    isAnyFloat = isAnyFloat || isFloat;
    isDouble = isDouble || (type.kind == Type::Float && type.bits == 64);
    isHalf = isHalf || (isFloat && (type.bits == 16 || type.kind == Type::Record));
  }
  if (!isAnyFloat) {
    for (const auto& access : lifted.accesses)
      if (access.isAtomic) entry.verify.why = "every point keeps its order of operations, and atomic updates of integers commute";
    return;
  }
  std::string points;
  for (const Dim& dim : lifted.parallel)
    points += (points.empty() ? "" : " * ") + ("max(1, " + reach(dim, false) + ")");
  entry.verify.klass = "error";
  entry.verify.terms = points;
  entry.verify.accumulator = isHalf ? "half" : isDouble ? "double" : "float";
  entry.verify.why = "atomic sums of floats are added in any order, by the original as well";
}

static void addAssumptions(const Lifted& lifted, manifest::Kernel& entry) {
  for (const auto& assumption : lifted.assumptions) {
    if (assumption.kind == "size") entry.assumptions.push_back({"size", text(assumption.atLeastZero) + " >= 0", {}, assumption.why});
    else if (assumption.kind == "covers") entry.assumptions.push_back({"covers", assumption.text, {}, assumption.why});
    else entry.assumptions.push_back({assumption.kind, "", assumption.tensors, assumption.why});
  }
}

/// What every template has, however it came about.
static manifest::Kernel commonEntry(const Lifted& lifted, const TransformPlan& plan, const std::string& id) {
  manifest::Kernel entry;
  entry.id = id;
  entry.kernel = lifted.kernel.instance.empty() ? lifted.kernel.name : lifted.kernel.instance;
  entry.file = lifted.kernel.location.file;
  entry.line = lifted.kernel.location.line;
  entry.lift = transform::toString(lifted.level);
  entry.templateFile = id + ".cuh";
  entry.referenceFile = id + ".reference.cu";
  entry.referenceEntry = entry.kernel;
  entry.untestable = lifted.untestable;
  for (const auto& parameter : plan.parameters)
    entry.parameters.push_back({parameter.name, parameter.meaning, parameter.values, parameter.original});
  for (const auto& [expr, why] : plan.constraints)
    entry.constraints.push_back({expr, why});
  addAssumptions(lifted, entry);
  addSizes(lifted, entry);
  addTensors(lifted, entry);
  return entry;
}

/// Blocks along an axis that loops walk over with the whole grid, where no call site says how many there are.
static std::string strideGrid(const Lifted& lifted, int axis, const std::string& threads) {
  for (const Dim& loop : lifted.loops)
    if (loop.isStrided && loop.axis == axis)
      return "max(1, min(ceildiv(" + text(loop.to - loop.from) + ", " + threads + "), 8 * SM_COUNT))";
  return "1";
}

/// The grid and block of the original, which a template that keeps its text shares but for the blocks that it runs together.
static void addKeptLaunch(const Lifted& lifted, const TransformPlan& plan, manifest::Kernel& entry) {
  auto overSizes = [&](const Polynomial& value) {
    for (const auto& name : value.symbols())
      if (!lifted.isSize(name)) return false;
    return true;
  };
  auto& grid = entry.original.grid;
  for (int a = 0; a < 3; ++a) {
    const std::string axis(1, "XYZ"[a]), threads = std::to_string(a == 0 ? lifted.kernel.maxThreads.value_or(256) : 1);
    entry.original.block[a] = overSizes(lifted.block[a]) ? text(lifted.block[a]) : threads;
    bool isStrided = std::any_of(lifted.loops.begin(), lifted.loops.end(), [&](const Dim& loop) { return loop.isStrided && loop.axis == a; });
    grid[a] = overSizes(lifted.grid[a]) ? "max(1, " + text(lifted.grid[a]) + ")" : strideGrid(lifted, a, entry.original.block[a]);
    entry.assumptions.push_back({"covers", "BLOCK_" + axis + " == " + entry.original.block[a], {}, "the launch that it was tuned for"});
    if (!isStrided || plan.coarsen.empty())
      entry.assumptions.push_back({"covers", "GRID_" + axis + " == " + grid[a], {}, "the launch that it was tuned for"});
  }
  if (lifted.sharedBytes) entry.original.shared = text(*lifted.sharedBytes);
  entry.launch = entry.original;
  if (plan.coarsen.empty()) return;
  const std::string all = "(" + grid[0] + ") * (" + grid[1] + ") * (" + grid[2] + ")", isOwn = plan.coarsen + " == 1 && " + plan.persistent + " == 0";
  entry.launch.grid[0] = plan.persistent + " > 0 ? min(" + all + ", " + plan.persistent + " * SM_COUNT) : " + plan.coarsen + " > 1 ? ceildiv(" +
                         all + ", " + plan.coarsen + ") : " + grid[0];
  for (int a = 0; a < 3; ++a) {
    if (a > 0) entry.launch.grid[a] = isOwn + " ? " + grid[a] + " : 1";
    entry.extraArguments.push_back({std::string("retileGrid") + "XYZ"[a], "int", "scalar", "", "0", grid[a]});
  }
}

static Emitted emitKept(const Lifted& lifted, const TransformPlan& plan, const std::string& id) {
  Emitted out;
  const std::string name = "retile_" + id;
  out.templateText = keptText(lifted, plan, name);
  out.referenceText = lifted.kernel.reference;
  out.entry = commonEntry(lifted, plan, id);
  out.entry.templateEntry = scopeOf(lifted.kernel) + "::" + name;
  for (const auto& parameter : plan.parameters)
    out.entry.templateParameters.push_back(parameter.name);
  addArguments(lifted, {}, out.entry);
  addKeptLaunch(lifted, plan, out.entry);
  out.entry.verify.why = "the program of every thread is the original's";
  if (lifted.sumsInAnyOrder) {
    // As many terms as the largest input has elements.
    out.entry.verify.klass = "error";
    out.entry.verify.why = "atomic sums have no order, not even in the original";
    for (const auto& tensor : out.entry.tensors)
      out.entry.verify.terms = out.entry.verify.terms.empty() ? tensor.extent : "max(" + out.entry.verify.terms + ", " + tensor.extent + ")";
    for (const auto& tensor : out.entry.tensors)
      if (tensor.role != "in") out.entry.verify.accumulator = tensor.type == "double" ? "double" : tensor.size == 2 ? "half" : "float";
    if (out.entry.verify.terms.empty()) out.entry.verify.terms = "1";
  }
  return out;
}

Emitted emitKernel(const Lifted& lifted, const TransformPlan& plan, const std::string& id) {
  if (lifted.keepsText) return emitKept(lifted, plan, id);
  TemplateEmitter emitter(lifted, plan, id);
  Emitted out;
  out.templateText = emitter.run();
  out.referenceText = lifted.kernel.reference;
  out.entry = commonEntry(lifted, plan, id);
  manifest::Kernel& entry = out.entry;
  entry.templateEntry = "retile::templates::" + id;
  entry.templateParameters = emitter.templateParameters;
  addArguments(lifted, emitter.extras, entry);
  addLaunch(lifted, plan, entry);
  addAlignment(lifted, plan, entry);
  if (auto perPoint = flops(lifted, lifted.body); perPoint && plan.rectangular && !perPoint->isZero()) {
    std::string points;
    for (const Dim& dim : lifted.parallel)
      points += (points.empty() ? "" : " * ") + ("max(0, " + reach(dim, false) + ")");
    entry.flops = "(" + text(*perPoint) + ") * " + points;
  }
  entry.verify.klass = "bitwise";
  entry.verify.why = "every point keeps its order of operations";
  combineRule(lifted, entry);
  return out;
}

} // namespace retile::emit
