#include "Validate.h"

#include "retile/Manifest/Expression.h"
#include "retile/Support/Text.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace retile::manifest {

using Names = std::set<std::string>;

static const Names deviceNames{"MAX_THREADS", "MAX_SHARED", "SM_COUNT"};
static const Names launchNames{"GRID_X", "GRID_Y", "GRID_Z", "BLOCK_X", "BLOCK_Y", "BLOCK_Z"};

namespace {

/// Checks one kernel entry; the first failure sticks.
class Checker {
public:
  Checker(const Kernel& kernel, std::string pointer) : kernel(kernel), pointer(std::move(pointer)) {}

  std::string run() {
    checkNames();
    checkFiles();
    checkSizes();
    checkParameters();
    checkTensors();
    checkArguments("arguments", kernel.arguments, overSizes);
    checkArguments("extraArguments", kernel.extraArguments, overParameters);
    checkLaunch("original", kernel.original, overSizes);
    checkLaunch("launch", kernel.launch, overParameters);
    for (std::size_t i = 0; i < kernel.constraints.size(); ++i)
      checkExpression(fmt::format("constraints/{}/expr", i), kernel.constraints[i].expr, overParameters);
    for (std::size_t i = 0; i < kernel.assumptions.size(); ++i)
      checkAssumption(fmt::format("assumptions/{}", i), kernel.assumptions[i]);
    if (kernel.flops)
      checkExpression("flops", *kernel.flops, overSizes);
    if (kernel.bytes)
      checkExpression("bytes", *kernel.bytes, overSizes);
    checkVerify();
    return failure;
  }

private:
  void fail(const std::string& field, const std::string& why) {
    if (failure.empty())
      failure = fmt::format("{}/{}: {}", pointer, field, why);
  }

  void oneOf(const std::string& field, const std::string& value, std::initializer_list<const char*> allowed) {
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
      fail(field, fmt::format("'{}' is not one of {}", oneLine(value, 40), fmt::join(allowed, ", ")));
  }

  void checkExpression(const std::string& field, const ExprText& text, const Names& allowed) {
    Expected<Expression> expression = Expression::parse(text);
    if (!expression)
      return fail(field, expression.error().message);
    for (const std::string& name : expression->names())
      if (!allowed.count(name))
        return fail(field, fmt::format("unknown name '{}'", oneLine(name, 60)));
  }

  /// Collects the names of sizes and parameters; they share one scope and become C++ constants and macros.
  void checkNames() {
    overSizes = deviceNames;
    auto declare = [&](const std::string& field, const std::string& name, Names& scope) {
      if (!isIdentifier(name))
        fail(field, fmt::format("'{}' is not an identifier", oneLine(name, 60)));
      if (launchNames.count(name) || !scope.insert(name).second)
        fail(field, fmt::format("'{}' is declared twice", oneLine(name, 60)));
    };
    for (std::size_t i = 0; i < kernel.sizes.size(); ++i)
      declare(fmt::format("sizes/{}/name", i), kernel.sizes[i].name, overSizes);
    overParameters = overSizes;
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
      declare(fmt::format("parameters/{}/name", i), kernel.parameters[i].name, overParameters);
    overLaunch = overParameters;
    overLaunch.insert(launchNames.begin(), launchNames.end());
    for (std::size_t i = 0; i < kernel.tensors.size(); ++i)
      if (!tensors.insert(kernel.tensors[i].name).second)
        fail(fmt::format("tensors/{}/name", i),
             fmt::format("'{}' is declared twice", oneLine(kernel.tensors[i].name, 60)));
  }

  /// A file of the manifest lies directly in its directory.
  void checkFile(const std::string& field, const std::string& name) {
    bool plain = !name.empty() && name.front() != '.' && name.size() <= 255;
    for (char c : name)
      plain &= c != '/' && c != '\\' && static_cast<unsigned char>(c) >= 32;
    if (!plain)
      fail(field, fmt::format("'{}' is not a plain file name", oneLine(name, 60)));
  }

  void checkFiles() {
    checkFile("template/file", kernel.templateFile);
    checkFile("reference/file", kernel.referenceFile);
    oneOf("lift", kernel.lift, {"full", "partial", "knobs"});
    if (kernel.templateEntry.empty())
      fail("template/entry", "must not be empty");
    if (kernel.referenceEntry.empty())
      fail("reference/entry", "must not be empty");
  }

  void checkSizes() {
    for (std::size_t i = 0; i < kernel.sizes.size(); ++i) {
      const Size& size = kernel.sizes[i];
      oneOf(fmt::format("sizes/{}/kind", i), size.kind, {"value", "macro"});
      if (size.min > size.max)
        fail(fmt::format("sizes/{}/min", i), "is above max");
    }
  }

