#include "retile/Tuner/Sizes.h"

#include "retile/Support/Text.h"
#include "retile/Tuner/Space.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace retile::tuner {

using manifest::Kernel;
using manifest::Size;

Expected<Bindings> parseSizes(const std::string& text) {
  Bindings sizes;
  for (const std::string& part : split(text, ',')) {
    auto equals = part.find('=');
    std::string name(trim(part.substr(0, equals)));
    auto value = equals == std::string::npos ? std::nullopt : parseInteger(trim(part.substr(equals + 1)));
    if (!isIdentifier(name) || !value)
      return Error{fmt::format("'{}' is not a size", oneLine(part, 60)),
                   "sizes are given as `--size N=1024,K=64`"};
    if (!sizes.emplace(name, *value).second)
      return Error{fmt::format("size '{}' is given twice", name), "repeat `--size` to tune at several sizes"};
  }
  if (sizes.empty())
    return Error{"`--size` has no value", "sizes are given as `--size N=1024,K=64`"};
  return sizes;
}

Status checkSizeNames(const manifest::Manifest& manifest, const Bindings& given) {
  std::set<std::string> known;
  for (const Kernel& kernel : manifest.kernels)
    for (const Size& size : kernel.sizes)
      known.insert(size.name);
  for (const auto& [name, value] : given)
    if (!known.count(name))
      return Error{fmt::format("unknown size '{}'", name),
                   known.empty() ? "no kernel has sizes"
                                 : fmt::format("known are {}", fmt::join(known, ", "))};
  return {};
}

std::optional<std::int64_t> valueOf(const manifest::ExprText& text, const Bindings& bindings) {
  auto expression = manifest::Expression::parse(text);
  if (!expression)
    return std::nullopt;
  auto value = expression->evaluate(bindings);
  return value ? std::optional(*value) : std::nullopt;
}

std::string failedAssumption(const Kernel& kernel, const Bindings& sizes, const DeviceInfo& device) {
  Bindings bindings = deviceBindings(sizes, device);
  for (const auto& assumption : kernel.assumptions)
    if (assumption.kind == "size" && valueOf(assumption.expr, bindings).value_or(0) == 0)
      return assumption.expr;
  return "";
}

std::optional<std::int64_t> workingSet(const Kernel& kernel, const Bindings& sizes,
                                       const DeviceInfo& device) {
  Bindings bindings = deviceBindings(sizes, device);
  std::int64_t total = 0;
  for (const auto& tensor : kernel.tensors) {
    auto extent = valueOf(tensor.extent, bindings);
    std::int64_t bytes = 0;
    if (!extent || *extent < 0 || __builtin_mul_overflow(*extent, tensor.size, &bytes) ||
        __builtin_add_overflow(total, bytes, &total))
      return std::nullopt;
  }
  return total;
}

static std::int64_t clamped(const Size& size, std::int64_t value) {
  return std::clamp(value, size.min, size.max);
}

/// Given values, checked against their ranges; names of other kernels are left out.
static Expected<Bindings> ownSizes(const Kernel& kernel, const Bindings& given) {
  Bindings own;
  for (const Size& size : kernel.sizes) {
    auto found = given.find(size.name);
    if (found == given.end())
      continue;
    if (found->second < size.min || found->second > size.max)
      return Error{fmt::format("kernel '{}': size {}={} is outside {} to {}", kernel.id, size.name,
                               found->second, size.min, size.max),
                   ""};
    own[size.name] = found->second;
  }
  return own;
}

/// `fixed`, and for every other size `fill` of its position, clamped to its range.
template <class Fill> static Bindings completed(const Kernel& kernel, const Bindings& fixed, Fill fill) {
  Bindings sizes = fixed;
  std::size_t position = 0;
  for (const Size& size : kernel.sizes)
    if (!fixed.count(size.name))
      sizes[size.name] = clamped(size, fill(position++));
  return sizes;
}

static std::string describe(const DeviceInfo& device, std::int64_t bytes) {
  return fmt::format("a working set of {:.1f} MiB{}", static_cast<double>(bytes) / (1 << 20),
                     device.spec == "cpu" ? "" : ", at least four times the L2");
}

