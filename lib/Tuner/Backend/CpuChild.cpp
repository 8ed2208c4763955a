#include "CpuChild.h"

#include "Fibers.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace retile::backend {

namespace {

using tuner::Outcome;

constexpr int mostTimes = 2000;

/// What the child tells us, in shared memory.
struct Report {
  Outcome outcome;
  char detail[1024];
  double seconds;
  int counts[2];
  double times[2][mostTimes];
};

Report* report = nullptr;
const ChildRun* active = nullptr;

[[noreturn]] void finishChild(Outcome outcome, const char* detail) {
  report->outcome = outcome;
  std::snprintf(report->detail, sizeof report->detail, "%s", detail);
  _exit(0);
}

void onFault(const char* message) { finishChild(Outcome::LaunchError, message); }

/// Says where the kernel was and which tensor is nearest, then ends the process.
void onSignal(int signal, siginfo_t* info, void*) {
  char where[160], what[400];
  describeCurrentThread(where, sizeof where);
  std::size_t tensor = 0;
  long long beyond = 0;
  std::snprintf(what, sizeof what, "%s in %s", strsignal(signal), where);
  if (active && (signal == SIGSEGV || signal == SIGBUS))
    for (const Arena* arena : active->arenas)
      if (arena->locate(info->si_addr, tensor, beyond)) {
        const char* side = beyond < 0 ? "bytes before" : "bytes past the end of";
        std::snprintf(what, sizeof what, "%s touches memory %lld %s %s", where, beyond < 0 ? -beyond : beyond,
                      side, active->problem->tensors[tensor].name.c_str());
      }
  finishChild(Outcome::Crash, what);
}

void installHandlers() {
  static unsigned char stack[64 << 10];
  const stack_t alternate{stack, 0, sizeof stack};
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaction(signal, &action, nullptr);
}

/// A loaded module with the addresses of its entry points.
class Module {
public:
  explicit Module(const CpuBinary& binary) : library(dlopen(binary.path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!library)
      finishChild(Outcome::LaunchError, dlerror());
    find<void(const simt::Services*)>("retile_simt_attach")(&fiberServices());
  }
  template <class F> F* find(const std::string& name) const {
    void* address = dlsym(library, name.c_str());
    if (!address)
      finishChild(Outcome::LaunchError, ("the module lacks " + name).c_str());
    return reinterpret_cast<F*>(address);
  }

private:
  void* library;
};

/// Copies a module variable's contents from the arena, or back.
void copySymbols(const Module& module, const Problem& problem, const Arena& arena, bool toModule) {
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    if (problem.tensors[i].symbol.empty())
      continue;
    unsigned long long room = 0;
    void* address = module.find<void*(unsigned long long*)>(fmt::format("retile_symbol_{}", i))(&room);
    if (room < arena.size(i))
      finishChild(Outcome::LaunchError,
                  (problem.tensors[i].symbol + " is smaller than the manifest says").c_str());
    if (toModule)
      std::memcpy(address, arena.data(i), arena.size(i));
    else
      std::memcpy(arena.data(i), address, arena.size(i));
  }
}

/// Argument pointers for one arena.
struct Arguments {
  std::vector<void*> tensors;
  std::vector<void*> pointers;

  Arguments(const RunPlan& plan, const Arena& arena) : tensors(plan.arguments.size()) {
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
      const ArgumentPlan& argument = plan.arguments[i];
      if (argument.tensor >= 0)
        tensors[i] = arena.data(static_cast<std::size_t>(argument.tensor)) + argument.offsetBytes;
      pointers.push_back(argument.tensor >= 0 ? static_cast<void*>(&tensors[i])
                                              : const_cast<unsigned char*>(argument.bytes.data()));
    }
  }
};

