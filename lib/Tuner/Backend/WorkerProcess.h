// Our side of the measuring processes. A launcher is forked before anything else happens in the program's
// threads and never touches the driver, so that it can fork as many workers, one after the other, as
// candidates manage to kill.
#pragma once

#include "Link.h"
#include "Requests.h"

#include "retile/Support/Expected.h"
#include "retile/Tuner/Backend.h"

#include <memory>
#include <string>
#include <sys/types.h>

namespace retile::backend {

class WorkerLauncher {
public:
  /// `serve` runs in every worker, with its end of a socket.
  static Expected<std::unique_ptr<WorkerLauncher>> start(void (*serve)(int socket));
  /// Kills the workers that are left.
  ~WorkerLauncher();
  /// A new worker's other end; closed when it could not be made.
  Link spawn();

private:
  WorkerLauncher() = default;
  Link control;
  pid_t pid = -1;
};

/// One worker for one device, restarted when it is lost.
class DeviceWorker {
public:
  DeviceWorker(WorkerLauncher& launcher, int ordinal) : launcher(launcher), ordinal(ordinal) {}
  ~DeviceWorker() { stop(); }

  struct Result {
    tuner::Outcome outcome =
        tuner::Outcome::Ok; ///< Crash or Timeout when the worker was lost, as the verdict says else
    std::string detail;
    Reply reply;
  };

  /// Starts the worker when there is none.
  Expected<DeviceFacts> open();
  /// Sends Prepare unless the worker holds this problem already; `problem` identifies it.
  Result prepare(const std::string& problem, const PrepareRequest& request);
  /// `seconds` is how long the worker may be silent. `descriptor`, unless negative, follows the request.
  Result call(Request kind, const std::string& body, double seconds, int descriptor = -1);
  void stop();

private:
  Result lost(tuner::Outcome outcome, const std::string& detail);

  WorkerLauncher& launcher;
  const int ordinal;
  Link link;
  pid_t pid = -1;
  DeviceFacts facts;
  std::string prepared;
};

} // namespace retile::backend