Expected<ChosenSizes> chooseSizes(const Kernel& kernel, const Bindings& given, const DeviceInfo& device) {
  Expected<Bindings> own = ownSizes(kernel, given);
  if (!own)
    return own.error();
  Bindings fixed = *own;
  std::vector<std::string> fromCallSite;
  for (const Size& size : kernel.sizes)
    if (size.defaultValue && fixed.emplace(size.name, *size.defaultValue).second)
      fromCallSite.push_back(fmt::format("{}={}", size.name, *size.defaultValue));
  ChosenSizes chosen{fixed, ""};
  if (!fromCallSite.empty())
    chosen.note = fmt::format("{} from the call site", fmt::join(fromCallSite, " "));
  if (fixed.size() == kernel.sizes.size()) {
    if (std::string failed = failedAssumption(kernel, fixed, device); !failed.empty())
      return Error{
          fmt::format("kernel '{}': {} does not meet the assumption {}", kernel.id, toString(fixed), failed),
          "the original would run at these sizes"};
    return chosen;
  }
  const std::int64_t target = device.spec == "cpu" ? 1 << 20 : 4 * device.l2Bytes;
  std::optional<Bindings> largest;
  for (int shift = 0; shift < 31; ++shift) {
    Bindings sizes = completed(kernel, fixed, [&](std::size_t) { return std::int64_t(1) << shift; });
    auto bytes = workingSet(kernel, sizes, device);
    if (!bytes || (largest && *bytes > 64 * target))
      break;
    if (!failedAssumption(kernel, sizes, device).empty())
      continue;
    largest = sizes;
    if (*bytes >= target)
      break;
  }
  if (!largest)
    return Error{fmt::format("kernel '{}': no power of two meets its size assumptions", kernel.id),
                 "give its sizes with `--size`"};
  std::vector<std::string> text;
  for (const Size& size : kernel.sizes)
    if (!fixed.count(size.name))
      text.push_back(fmt::format("{}={}", size.name, largest->at(size.name)));
  chosen.sizes = *largest;
  chosen.note += fmt::format("{}{} for {}", chosen.note.empty() ? "" : ", ", fmt::join(text, " "),
                             describe(device, workingSet(kernel, *largest, device).value_or(0)));
  return chosen;
}

static bool isPrime(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0)
      return false;
  return n >= 2;
}

/// The prime number `skip` below `limit`, counted from the largest; 1 when there are not so many.
static std::int64_t primeBelow(std::int64_t limit, std::size_t skip) {
  for (std::int64_t n = limit - 1; n >= 2; --n)
    if (isPrime(n) && skip-- == 0)
      return n;
  return 1;
}

/// Whether a verification at `sizes` is quick: few elements and operations, fewer on the CPU.
static bool isQuick(const Kernel& kernel, const Bindings& sizes, const DeviceInfo& device) {
  const bool cpu = device.spec == "cpu";
  Bindings bindings = deviceBindings(sizes, device);
  auto bytes = workingSet(kernel, sizes, device);
  auto flops = kernel.flops ? valueOf(*kernel.flops, bindings) : std::optional<std::int64_t>(0);
  std::int64_t threads = 1;
  for (const auto* dims : {&kernel.original.grid, &kernel.original.block})
    for (const auto& extent : *dims)
      if (__builtin_mul_overflow(threads, valueOf(extent, bindings).value_or(1), &threads))
        return false;
  return bytes && flops && *bytes <= (cpu ? 1 << 16 : 1 << 22) && *flops <= (cpu ? 1 << 20 : 1 << 27) &&
         threads <= (cpu ? 1 << 15 : 1 << 22);
}

std::vector<Bindings> smallSizes(const Kernel& kernel, const Bindings& given, const DeviceInfo& device) {
  std::int64_t m = 4;
  auto all = [&](std::int64_t value) { return completed(kernel, given, [&](std::size_t) { return value; }); };
  while (m < (1 << 14) && isQuick(kernel, all(2 * m), device))
    m *= 2;
  using Fill = std::function<std::int64_t(std::size_t)>;
  const std::int64_t small = std::max<std::int64_t>(4, m / 4);
  const Fill fills[] = {
      [&](std::size_t i) { return primeBelow(m, i); },
      [&](std::size_t i) { return i % 2 ? m + 1 : m - 1; },
      [&](std::size_t i) { return primeBelow(i % 2 ? small : m, i / 2); },
      [&](std::size_t i) { return i % 2 ? m - 1 : small + 1; },
      [&](std::size_t) { return 1; },
      [&](std::size_t i) { return i % 2 ? 1 : primeBelow(m, i); },
      [&](std::size_t) { return m; },
      [&](std::size_t i) { return i % 2 ? m / 2 : m; },
      [&](std::size_t i) { return i % 2 ? m : m / 2; },
      [&](std::size_t) { return 3 * m / 2; },
      [&](std::size_t) { return 2 * m; },
      [&](std::size_t) { return 4 * m; },
      [&](std::size_t) { return 16 * m; },
  };
  std::vector<Bindings> list;
  for (const Fill& fill : fills) {
    Bindings sizes = completed(kernel, given, fill);
    bool known = std::find(list.begin(), list.end(), sizes) != list.end();
    if (!known && workingSet(kernel, sizes, device) && failedAssumption(kernel, sizes, device).empty())
      list.push_back(sizes);
  }
  return list;
}

Expected<ChosenSizes> chooseSmallSizes(const Kernel& kernel, const Bindings& given,
                                       const DeviceInfo& device) {
  Expected<Bindings> own = ownSizes(kernel, given);
  if (!own)
    return own.error();
  if (own->size() == kernel.sizes.size())
    return ChosenSizes{*own, ""};
  auto list = smallSizes(kernel, *own, device);
  if (list.empty())
    return Error{fmt::format("kernel '{}': no small sizes meet its size assumptions", kernel.id),
                 "give its sizes with `--size`"};
  return ChosenSizes{list.front(), fmt::format("{}, small and odd", toString(list.front()))};
}

} // namespace retile::tuner