  void checkParameters() {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      auto values = kernel.parameters[i].values;
      std::sort(values.begin(), values.end());
      if (values.empty())
        fail(fmt::format("parameters/{}/values", i), "must not be empty");
      if (std::adjacent_find(values.begin(), values.end()) != values.end())
        fail(fmt::format("parameters/{}/values", i), "has a value twice");
    }
    for (std::size_t i = 0; i < kernel.templateParameters.size(); ++i) {
      const std::string& name = kernel.templateParameters[i];
      if (deviceNames.count(name) || !overParameters.count(name))
        fail(fmt::format("template/parameters/{}", i),
             fmt::format("unknown parameter '{}'", oneLine(name, 60)));
    }
  }

  void checkTensors() {
    for (std::size_t i = 0; i < kernel.tensors.size(); ++i) {
      const Tensor& tensor = kernel.tensors[i];
      std::string at = fmt::format("tensors/{}/", i);
      oneOf(at + "role", tensor.role, {"in", "out", "inout"});
      oneOf(at + "data", tensor.data, {"uniform", "index", "offsets"});
      checkExpression(at + "extent", tensor.extent, overSizes);
      if (tensor.dataMax)
        checkExpression(at + "dataMax", *tensor.dataMax, overSizes);
      if (tensor.size < 1 || tensor.size > 4096)
        fail(at + "size", "must be between 1 and 4096 bytes");
      if (tensor.data != "uniform" && !tensor.dataMax)
        fail(at + "dataMax", "missing");
    }
  }

  void checkTensor(const std::string& field, const std::string& name) {
    if (!tensors.count(name))
      fail(field, fmt::format("unknown tensor '{}'", oneLine(name, 60)));
  }

  void checkArguments(const std::string& field, const std::vector<Argument>& arguments,
                      const Names& allowed) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Argument& argument = arguments[i];
      std::string at = fmt::format("{}/{}/", field, i);
      oneOf(at + "kind", argument.kind, {"tensor", "scalar"});
      if (argument.kind == "tensor")
        checkTensor(at + "tensor", argument.tensor);
      checkExpression(at + "offset", argument.offset, allowed);
      if (argument.value)
        checkExpression(at + "value", *argument.value, allowed);
    }
  }

  void checkLaunch(const std::string& field, const Launch& launch, const Names& allowed) {
    for (int i = 0; i < 3; ++i) {
      checkExpression(fmt::format("{}/grid/{}", field, i), launch.grid[i], allowed);
      checkExpression(fmt::format("{}/block/{}", field, i), launch.block[i], allowed);
    }
    checkExpression(field + "/shared", launch.shared, allowed);
  }

  void checkAssumption(const std::string& at, const Assumption& assumption) {
    oneOf(at + "/kind", assumption.kind, {"size", "no-overlap", "aligned", "covers"});
    if (assumption.kind == "size")
      checkExpression(at + "/expr", assumption.expr, overSizes);
    if (assumption.kind == "covers")
      checkExpression(at + "/expr", assumption.expr, overLaunch);
    if (assumption.kind == "aligned")
      checkExpression(at + "/bytes", assumption.expr, overParameters);
    if (assumption.kind == "no-overlap" && assumption.tensors.size() != 2)
      fail(at + "/tensors", "must name two tensors");
    for (const std::string& name : assumption.tensors)
      checkTensor(at, name);
  }

  void checkVerify() {
    oneOf("verify/class", kernel.verify.klass, {"bitwise", "error"});
    if (kernel.verify.klass != "error")
      return;
    checkExpression("verify/terms", kernel.verify.terms, overSizes);
    oneOf("verify/accumulator", kernel.verify.accumulator, {"float", "double", "half"});
  }

  const Kernel& kernel;
  std::string pointer, failure;
  Names overSizes, overParameters, overLaunch, tensors;
};

} // namespace

/// Ids become file names and are compared without regard to case on some file systems.
static bool isFileSafe(const std::string& id) {
  auto safe = [](unsigned char c) {
    return c < 128 && (std::isalnum(c) || c == '_' || c == '-' || c == '.');
  };
  return !id.empty() && id.size() <= 200 && id.front() != '.' && id.front() != '-' &&
         std::all_of(id.begin(), id.end(), safe);
}

Status validate(const Manifest& manifest) {
  Names ids;
  for (std::size_t i = 0; i < manifest.kernels.size(); ++i) {
    const Kernel& kernel = manifest.kernels[i];
    std::string at = fmt::format("/kernels/{}", i);
    if (!isFileSafe(kernel.id))
      return Error{fmt::format("{}/id: '{}' is not a file-safe name", at, oneLine(kernel.id, 60)), ""};
    if (!ids.insert(kernel.id).second)
      return Error{fmt::format("{}/id: '{}' is used twice", at, kernel.id), ""};
    if (std::string failure = Checker(kernel, at).run(); !failure.empty())
      return Error{failure, ""};
  }
  return {};
}

} // namespace retile::manifest
