// The drop-in header: a dispatcher with the original's arguments that launches a tuned instance where every
// assumption holds, and the original kernel, as it was launched, everywhere else.
//
// Sizes come from the arguments: a scalar whose `value` is just a size's name gives it. With all sizes known,
// an instance serves its size class (more than half of the tuned size, less than twice). A size that no
// argument gives is known only where the launch and all arguments equal those at the tuned sizes: a kernel
// cannot tell such a launch from the tuned one, so the instance serves exactly that.
#include "retile/Report/Report.h"
#include "retile/Support/Text.h"

#include <algorithm>
#include <fmt/format.h>

namespace retile::report {

using manifest::Argument;
using manifest::Expression;
using manifest::Kernel;
using manifest::Spelling;
using tuner::TuneResult;

static constexpr const char* hostHelpers = R"cuda(
#ifndef RETILE_HOST_HELPERS
#define RETILE_HOST_HELPERS
namespace retile { namespace host {

inline long long floordiv(long long a, long long b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
inline long long floormod(long long a, long long b) { return a - b * floordiv(a, b); }
inline long long ceildiv(long long a, long long b) { return -floordiv(-a, b); }
inline long long minimum(long long a, long long b) { return b < a ? b : a; }
inline long long maximum(long long a, long long b) { return a < b ? b : a; }
inline long long absolute(long long a) { return a < 0 ? -a : a; }

/// Whether an argument of any arithmetic type has exactly this value.
template <class T> bool equals(T argument, long long value) {
  return static_cast<long long>(argument) == value && argument == static_cast<T>(value);
}

inline bool equals(dim3 actual, long long x, long long y, long long z) {
  return actual.x == x && actual.y == y && actual.z == z;
}

inline std::uintptr_t address(const void* pointer, long long offsetBytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) - static_cast<std::uintptr_t>(offsetBytes);
}

/// Of a __constant__ or __device__ variable; 0 when the runtime does not know it.
template <class T> std::uintptr_t symbolAddress(const T& symbol) {
  void* pointer = nullptr;
  if (cudaGetSymbolAddress(&pointer, symbol) == cudaSuccess)
    return reinterpret_cast<std::uintptr_t>(pointer);
  cudaGetLastError();
  return 0;
}

inline bool aligned(std::uintptr_t address, long long bytes) {
  return address != 0 && bytes > 0 && address % static_cast<std::uintptr_t>(bytes) == 0;
}

inline bool disjoint(std::uintptr_t a, long long bytesOfA, std::uintptr_t b, long long bytesOfB) {
  if (a == 0 || b == 0)
    return false;
  return a + static_cast<std::uintptr_t>(bytesOfA) <= b || b + static_cast<std::uintptr_t>(bytesOfB) <= a;
}

/// Whether the current device has this compute capability.
inline bool isDevice(int major, int minor) {
  int device = 0, actualMajor = 0, actualMinor = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&actualMajor, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         cudaDeviceGetAttribute(&actualMinor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess &&
         actualMajor == major && actualMinor == minor;
}

/// Beyond 48 KiB a kernel must be allowed its dynamic shared memory.
inline bool allowShared(const void* kernel, std::size_t bytes) {
  if (bytes <= 48 * 1024 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) == cudaSuccess)
    return true;
  cudaGetLastError();
  return false;
}

}} // namespace retile::host
#endif
)cuda";

static std::string sanitized(std::string text) {
  for (char& c : text)
    if (!isIdentifier(std::string("_") + c))
      c = '_';
  return isIdentifier(text) ? text : "_" + text;
}

/// "ns::gemm<float, (A > B)>" without template arguments and namespaces.
static std::string baseName(const std::string& name) {
  std::string plain = name.substr(0, name.find('<'));
  auto scope = plain.rfind("::");
  return std::string(trim(scope == std::string::npos ? plain : plain.substr(scope + 2)));
}

