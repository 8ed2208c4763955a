// What kernel-tune leaves behind: a table or JSON lines for people and scripts, and the tuned/ folder for
// programs.
#pragma once

#include "retile/Tuner/Session.h"
#include "retile/Tuner/VerifyOnly.h"

#include <string>
#include <vector>

namespace retile::report {

/// Rates of a kernel at its sizes; nullopt where the manifest has no expression.
struct Rates {
  std::optional<double> gigabytes, gigaflops; ///< per second
  std::optional<double> roofline;             ///< share of the measured copy bandwidth, 0 to 1
};

Rates ratesOf(const manifest::Kernel& kernel, const tuner::Bindings& sizes, const tuner::DeviceInfo& device,
              double ms, std::optional<double> copyBandwidth);

/// "0.0123 ms", "12.3 ms": four significant digits.
std::string milliseconds(double ms);

/// One row per result: kernel, sizes, original, best, speed-up, rates, configuration; ends with a newline.
std::string table(const std::vector<tuner::TuneResult>& results, const tuner::DeviceInfo& device,
                  std::optional<double> copyBandwidth);

/// "verified=N mismatched=N failed=N speedup=X.XX": the sums, and the geometric mean over the results that
/// ran.
std::string summaryLine(const std::vector<tuner::TuneResult>& results);

/// One JSON object on one line, without a newline.
std::string jsonLine(const tuner::TuneResult& result, const tuner::DeviceInfo& device,
                     std::optional<double> copyBandwidth);
std::string jsonLine(const manifest::Kernel& kernel, const tuner::VerifyReport& report);

/// DIR/tuned/result.json: device, and the objects of jsonLine.
std::string resultJson(const std::vector<tuner::TuneResult>& results, const tuner::DeviceInfo& device,
                       std::optional<double> copyBandwidth);

/// The text of tuned/<id>.tuned.cuh: see TunedHeader.cpp. `results` are those of one kernel.
Expected<std::string> tunedHeader(const manifest::Manifest& manifest,
                                  const std::vector<tuner::TuneResult>& results,
                                  const tuner::DeviceInfo& device);

/// The dispatcher's name, as "retile::gemm_kernel": the kernel's own, or its id's where two kernels share
/// one.
std::string dispatcherName(const manifest::Manifest& manifest, const manifest::Kernel& kernel);

/// Writes DIR/tuned: a header per kernel, the template texts and retile.cuh that it includes, and
/// result.json. Each file is complete or absent.
Status writeTuned(const std::string& directory, const manifest::Manifest& manifest,
                  const std::vector<tuner::TuneResult>& results, const tuner::DeviceInfo& device,
                  std::optional<double> copyBandwidth);

} // namespace retile::report
