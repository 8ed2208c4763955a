#include "ProgressLine.h"

#include "retile/Report/Report.h"
#include "retile/Support/Text.h"

#include <cstdio>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace retile::tool {

using namespace std::chrono_literals;

ProgressLine::ProgressLine(bool quiet, const tuner::DeviceInfo& device, std::optional<double> copyBandwidth)
    : quiet(quiet), terminal(::isatty(STDERR_FILENO)), device(device), copyBandwidth(copyBandwidth) {}

std::string ProgressLine::describe(const tuner::Progress& progress) const {
  std::string text =
      fmt::format("{}: {:3.0f}% {} done", progress.kernel->id, progress.share * 100, progress.done);
  if (progress.fromRecords)
    text += fmt::format(" ({} from records)", progress.fromRecords);
  if (progress.bestMs) {
    report::Rates rates =
        report::ratesOf(*progress.kernel, progress.sizes, device, *progress.bestMs, copyBandwidth);
    text += fmt::format(", best {} ms {:.2f}x", report::milliseconds(*progress.bestMs),
                        progress.originalMs / *progress.bestMs);
    if (rates.gigabytes)
      text += fmt::format(" {:.4g} GB/s", *rates.gigabytes);
    if (rates.gigaflops)
      text += fmt::format(" {:.4g} GFLOP/s", *rates.gigaflops);
    if (rates.roofline)
      text += fmt::format(" {:.0f}% of copy", *rates.roofline * 100);
  }
  for (const auto& [outcome, count] : progress.outcomes)
    if (outcome != tuner::Outcome::Ok)
      text += fmt::format(", {} {}", count, toString(outcome));
  return text;
}

void ProgressLine::show(const tuner::Progress& progress) {
  auto now = std::chrono::steady_clock::now();
  if (quiet || now < next)
    return;
  next = now + (terminal ? 100ms : 5000ms);
  std::string text = describe(progress);
  if (!terminal) {
    fmt::print(stderr, "{}\n", text);
    return;
  }
  winsize window{};
  std::size_t width =
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 8 ? window.ws_col - 1u : 79u;
  fmt::print(stderr, "\r\x1b[K{}", text.size() > width ? oneLine(text, width - 3) : text);
  std::fflush(stderr);
  drawn = true;
}

void ProgressLine::note(const std::string& text) {
  if (quiet)
    return;
  clear();
  fmt::print(stderr, "{}\n", text);
}

void ProgressLine::clear() {
  if (drawn)
    fmt::print(stderr, "\r\x1b[K");
  drawn = false;
}

} // namespace retile::tool