static std::string dispatcherBase(const manifest::Manifest& manifest, const Kernel& kernel) {
  std::string name = baseName(kernel.kernel);
  auto same = std::count_if(manifest.kernels.begin(), manifest.kernels.end(),
                            [&](const Kernel& other) { return baseName(other.kernel) == name; });
  return same == 1 && isIdentifier(name) && name != "host" && name != "detail" ? name : sanitized(kernel.id);
}

std::string dispatcherName(const manifest::Manifest& manifest, const Kernel& kernel) {
  return "retile::" + dispatcherBase(manifest, kernel);
}

namespace {

/// The dispatcher of one kernel.
class Dispatcher {
public:
  Dispatcher(const manifest::Manifest& manifest, const std::vector<TuneResult>& results,
             const tuner::DeviceInfo& device)
      : manifest(manifest), results(results), kernel(*results.front().kernel), device(device) {
    for (const auto& size : kernel.sizes)
      if (size.kind == "value" && !givenBy(size.name))
        allKnown = false;
  }

  std::string text() {
    std::string name = dispatcherBase(manifest, kernel);
    std::string original =
        kernel.referenceEntry.starts_with("::") ? kernel.referenceEntry : "::" + kernel.referenceEntry;
    std::string out = fmt::format(
        "// {} as tuned on {} ({}). Written by kernel-tune; include it after the original kernel.\n//\n"
        "//   retile::{}(grid, block, shared, stream, arguments...);\n"
        "//\n// takes the place of {}<<<grid, block, shared, stream>>>(arguments...) and launches exactly "
        "that\n"
        "// wherever a test below fails. Errors are those of a launch: cudaGetLastError().\n"
        "#pragma once\n\n#include <cstddef>\n#include <cstdint>\n#include <cuda_runtime.h>\n",
        oneLine(kernel.kernel), oneLine(device.name), oneLine(device.arch), name,
        oneLine(kernel.referenceEntry));
    bool any = dispatches();
    if (any)
      out += "\n#include \"retile.cuh\"\n" + std::string(hostHelpers) + includeTemplate();
    out += fmt::format(
        "\nnamespace retile {{\n\ninline void {}(dim3 grid, dim3 block, std::size_t shared, cudaStream_t "
        "stream{}) {{\n",
        name, declaredArguments());
    out += any ? selection() : "  // " + whyNone() + "\n";
    for (std::size_t i = 0; any && i < results.size(); ++i)
      out += instance(i);
    out += fmt::format("  {}<<<grid, block, shared, stream>>>({});\n}}\n\n}} // namespace retile\n", original,
                       passed());
    return out;
  }

private:
  static std::string argumentName(const Argument& argument) { return "arg_" + sanitized(argument.name); }

  static std::string sizeName(const manifest::Size& size) { return "size_" + size.name; }

  std::string declaredSizes() const {
    std::string text;
    for (const auto& size : kernel.sizes)
      if (size.kind == "value" && givenBy(size.name))
        text += fmt::format("  const long long {} = static_cast<long long>({});\n", sizeName(size),
                            argumentName(*givenBy(size.name)));
    return text;
  }

  const Argument* givenBy(const std::string& size) const {
    for (const Argument& argument : kernel.arguments)
      if (argument.kind == "scalar" && argument.value && trim(*argument.value) == size)
        return &argument;
    return nullptr;
  }

  bool onGpu() const {
    return device.arch.starts_with("sm_") && parseInteger(capability()).value_or(0) >= 10;
  }

  /// "90" of "sm_90a".
  std::string capability() const {
    std::string digits = device.arch.substr(std::min<std::size_t>(3, device.arch.size()));
    return digits.substr(0, digits.find_first_not_of("0123456789"));
  }

  bool hasExtraTensor() const {
    return std::any_of(kernel.extraArguments.begin(), kernel.extraArguments.end(),
                       [](const Argument& argument) { return argument.kind == "tensor" || !argument.value; });
  }

