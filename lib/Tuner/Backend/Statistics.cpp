#include "Statistics.h"

#include "retile/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace retile::backend {

tuner::Measurement summarize(std::vector<double> values) {
  tuner::Measurement result;
  result.repetitions = static_cast<int>(values.size());
  if (values.empty()) {
    result.outcome = tuner::Outcome::LaunchError;
    result.detail = "nothing was measured";
    return result;
  }
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  result.medianMs = n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  const double half = 0.98 * std::sqrt(double(n));
  const auto low = static_cast<long>(std::floor(double(n) / 2 - half));
  const auto high = static_cast<long>(std::ceil(double(n) / 2 + half));
  result.lowMs = values[static_cast<std::size_t>(std::max(0L, low))];
  result.highMs = values[static_cast<std::size_t>(std::min(static_cast<long>(n) - 1, high))];
  return result;
}

std::string firstError(const std::string& log) {
  const std::vector<std::string> lines = split(log, '\n');
  for (const std::string& line : lines)
    if (line.find("error") != std::string::npos)
      return oneLine(line);
  return lines.empty() ? "" : oneLine(lines.front());
}

} // namespace retile::backend
