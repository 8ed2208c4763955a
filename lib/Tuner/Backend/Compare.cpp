#include "Compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace retile::backend {

namespace {

std::uint64_t scalarsOf(const TensorPlan& tensor) {
  return static_cast<std::uint64_t>(tensor.elements) * static_cast<std::uint64_t>(tensor.type.lanes);
}

std::uint64_t poisonBits(const TensorPlan& tensor, std::uint64_t index, int run) {
  return harness::poisonBits(tensor.type.scalar, index, run);
}

double finiteRms(const TensorPlan& tensor, const unsigned char* data) {
  double sum = 0;
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < scalarsOf(tensor); ++i) {
    const double value =
        harness::decodeFloat(tensor.type.scalar, harness::loadBits(tensor.type.scalar, data, i));
    if (std::isfinite(value))
      sum += value * value, ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

/// Whether two runs of the original agree wherever it wrote.
bool repeats(const TensorPlan& tensor, const unsigned char* first, const unsigned char* second) {
  if (std::memcmp(first, second, tensor.bytes) == 0)
    return true;
  for (std::uint64_t i = 0; i < scalarsOf(tensor); ++i) {
    const std::uint64_t a = harness::loadBits(tensor.type.scalar, first, i);
    const std::uint64_t b = harness::loadBits(tensor.type.scalar, second, i);
    const bool untouched =
        tensor.role == Role::Out && a == poisonBits(tensor, i, 0) && b == poisonBits(tensor, i, 1);
    if (a != b && !untouched)
      return false;
  }
  return true;
}

} // namespace

Expected<Tolerance> toleranceOf(const Problem& problem, const TensorPlan& tensor, const unsigned char* first,
                                const unsigned char* second) {
  const manifest::VerifyRule& rule = problem.kernel->verify;
  const bool same = repeats(tensor, first, second);
  if (same && rule.klass != "error")
    return Tolerance{};
  if (!harness::isFloat(tensor.type.scalar)) {
    if (same)
      return Tolerance{};
    return Error{
        fmt::format("the original does not repeat its own {}, whose elements are not floats", tensor.name),
        "", ExitCode::Environment};
  }
  const std::int64_t terms = rule.terms.empty() ? 4096 : problem.terms;
  return Tolerance{allowedError(rule, terms), finiteRms(tensor, first)};
}

Difference compareTensor(const TensorPlan& tensor, const void* candidate, const void* original,
                         Tolerance tolerance, int run) {
  Difference difference;
  if (std::memcmp(candidate, original, tensor.bytes) == 0)
    return difference;
  const Element type = tensor.type.scalar;
  for (std::uint64_t i = 0; i < scalarsOf(tensor); ++i) {
    const std::uint64_t a = harness::loadBits(type, candidate, i), b = harness::loadBits(type, original, i);
    if (a == b)
      continue;
    const bool untouched = tensor.role == Role::Out && b == poisonBits(tensor, i, run);
    if (tolerance.relative > 0 && !untouched && harness::isFloat(type) &&
        harness::isClose(type, harness::decodeFloat(type, a), harness::decodeFloat(type, b),
                         tolerance.relative, tolerance.rms))
      continue;
    if (!difference.any)
      difference = {true, i, 0, a, b};
    ++difference.count;
  }
  return difference;
}

std::string describeDifference(const Problem& problem, const TensorPlan& tensor, const Difference& difference,
                               int run) {
  const auto show = [&](std::uint64_t bits) {
    const bool untouched = tensor.role == Role::Out && bits == poisonBits(tensor, difference.index, run);
    return untouched ? std::string("nothing written") : showElement(tensor.type.scalar, bits);
  };
  const std::string more =
      difference.count > 1 ? fmt::format("{} more of {}; ", difference.count - 1, scalarsOf(tensor)) : "";
  return fmt::format("{}[{}]: {} against {} ({}{})", tensor.name, difference.index,
                     show(difference.candidate), show(difference.original), more, problem.describe());
}

std::string describeInputChange(const Problem& problem, const TensorPlan& tensor,
                                const Difference& difference) {
  return fmt::format("changes its input {}[{}] from {} to {} ({})", tensor.name, difference.index,
                     showElement(tensor.type.scalar, difference.original),
                     showElement(tensor.type.scalar, difference.candidate), problem.describe());
}

} // namespace retile::backend