  bool dispatches() const {
    bool any =
        std::any_of(results.begin(), results.end(), [](const TuneResult& r) { return r.best.has_value(); });
    return any && onGpu() && !hasExtraTensor();
  }

  std::string whyNone() const {
    if (!onGpu())
      return "tuned on the CPU device, which says nothing about a GPU: the original is launched";
    if (hasExtraTensor())
      return "the template needs memory that the original's caller does not have: the original is launched";
    return "nothing was faster than the original";
  }

  /// In a namespace of its own, so that the template may have the original's name; one that names its own
  /// namespace stays where it says.
  bool wrapped() const { return kernel.templateEntry.find("::") == std::string::npos; }

  std::string space() const { return "retile_tuned_" + sanitized(kernel.id); }

  std::string includeTemplate() const {
    if (wrapped())
      return fmt::format("\nnamespace {} {{\n#include \"{}\"\n}}\n", space(), kernel.templateFile);
    std::string guard = "RETILE_TEMPLATE_" + sanitized(kernel.templateFile);
    return fmt::format("\n#ifndef {0}\n#define {0}\n#include \"{1}\"\n#endif\n", guard, kernel.templateFile);
  }

  std::string declaredArguments() const {
    std::string list;
    for (const Argument& argument : kernel.arguments)
      list += fmt::format(",\n    {} {}", argument.type, argumentName(argument));
    return list;
  }

  std::string passed() const {
    std::vector<std::string> list;
    for (const Argument& argument : kernel.arguments)
      list.push_back(argumentName(argument));
    return join(list, ", ");
  }

  /// How names are written where instance `result` is tested.
  Spelling spelling(const TuneResult& result) const {
    Spelling spelling;
    for (const auto& size : kernel.sizes) {
      if (size.kind == "macro")
        spelling[size.name] = fmt::format("static_cast<long long>({})", size.name);
      else if (givenBy(size.name))
        spelling[size.name] = sizeName(size);
      else
        spelling[size.name] = literal(result.sizes.at(size.name));
    }
    for (const auto& [name, value] : tuner::deviceBindings({}, device))
      spelling[name] = literal(value);
    for (const auto& parameter : kernel.parameters)
      if (result.best)
        spelling[parameter.name] = literal(result.best->at(parameter.name));
    for (const char* axis : {"x", "y", "z"})
      for (const char* what : {"grid", "block"})
        spelling[fmt::format("{}_{}", what[0] == 'g' ? "GRID" : "BLOCK",
                             static_cast<char>(axis[0] - 'x' + 'X'))] =
            fmt::format("static_cast<long long>({}.{})", what, axis);
    return spelling;
  }

  static std::string literal(std::int64_t value) {
    return value < 0 ? fmt::format("({}LL)", value) : fmt::format("{}LL", value);
  }

  /// Manifests are validated, so every expression parses.
  static std::string cxx(const std::string& text, const Spelling& spelling) {
    auto expression = Expression::parse(text);
    return expression ? expression->toCxx(spelling) : "0LL";
  }

  /// Picks the instance: exact sizes first, then size classes in the order given.
  std::string selection() const {
    std::string out = declaredSizes() + "  int instance = -1;\n";
    const char* word = "if";
    for (bool exact : {true, false})
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (!exact && (!results[i].best || !allKnown || kernel.sizes.empty()))
          continue;
        out += fmt::format("  {} ({})\n    instance = {};\n", word, sizeTest(results[i], exact), i);
        word = "else if";
      }
    return out;
  }

  std::string sizeTest(const TuneResult& result, bool exact) const {
    Spelling names = spelling(result);
    std::vector<std::string> tests;
    for (const auto& size : kernel.sizes) {
      std::int64_t value = result.sizes.at(size.name);
      if (size.kind == "value" && !givenBy(size.name))
        continue;
      if (exact || size.kind == "macro")
        tests.push_back(fmt::format("{} == {}LL", names[size.name], value));
      else
        tests.push_back(fmt::format("{0} > {1}LL && {0} < {2}LL", names[size.name], value / 2, 2 * value));
    }
    return tests.empty() ? "true" : join(tests, " && ");
  }

