// Device time between two points of the queue.
#pragma once

#include "DeviceSession.h"

namespace retile::backend::cuda {

class Stopwatch {
public:
  explicit Stopwatch(const DeviceSession& session) : session(session) {
    session.check(session.driver.eventCreate(&begin, 0));
    session.check(session.driver.eventCreate(&end, 0));
  }
  ~Stopwatch() {
    session.driver.eventDestroy(begin);
    session.driver.eventDestroy(end);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void start() { session.check(session.driver.eventRecord(begin, nullptr)); }
  /// Waits for the queue; milliseconds since start. Whatever went wrong in between is a crash.
  double stopMs() {
    session.check(session.driver.eventRecord(end, nullptr));
    if (const Result failed = session.driver.eventSynchronize(end); failed != success)
      throw DeviceFailure{Verdict::Crash, session.driver.describe(failed), true};
    float ms = 0;
    session.check(session.driver.eventElapsedTime(&ms, begin, end));
    return double(ms);
  }

private:
  const DeviceSession& session;
  Event begin = nullptr, end = nullptr;
};

} // namespace retile::backend::cuda