double launch(const Module& module, const ChildRun& run, const Arguments& arguments, int index) {
  GridRun grid;
  grid.grid = run.plan->launch.grid;
  grid.block = run.plan->launch.block;
  grid.shared = run.plan->launch.shared;
  grid.entry = module.find<void(void* const*)>("retile_entry");
  grid.self = module.find<simt::Thread**()>("retile_simt_self");
  grid.arguments = arguments.pointers.data();
  grid.run = index;
  grid.osThreads = run.osThreads;
  const auto start = std::chrono::steady_clock::now();
  runGrid(grid, onFault);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void verifyBody(const ChildRun& run) {
  const Module module(*run.binary);
  for (std::size_t i = 0; i < run.arenas.size(); ++i) {
    run.arenas[i]->protectGuards();
    copySymbols(module, *run.problem, *run.arenas[i], true);
    report->seconds += launch(module, run, Arguments(*run.plan, *run.arenas[i]), static_cast<int>(i));
    copySymbols(module, *run.problem, *run.arenas[i], false);
  }
}

void flush(std::vector<unsigned char>& memory) {
  for (std::size_t i = 0; i < memory.size(); i += 64)
    ++memory[i];
}

void timeBody(const std::vector<ChildRun>& runs, double minSeconds, double giveUpSeconds,
              std::size_t flushBytes) {
  std::vector<Module> modules;
  std::vector<Arguments> arguments;
  std::vector<unsigned char> scratch(flushBytes);
  for (const ChildRun& run : runs) {
    active = &run;
    modules.emplace_back(*run.binary);
    arguments.emplace_back(*run.plan, *run.arenas[0]);
    copySymbols(modules.back(), *run.problem, *run.arenas[0], true);
  }
  constexpr int order[] = {0, 1, 1, 0};
  double total = 0;
  bool slow = runs.size() == 1;
  for (int step = 0; step < mostTimes; ++step) {
    const std::size_t which = runs.size() == 1 ? 0 : static_cast<std::size_t>(order[step % 4]);
    active = &runs[which];
    flush(scratch);
    const double seconds = launch(modules[which], runs[which], arguments[which], 0);
    report->times[which][report->counts[which]++] = seconds;
    total += seconds;
    slow = slow && seconds > giveUpSeconds;
    if (slow && step == 2)
      break;
    if (total >= minSeconds && step % 4 == 3)
      break;
    if (total >= 10 * minSeconds && step >= 2 && (runs.size() == 1 || step % 4 == 3))
      break;
  }
}

/// Collects the child's status; false when it has not ended in time. Polls where the kernel has no
/// pidfd_open.
bool waitForEnd(pid_t child, double seconds, int& status) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  bool ended = false;
  while (!ended) {
    const double left = std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
    pollfd waiting{handle, POLLIN, 0};
    poll(&waiting, handle >= 0 ? 1 : 0, left <= 0 ? 0 : handle >= 0 ? static_cast<int>(left * 1000) + 1 : 1);
    ended = waitpid(child, &status, WNOHANG) == child;
    if (left <= 0)
      break;
  }
  if (handle >= 0)
    close(handle);
  return ended;
}

void enterChild() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd)
    dup2(null, fd);
  installHandlers();
}

/// Forks, runs `body` and collects the report.
ChildResult inChild(const ChildRun& first, double deadline, const std::function<void()>& body,
                    Report& shared) {
  ChildResult result;
  shared.outcome = Outcome::Crash;
  const pid_t child = fork();
  if (child == 0) {
    report = &shared;
    active = &first;
    enterChild();
    body();
    finishChild(Outcome::Ok, "");
  }
  if (child < 0)
    return {Outcome::Crash, "cannot fork", 0, {}};
  int status = 0;
  if (!waitForEnd(child, deadline, status)) {
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return {Outcome::Timeout, fmt::format("no end after {:.1f} s", deadline), deadline, {}};
  }
  result.outcome = shared.outcome;
  result.detail = shared.detail;
  result.seconds = shared.seconds;
  if (WIFSIGNALED(status)) {
    result.outcome = Outcome::Crash;
    result.detail = strsignal(WTERMSIG(status));
  } else if (result.outcome == Outcome::Crash && result.detail.empty()) {
    result.detail = fmt::format("the kernel ended its process with exit code {}", WEXITSTATUS(status));
  }
  return result;
}

/// Shared memory for a report.
class SharedReport {
public:
  SharedReport()
      : memory(mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedReport() {
    if (memory != MAP_FAILED)
      munmap(memory, sizeof(Report));
  }
  Report* get() const { return memory == MAP_FAILED ? nullptr : static_cast<Report*>(memory); }

private:
  void* memory;
};

} // namespace

ChildResult runChild(const ChildRun& run) {
  const SharedReport shared;
  if (!shared.get())
    return {Outcome::Crash, "no memory for the child's report", 0, {}};
  return inChild(run, run.deadlineSeconds, [&] { verifyBody(run); }, *shared.get());
}

std::vector<ChildResult> timeChild(const std::vector<ChildRun>& runs, double minSeconds, double giveUpSeconds,
                                   std::size_t flushBytes) {
  const SharedReport shared;
  if (!shared.get())
    return std::vector<ChildResult>(runs.size(), {Outcome::Crash, "no memory for the child's report", 0, {}});
  const ChildResult all = inChild(
      runs[0], runs[0].deadlineSeconds, [&] { timeBody(runs, minSeconds, giveUpSeconds, flushBytes); },
      *shared.get());
  std::vector<ChildResult> results(runs.size(), all);
  for (std::size_t i = 0; i < runs.size(); ++i)
    results[i].times.assign(shared.get()->times[i], shared.get()->times[i] + shared.get()->counts[i]);
  return results;
}

} // namespace retile::backend
