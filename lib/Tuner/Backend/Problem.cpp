#include "Problem.h"

#include "retile/Manifest/Expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retile::backend {

namespace {

Error inputError(std::string message) { return {std::move(message), "", ExitCode::Input}; }

Expected<std::int64_t> evaluate(const std::string& text, const Bindings& bindings, const std::string& what) {
  Expected<manifest::Expression> expression = manifest::Expression::parse(text);
  if (!expression)
    return Error{what + ": " + expression.error().message, expression.error().note, ExitCode::Input};
  Expected<std::int64_t> value = expression->evaluate(bindings);
  if (!value)
    return Error{what + ": " + value.error().message, value.error().note, ExitCode::Input};
  return value;
}

Role roleOf(const std::string& role) {
  return role == "out" ? Role::Out : role == "inout" ? Role::InOut : Role::In;
}

Expected<TensorPlan> planTensor(const manifest::Tensor& tensor, const Bindings& bindings,
                                std::uint64_t stream) {
  TensorPlan plan;
  plan.name = tensor.name;
  plan.symbol = tensor.symbol.value_or("");
  plan.role = roleOf(tensor.role);
  plan.stream = stream;
  const std::optional<ElementType> type = elementType(tensor.type, tensor.size);
  if (!type)
    return Error{fmt::format("no test data for tensor '{}' of type '{}'", tensor.name, tensor.type), "",
                 ExitCode::Environment};
  plan.type = *type;
  Expected<std::int64_t> elements = evaluate(tensor.extent, bindings, "extent of " + tensor.name);
  if (!elements)
    return elements.error();
  constexpr std::int64_t most = std::int64_t(1) << 40;
  if (*elements < 0 || *elements > most / tensor.size)
    return inputError(fmt::format("tensor '{}' has {} elements at these sizes", tensor.name, *elements));
  plan.elements = *elements;
  plan.bytes = static_cast<std::uint64_t>(*elements * tensor.size);
  if (tensor.data == "uniform")
    return plan;
  Expected<std::int64_t> limit =
      evaluate(tensor.dataMax.value_or("1"), bindings, "dataMax of " + tensor.name);
  if (!limit)
    return limit.error();
  plan.limit = tensor.data == "offsets" ? -std::max<std::int64_t>(*limit, 0) - 1 : std::max<std::int64_t>(*limit, 1);
  return plan;
}

int tensorIndex(const std::vector<TensorPlan>& tensors, const std::string& name) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name)
      return static_cast<int>(i);
  return -1;
}

Expected<ArgumentPlan> planArgument(const manifest::Argument& argument, const Problem& problem,
                                    const Bindings& bindings, std::uint64_t stream) {
  ArgumentPlan plan;
  if (argument.kind == "tensor") {
    plan.tensor = tensorIndex(problem.tensors, argument.tensor);
    if (plan.tensor < 0)
      return inputError(fmt::format("argument '{}' names no tensor '{}'", argument.name, argument.tensor));
    Expected<std::int64_t> offset = evaluate(argument.offset, bindings, "offset of " + argument.name);
    if (!offset)
      return offset.error();
    const ElementType type = problem.tensors[static_cast<std::size_t>(plan.tensor)].type;
    plan.offsetBytes = *offset * harness::bytesOf(type.scalar) * type.lanes;
    return plan;
  }
  const std::optional<ElementType> type = elementType(argument.type);
  if (!type)
    return Error{fmt::format("no test value for argument '{}' of type '{}'", argument.name, argument.type),
                 "", ExitCode::Environment};
  if (!argument.value) {
    plan.bytes = encodeRandom(*type, harness::draw(problem.seed, 1000 + stream, 0));
    return plan;
  }
  Expected<std::int64_t> value = evaluate(*argument.value, bindings, "value of " + argument.name);
  if (!value)
    return value.error();
  plan.bytes = encodeInteger(*type, *value);
  return plan;
}

Expected<std::uint32_t> evaluateLimited(const std::string& text, const Bindings& bindings, std::int64_t low,
                                        std::int64_t high, const std::string& what) {
  Expected<std::int64_t> value = evaluate(text, bindings, what);
  if (!value)
    return value.error();
  if (*value < low || *value > high)
    return inputError(fmt::format("{} is {}, the device allows {} to {}", what, *value, low, high));
  return static_cast<std::uint32_t>(*value);
}