  std::string instance(std::size_t index) const {
    const TuneResult& result = results[index];
    std::string sizes = result.sizes.empty() ? "any size" : tuner::toString(result.sizes);
    if (!result.best)
      return fmt::format("  // {}: nothing was faster than the original.\n", sizes);
    std::vector<std::string> tests = testsOf(result);
    tests.insert(tests.begin(), fmt::format("instance == {}", index));
    std::string out = fmt::format("  // {}: {:.2f} times as fast with {}.\n", sizes, result.speedup,
                                  result.best->empty() ? "the template" : tuner::toString(*result.best));
    out += fmt::format("  if ({}) {{\n", join(tests, " &&\n      "));
    return out + launch(result) + "  }\n";
  }

  std::string launch(const TuneResult& result) const {
    Spelling names = spelling(result);
    std::vector<std::string> types, values, arguments{passed()};
    for (const auto* list : {&kernel.arguments, &kernel.extraArguments})
      for (const Argument& argument : *list)
        types.push_back(argument.type);
    for (const std::string& name : kernel.templateParameters)
      values.push_back(templateArgument(name, result));
    for (const Argument& argument : kernel.extraArguments)
      arguments.push_back(fmt::format("static_cast<{}>({})", argument.type, cxx(*argument.value, names)));
    if (kernel.arguments.empty())
      arguments.erase(arguments.begin());
    auto dims = [&](const std::array<manifest::ExprText, 3>& list) {
      std::vector<std::string> extents;
      for (const auto& extent : list)
        extents.push_back(
            parseInteger(extent) ? extent : fmt::format("static_cast<unsigned>({})", cxx(extent, names)));
      return join(extents, ", ");
    };
    return fmt::format(
        "    void (*const kernel)({}) = {}{}{};\n"
        "    const dim3 tunedGrid({});\n    const dim3 tunedBlock({});\n"
        "    const std::size_t tunedShared = static_cast<std::size_t>({});\n"
        "    if (retile::host::allowShared(reinterpret_cast<const void*>(kernel), tunedShared)) {{\n"
        "      kernel<<<tunedGrid, tunedBlock, tunedShared, stream>>>({});\n      return;\n    }}\n",
        join(types, ", "), wrapped() ? "::" + space() + "::" : "", kernel.templateEntry,
        values.empty() ? "" : "<" + join(values, ", ") + ">", dims(kernel.launch.grid),
        dims(kernel.launch.block), cxx(kernel.launch.shared, names), join(arguments, ", "));
  }

  static std::string templateArgument(const std::string& name, const TuneResult& result) {
    auto found = result.best->find(name);
    return std::to_string(found != result.best->end() ? found->second : result.sizes.at(name));
  }

  std::vector<std::string> testsOf(const TuneResult& result) const {
    Spelling names = spelling(result);
    std::vector<std::string> tests{fmt::format("retile::host::isDevice({}, {})",
                                               *parseInteger(capability()) / 10,
                                               *parseInteger(capability()) % 10)};
    for (const auto& size : kernel.sizes)
      if (size.kind == "value" && givenBy(size.name))
        tests.push_back(fmt::format("{0} >= {1}LL && {0} <= {2}LL", names[size.name], size.min, size.max));
    for (const std::string& name : kernel.templateParameters)
      if (result.sizes.count(name))
        tests.push_back(fmt::format("{} == {}LL", names[name], result.sizes.at(name)));
    argumentTests(names, tests);
    launchTests(names, tests);
    for (const auto& assumption : kernel.assumptions)
      tests.push_back(assumptionTest(assumption, names));
    for (const auto& constraint : kernel.constraints)
      tests.push_back(fmt::format("({}) != 0", cxx(constraint.expr, names)));
    return tests;
  }

