#include "DeviceMeasure.h"

#include "Nvml.h"
#include "Statistics.h"
#include "Stopwatch.h"

#include <algorithm>
#include <cmath>

namespace retile::backend::cuda {

namespace {

constexpr double repetitionMs = 0.2, tightInterval = 0.01, warmUpMs = 5;
/// Restoring a tensor empties the cache of others; a kernel shorter than this is launched once before it is
/// timed again.
constexpr double warmBelowMs = 1;
constexpr int mostLaunches = 200, mostRepetitions = 1000, fewestRepetitions = 5;

struct Subject {
  const RunSpec* run = nullptr;
  LoadedKernel kernel; ///< a copy: the session's list may move
  int launches = 1;
  std::vector<double> times;
};

class Measuring {
public:
  Measuring(DeviceSession& session, const MeasureRequest& request)
      : session(session), request(request), watch(session) {
    for (const RunSpec& run : request.runs)
      subjects.push_back({&run, session.load(run), 1, {}});
    if (request.flushBytes > 0)
      flushMemory = session.allocate(request.flushBytes);
    hot = request.flushBytes == 0 && session.readsAndWrites();
  }
  ~Measuring() {
    if (flushMemory)
      session.release(flushMemory);
  }

  std::vector<std::vector<double>> run(const std::function<void()>& alive) {
    for (Subject& subject : subjects)
      warmUp(subject), alive();
    constexpr std::size_t order[] = {0, 1, 1, 0};
    double totalMs = 0;
    for (std::size_t step = 0; step < mostRepetitions * subjects.size(); ++step) {
      Subject& subject = subjects[subjects.size() == 1 ? 0 : order[step % 4]];
      totalMs += repeat(subject);
      alive();
      if (finished(step, totalMs))
        break;
    }
    std::vector<std::vector<double>> times;
    for (Subject& subject : subjects)
      times.push_back(std::move(subject.times));
    return times;
  }

private:
  void warmUp(Subject& subject) {
    session.fill(subject.kernel, 0);
    double first = once(subject), spent = first;
    while (spent < warmUpMs) {
      const double again = once(subject);
      first = std::min(first, again);
      spent += std::max(again, 0.02);
    }
    if (request.flushBytes == 0)
      subject.launches = std::clamp(static_cast<int>(repetitionMs / std::max(first, 1e-4)), 1, mostLaunches);
  }

  double once(Subject& subject) {
    watch.start();
    session.launch(subject.kernel, *subject.run);
    return watch.stopMs();
  }

  /// Milliseconds that the repetition took on the device.
  double repeat(Subject& subject) {
    session.restore(subject.kernel);
    if (flushMemory)
      session.check(session.driver.fillBytes(flushMemory, ++pattern, request.flushBytes, nullptr));
    else if (hot && (subject.times.empty() || subject.times.back() < warmBelowMs))
      session.launch(subject.kernel, *subject.run);
    watch.start();
    for (int i = 0; i < subject.launches; ++i)
      session.launch(subject.kernel, *subject.run);
    const double ms = watch.stopMs();
    subject.times.push_back(ms / subject.launches);
    return ms;
  }

  bool finished(std::size_t step, double totalMs) const {
    const bool whole = subjects.size() == 1 || step % 4 == 3;
    const std::vector<double>& first = subjects.front().times;
    if (subjects.size() == 1 && request.giveUpAboveMs > 0 && first.size() == 3 &&
        *std::min_element(first.begin(), first.end()) > request.giveUpAboveMs)
      return true;
    if (!whole || first.size() < 3)
      return false;
    const double least = request.minSeconds * 1000 * static_cast<double>(subjects.size());
    if (totalMs >= 10 * least)
      return true;
    return totalMs >= least &&
           std::all_of(subjects.begin(), subjects.end(), [](const Subject& s) { return isTight(s.times); });
  }

  static bool isTight(const std::vector<double>& times) {
    if (times.size() < fewestRepetitions)
      return false;
    const tuner::Measurement m = summarize(times);
    return m.highMs - m.lowMs <= 2 * tightInterval * m.medianMs;
  }

  DeviceSession& session;
  const MeasureRequest& request;
  Stopwatch watch;
  std::vector<Subject> subjects;
  Pointer flushMemory = 0;
  unsigned char pattern = 0;
  bool hot = false;
};

} // namespace

Reply measure(DeviceSession& session, const MeasureRequest& request, const std::function<void()>& alive) {
  Reply reply;
  reply.times = Measuring(session, request).run(alive);
  reply.detail = throttleReason(session);
  return reply;
}

double copyBandwidth(DeviceSession& session) {
  constexpr std::uint64_t bytes = std::uint64_t(256) << 20;
  const Pointer from = session.allocate(bytes), to = session.allocate(bytes);
  session.check(session.driver.fillBytes(from, 1, bytes, nullptr));
  Stopwatch watch(session);
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    watch.start();
    session.check(session.driver.copyOnDevice(to, from, bytes, nullptr));
    best = std::min(best, watch.stopMs());
  }
  session.release(from);
  session.release(to);
  return 2.0 * double(bytes) / (best / 1000);
}

} // namespace retile::backend::cuda
