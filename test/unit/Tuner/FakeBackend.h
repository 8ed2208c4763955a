// A device that computes nothing: times, failures and mismatches are functions of the configuration.
#pragma once

#include "retile/Tuner/Backend.h"
#include "retile/Tuner/Space.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <set>
#include <unistd.h>

namespace retile::tuner {

class FakeBackend : public Backend {
public:
  FakeBackend() {
    device.spec = "fake";
    device.name = "fake device";
    device.arch = "sm_90";
  }

  /// Milliseconds of a configuration; the original's is `originalMs`.
  std::function<double(const Config&)> time = [](const Config& config) {
    double ms = 1;
    for (const auto& [name, value] : config)
      ms += std::abs(std::log2(static_cast<double>(value)) - 2) / 10;
    return ms;
  };
  double originalMs = 2;
  std::function<bool(const Config&)> compiles = [](const Config&) { return true; };
  std::function<Outcome(const Config&, const Bindings& sizes)> judge = [](const Config&, const Bindings&) {
    return Outcome::Ok;
  };
  std::function<Outcome(const Config&)> launch = [](const Config&) { return Outcome::Ok; };
  int sleepMicroseconds = 0;

  std::atomic<int> compiled = 0;
  int verified = 0, measured = 0, pairs = 0;
  std::set<std::string> sizesVerified;
  std::set<std::string> measuredConfigs;

  const DeviceInfo& info() const override { return device; }

  Compiled compile(const Candidate& candidate) override {
    ++compiled;
    Compiled result;
    result.ok = !candidate.config || compiles(*candidate.config);
    result.log = result.ok ? "" : "error: too much of it";
    return result;
  }

  VerifyResult verify(const Candidate& candidate, const Compiled&, const Compiled&, std::uint64_t) override {
    ++verified;
    sizesVerified.insert(toString(candidate.sizes));
    if (sleepMicroseconds)
      ::usleep(static_cast<useconds_t>(sleepMicroseconds));
    Outcome outcome = judge(*candidate.config, candidate.sizes);
    return {outcome, outcome == Outcome::Ok ? "" : "because", 0};
  }

  Measurement measure(const Candidate& candidate, const Compiled&, std::uint64_t,
                      const MeasureOptions&) override {
    ++measured;
    if (candidate.config)
      measuredConfigs.insert(toString(*candidate.config));
    return result(candidate);
  }

  std::pair<Measurement, Measurement> measurePair(const Candidate& a, const Compiled&, const Candidate& b,
                                                  const Compiled&, std::uint64_t,
                                                  const MeasureOptions&) override {
    ++pairs;
    return {result(a), result(b)};
  }

  DeviceInfo device;

private:
  Measurement result(const Candidate& candidate) const {
    Measurement measurement;
    measurement.outcome = candidate.config ? launch(*candidate.config) : Outcome::Ok;
    double ms = candidate.config ? time(*candidate.config) : originalMs;
    measurement.medianMs = ms;
    measurement.lowMs = ms * 0.995;
    measurement.highMs = ms * 1.005;
    measurement.repetitions = 5;
    return measurement;
  }
};

} // namespace retile::tuner
