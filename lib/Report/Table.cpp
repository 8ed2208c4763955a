#include "retile/Report/Report.h"
#include "retile/Tuner/Sizes.h"

#include <cmath>
#include <fmt/format.h>

namespace retile::report {

using tuner::TuneResult;

Rates ratesOf(const manifest::Kernel& kernel, const tuner::Bindings& sizes, const tuner::DeviceInfo& device,
              double ms, std::optional<double> copyBandwidth) {
  Rates rates;
  auto bindings = tuner::deviceBindings(sizes, device);
  auto perSecond = [&](const std::optional<manifest::ExprText>& text) -> std::optional<double> {
    auto amount = text ? tuner::valueOf(*text, bindings) : std::nullopt;
    return amount && ms > 0 ? std::optional(static_cast<double>(*amount) / (ms * 1e6)) : std::nullopt;
  };
  rates.gigabytes = perSecond(kernel.bytes);
  rates.gigaflops = perSecond(kernel.flops);
  if (rates.gigabytes && copyBandwidth && *copyBandwidth > 0)
    rates.roofline = *rates.gigabytes * 1e9 / *copyBandwidth;
  return rates;
}

std::string milliseconds(double ms) { return fmt::format("{:.4g}", ms); }

static std::string orDash(const std::optional<double>& value, const char* pattern = "{:.4g}") {
  return value ? fmt::format(fmt::runtime(pattern), *value) : "-";
}

static std::string configurationOf(const TuneResult& result) {
  if (!result.unsupported.empty())
    return "unsupported: " + result.unsupported;
  if (!result.failure.empty())
    return result.failure;
  return result.best ? (result.best->empty() ? "template" : tuner::toString(*result.best)) : "identity";
}

using Row = std::vector<std::string>;

static Row rowOf(const TuneResult& result, const tuner::DeviceInfo& device,
                 std::optional<double> copyBandwidth) {
  std::string sizes = result.sizes.empty() ? "-" : tuner::toString(result.sizes);
  if (!result.unsupported.empty() || !result.failure.empty())
    return {result.kernel->id, sizes, "-", "-", "-", "-", "-", "-", configurationOf(result)};
  Rates rates = ratesOf(*result.kernel, result.sizes, device, result.bestMs, copyBandwidth);
  std::string roofline = rates.roofline ? fmt::format("{:.0f}%", *rates.roofline * 100) : "-";
  return {result.kernel->id,
          sizes,
          milliseconds(result.originalMs),
          milliseconds(result.bestMs),
          fmt::format("{:.2f}x", result.speedup),
          orDash(rates.gigabytes),
          orDash(rates.gigaflops),
          roofline,
          configurationOf(result)};
}

std::string table(const std::vector<TuneResult>& results, const tuner::DeviceInfo& device,
                  std::optional<double> copyBandwidth) {
  std::vector<Row> rows{{"kernel", "sizes", "original ms", "best ms", "speed-up", "GB/s", "GFLOP/s",
                         "of copy", "configuration"}};
  for (const TuneResult& result : results)
    rows.push_back(rowOf(result, device, copyBandwidth));
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    // Names to the left, numbers to the right, and nothing behind the last column.
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      text += i < 2 ? fmt::format("{:<{}}  ", row[i], widths[i]) : fmt::format("{:>{}}  ", row[i], widths[i]);
    text += row.back() + "\n";
  }
  return text;
}

std::string summaryLine(const std::vector<TuneResult>& results) {
  std::uint64_t verified = 0, mismatched = 0, failed = 0;
  double logs = 0;
  int ran = 0;
  for (const TuneResult& result : results) {
    verified += result.verified;
    mismatched += result.mismatched;
    failed += result.failed;
    if (result.unsupported.empty() && result.failure.empty()) {
      logs += std::log(result.speedup);
      ++ran;
    }
  }
  return fmt::format("verified={} mismatched={} failed={} speedup={:.2f}", verified, mismatched, failed,
                     ran ? std::exp(logs / ran) : 1.0);
}

} // namespace retile::report