Expected<LaunchPlan> planLaunch(const manifest::Launch& launch, const Bindings& bindings,
                                const tuner::DeviceInfo& device) {
  constexpr std::array<std::int64_t, 3> mostBlocks{2147483647, 65535, 65535}, mostThreads{1024, 1024, 64};
  const std::array<std::string, 3> axes{"x", "y", "z"};
  LaunchPlan plan;
  for (std::size_t d = 0; d < 3; ++d) {
    Expected<std::uint32_t> grid =
        evaluateLimited(launch.grid[d], bindings, 1, mostBlocks[d], "gridDim." + axes[d]);
    if (!grid)
      return grid.error();
    Expected<std::uint32_t> block =
        evaluateLimited(launch.block[d], bindings, 1, mostThreads[d], "blockDim." + axes[d]);
    if (!block)
      return block.error();
    plan.grid[d] = *grid;
    plan.block[d] = *block;
  }
  const std::int64_t threads = std::int64_t(plan.block[0]) * plan.block[1] * plan.block[2];
  if (threads > device.maxThreadsPerBlock)
    return inputError(
        fmt::format("{} threads a block, the device allows {}", threads, device.maxThreadsPerBlock));
  Expected<std::uint32_t> shared =
      evaluateLimited(launch.shared, bindings, 0, device.maxSharedPerBlock, "dynamic shared memory");
  if (!shared)
    return shared.error();
  plan.shared = *shared;
  return plan;
}

} // namespace

std::string Problem::describe() const {
  std::string text = fmt::format("seed {}", seed);
  const char* separator = ", ";
  for (const auto& [name, value] : sizes) {
    text += fmt::format("{}{}={}", separator, name, value);
    separator = " ";
  }
  return text;
}

std::uint64_t Problem::bytes() const {
  std::uint64_t total = 0;
  for (const TensorPlan& tensor : tensors)
    total += tensor.bytes;
  return total;
}

Bindings bindingsOf(const manifest::Kernel& kernel, const Bindings& sizes, const tuner::DeviceInfo& device) {
  Bindings bindings;
  for (const manifest::Size& size : kernel.sizes)
    if (size.defaultValue)
      bindings[size.name] = *size.defaultValue;
  for (const auto& [name, value] : sizes)
    bindings[name] = value;
  bindings["MAX_THREADS"] = device.maxThreadsPerBlock;
  bindings["MAX_SHARED"] = device.maxSharedPerBlock;
  bindings["SM_COUNT"] = device.smCount;
  return bindings;
}

Expected<Problem> makeProblem(const manifest::Kernel& kernel, const Bindings& sizes, std::uint64_t seed,
                              const tuner::DeviceInfo& device) {
  Problem problem;
  problem.kernel = &kernel;
  problem.sizes = sizes;
  problem.seed = seed;
  const Bindings bindings = bindingsOf(kernel, sizes, device);
  for (const manifest::Tensor& tensor : kernel.tensors) {
    Expected<TensorPlan> plan = planTensor(tensor, bindings, problem.tensors.size());
    if (!plan)
      return plan.error();
    problem.tensors.push_back(*plan);
  }
  for (const manifest::Argument& argument : kernel.arguments) {
    Expected<ArgumentPlan> plan = planArgument(argument, problem, bindings, problem.arguments.size());
    if (!plan)
      return plan.error();
    problem.arguments.push_back(*plan);
  }
  if (!kernel.verify.terms.empty()) {
    Expected<std::int64_t> terms = evaluate(kernel.verify.terms, bindings, "verify.terms");
    if (!terms)
      return terms.error();
    problem.terms = std::max<std::int64_t>(*terms, 1);
  }
  return problem;
}

Expected<RunPlan> makeRun(const Problem& problem, const std::optional<tuner::Config>& config,
                          const tuner::DeviceInfo& device) {
  const manifest::Kernel& kernel = *problem.kernel;
  Bindings bindings = bindingsOf(kernel, problem.sizes, device);
  RunPlan run;
  run.arguments = problem.arguments;
  if (config) {
    for (const auto& [name, value] : *config)
      bindings[name] = value;
    for (const manifest::Argument& argument : kernel.extraArguments) {
      Expected<ArgumentPlan> plan = planArgument(argument, problem, bindings, run.arguments.size());
      if (!plan)
        return plan.error();
      run.arguments.push_back(*plan);
    }
  }
  Expected<LaunchPlan> launch = planLaunch(config ? kernel.launch : kernel.original, bindings, device);
  if (!launch)
    return launch.error();
  run.launch = *launch;
  return run;
}

double allowedError(const manifest::VerifyRule& rule, std::int64_t terms) {
  const double eps = rule.accumulator == "double" ? std::numeric_limits<double>::epsilon()
                     : rule.accumulator == "half" ? 0x1p-10
                                                  : double(std::numeric_limits<float>::epsilon());
  return 4 * std::sqrt(double(terms)) * eps;
}

void fillTensor(const Problem& problem, const TensorPlan& plan, void* memory) {
  const std::uint64_t scalars =
      static_cast<std::uint64_t>(plan.elements) * static_cast<std::uint64_t>(plan.type.lanes);
  for (std::uint64_t i = 0; i < scalars; ++i)
    harness::storeBits(
        plan.type.scalar, memory, i,
        harness::testData(plan.type.scalar, problem.seed, plan.stream, i, scalars, plan.limit));
}

void fillPoison(void* memory, std::uint64_t bytes, int run) {
  const std::uint16_t unit = harness::poison(run);
  std::fill_n(static_cast<std::uint16_t*>(memory), bytes / 2, unit);
  if (bytes % 2 != 0)
    static_cast<unsigned char*>(memory)[bytes - 1] = static_cast<unsigned char>(unit);
}

} // namespace retile::backend