  /// Arguments that the model computes from sizes have those values; arguments into one tensor agree on its
  /// base.
  void argumentTests(const Spelling& names, std::vector<std::string>& tests) const {
    std::map<std::string, std::string> bases;
    for (const Argument& argument : kernel.arguments) {
      if (argument.kind == "scalar" && argument.value && !isDefining(argument))
        tests.push_back(
            fmt::format("retile::host::equals({}, {})", argumentName(argument), cxx(*argument.value, names)));
      if (argument.kind != "tensor")
        continue;
      std::string here = baseOf(argument, names);
      auto [first, isNew] = bases.emplace(argument.tensor, here);
      if (!isNew)
        tests.push_back(fmt::format("{} == {}", first->second, here));
    }
  }

  /// Whether a size is known from this argument, so that testing it against the size would say nothing.
  bool isDefining(const Argument& argument) const {
    return std::any_of(kernel.sizes.begin(), kernel.sizes.end(), [&](const manifest::Size& size) {
      return size.kind == "value" && givenBy(size.name) == &argument;
    });
  }

  /// Without an assumption that says which launches cover the domain, only the modelled one does.
  void launchTests(const Spelling& names, std::vector<std::string>& tests) const {
    bool covers =
        std::any_of(kernel.assumptions.begin(), kernel.assumptions.end(),
                    [](const manifest::Assumption& assumption) { return assumption.kind == "covers"; });
    if (covers && allKnown)
      return;
    auto same = [&](const char* what, const std::array<manifest::ExprText, 3>& dims) {
      tests.push_back(fmt::format("retile::host::equals({}, {}, {}, {})", what, cxx(dims[0], names),
                                  cxx(dims[1], names), cxx(dims[2], names)));
    };
    same("grid", kernel.original.grid);
    same("block", kernel.original.block);
  }

  std::string assumptionTest(const manifest::Assumption& assumption, const Spelling& names) const {
    if (assumption.kind == "aligned")
      return fmt::format("retile::host::aligned({}, {})", base(assumption.tensors.front(), names),
                         cxx(assumption.expr, names));
    if (assumption.kind == "no-overlap")
      return fmt::format("retile::host::disjoint({}, {}, {}, {})", base(assumption.tensors[0], names),
                         bytes(assumption.tensors[0], names), base(assumption.tensors[1], names),
                         bytes(assumption.tensors[1], names));
    return fmt::format("({}) != 0", cxx(assumption.expr, names));
  }

  const manifest::Tensor& tensor(const std::string& name) const {
    return *std::find_if(kernel.tensors.begin(), kernel.tensors.end(),
                         [&](auto& tensor) { return tensor.name == name; });
  }

  std::string bytes(const std::string& name, const Spelling& names) const {
    return fmt::format("{} * {}", cxx(tensor(name).extent, names), tensor(name).size);
  }

  std::string baseOf(const Argument& argument, const Spelling& names) const {
    return fmt::format("retile::host::address({}, {} * {})", argumentName(argument),
                       cxx(argument.offset, names), tensor(argument.tensor).size);
  }

  std::string base(const std::string& name, const Spelling& names) const {
    for (const Argument& argument : kernel.arguments)
      if (argument.kind == "tensor" && argument.tensor == name)
        return baseOf(argument, names);
    const auto& symbol = tensor(name).symbol;
    return symbol ? fmt::format("retile::host::symbolAddress(::{})", *symbol) : "std::uintptr_t(0)";
  }

  const manifest::Manifest& manifest;
  const std::vector<TuneResult>& results;
  const Kernel& kernel;
  const tuner::DeviceInfo& device;
  bool allKnown = true;
};

} // namespace

Expected<std::string> tunedHeader(const manifest::Manifest& manifest, const std::vector<TuneResult>& results,
                                  const tuner::DeviceInfo& device) {
  if (results.empty())
    return Error{"no results to write a header for", "", ExitCode::Internal};
  return Dispatcher(manifest, results, device).text();
}

} // namespace retile::report
