// Live progress on stderr: one line redrawn on a terminal, a line every few seconds elsewhere.
#pragma once

#include "retile/Tuner/Session.h"

#include <chrono>

namespace retile::tool {

class ProgressLine {
public:
  ProgressLine(bool quiet, const tuner::DeviceInfo& device, std::optional<double> copyBandwidth);
  ~ProgressLine() { clear(); }

  void show(const tuner::Progress& progress);
  /// A line that stays.
  void note(const std::string& text);
  /// Removes a redrawn line, so that other output starts on a clean one.
  void clear();

private:
  std::string describe(const tuner::Progress& progress) const;

  bool quiet, terminal, drawn = false;
  const tuner::DeviceInfo& device;
  std::optional<double> copyBandwidth;
  std::chrono::steady_clock::time_point next;
};

} // namespace retile::tool
