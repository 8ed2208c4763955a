#include "WorkerProcess.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace retile::backend {

namespace {

constexpr double openSeconds = 120, prepareSeconds = 120;

/// Closes everything but standard error and `keep`; the standard streams become /dev/null, since kernels may
/// print.
void isolate(int keep) {
  const int null = ::open("/dev/null", O_RDWR);
  dup2(null, 0);
  dup2(null, 1);
  if (keep > 3)
    syscall(SYS_close_range, 3u, static_cast<unsigned>(keep - 1), 0u);
  syscall(SYS_close_range, static_cast<unsigned>(keep + 1), ~0u, 0u);
}

/// Forks a worker for every descriptor that arrives; kills those that are left when the control socket
/// closes.
[[noreturn]] void launch(int control, void (*serve)(int)) {
  isolate(control);
  signal(SIGINT, SIG_IGN);
  std::vector<pid_t> workers;
  for (int socket; (socket = receiveDescriptor(control)) >= 0;) {
    const pid_t child = fork();
    if (child == 0) {
      ::close(control);
      serve(socket);
      _exit(0);
    }
    ::close(socket);
    if (child > 0)
      workers.push_back(child);
    for (pid_t& worker : workers)
      if (waitpid(worker, nullptr, WNOHANG) == worker)
        worker = 0;
    workers.erase(std::remove(workers.begin(), workers.end(), 0), workers.end());
  }
  for (const pid_t worker : workers)
    kill(worker, SIGKILL);
  _exit(0);
}

tuner::Outcome outcomeOf(Verdict verdict) {
  switch (verdict) {
  case Verdict::Ok:
    return tuner::Outcome::Ok;
  case Verdict::LaunchError:
    return tuner::Outcome::LaunchError;
  case Verdict::OutOfMemory:
    return tuner::Outcome::Unsupported;
  case Verdict::Crash:
    return tuner::Outcome::Crash;
  default:
    return tuner::Outcome::Mismatch;
  }
}

} // namespace

Expected<std::unique_ptr<WorkerLauncher>> WorkerLauncher::start(void (*serve)(int)) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{"cannot make a socket", std::strerror(errno), ExitCode::Environment};
  std::unique_ptr<WorkerLauncher> launcher(new WorkerLauncher);
  launcher->pid = fork();
  if (launcher->pid == 0)
    launch(ends[1], serve);
  ::close(ends[1]);
  launcher->control = Link(ends[0]);
  if (launcher->pid < 0)
    return Error{"cannot fork", std::strerror(errno), ExitCode::Environment};
  return launcher;
}

WorkerLauncher::~WorkerLauncher() {
  control.close();
  if (pid > 0)
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Link WorkerLauncher::spawn() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return {};
  const bool sent = sendDescriptor(control.handle(), ends[1]);
  ::close(ends[1]);
  Link link(ends[0]);
  if (!sent)
    link.close();
  return link;
}

Expected<DeviceFacts> DeviceWorker::open() {
  if (link.open())
    return facts;
  link = launcher.spawn();
  std::uint32_t kind = 0;
  std::string hello;
  if (link.receive(kind, hello, openSeconds) != Received::Message)
    return Error{"the measuring process does not start", "", ExitCode::Environment};
  pid = Reader(hello).get<pid_t>();
  Writer body;
  body.put(ordinal);
  Result result = call(Request::Open, body.bytes, openSeconds);
  if (result.outcome != tuner::Outcome::Ok) {
    stop();
    const std::size_t line = result.detail.find('\n');
    return Error{result.detail.substr(0, line),
                 line == std::string::npos ? "" : result.detail.substr(line + 1), ExitCode::Environment};
  }
  facts = result.reply.facts;
  return facts;
}

DeviceWorker::Result DeviceWorker::prepare(const std::string& problem, const PrepareRequest& request) {
  if (Expected<DeviceFacts> opened = open(); !opened)
    return {tuner::Outcome::Unsupported, opened.error().message, {}};
  if (prepared == problem)
    return {};
  prepared.clear();
  Result result = call(Request::Prepare, encode(request), prepareSeconds);
  if (result.outcome == tuner::Outcome::Ok)
    prepared = problem;
  return result;
}

DeviceWorker::Result DeviceWorker::call(Request request, const std::string& body, double seconds,
                                        int descriptor) {
  bool sent = link.send(static_cast<std::uint32_t>(request), body);
  if (descriptor >= 0)
    sent = sent && sendDescriptor(link.handle(), descriptor);
  std::uint32_t kind = static_cast<std::uint32_t>(Answer::Alive);
  std::string answer;
  while (sent && kind == static_cast<std::uint32_t>(Answer::Alive)) {
    const Received received = link.receive(kind, answer, seconds);
    if (received == Received::TimedOut)
      return lost(tuner::Outcome::Timeout, fmt::format("no end after {:.1f} s", seconds));
    sent = received == Received::Message;
  }
  Result result;
  if (!sent || !decode(answer, result.reply))
    return lost(tuner::Outcome::Crash, "the measuring process died");
  result.outcome = outcomeOf(result.reply.verdict);
  result.detail = result.reply.detail;
  if (result.reply.verdict == Verdict::Crash)
    stop();
  return result;
}

DeviceWorker::Result DeviceWorker::lost(tuner::Outcome outcome, const std::string& detail) {
  stop();
  Result result;
  result.outcome = outcome;
  result.detail = detail;
  return result;
}

void DeviceWorker::stop() {
  if (link.open() && pid > 0)
    kill(pid, SIGKILL);
  link.close();
  pid = -1;
  prepared.clear();
}

} // namespace retile::backend
