#include "Fibers.h"

#include "device/harness/Elements.h"

#include <algorithm>
#include <atomic>
#include <boost/context/fiber.hpp>
#include <cstdio>
#include <cstring>
#include <deque>
#include <link.h>
#include <memory>
#include <new>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace retile::backend {

namespace {

namespace context = boost::context;

constexpr std::size_t stackBytes = 256 << 10, guardBytes = 4096;
constexpr std::uint64_t exchangePoison = 0x7ffd7ffd7ffd7ffdull;

FaultHandler faultHandler = nullptr;

[[noreturn]] void fault(const std::string& message) {
  faultHandler(message.c_str());
  std::abort();
}

/// Stacks with an unmapped page below; pages that a kernel does not touch cost nothing.
struct GuardedStack {
  context::stack_context allocate() {
    void* base = mmap(nullptr, stackBytes + guardBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED)
      throw std::bad_alloc();
    mprotect(base, guardBytes, PROT_NONE);
    context::stack_context stack;
    stack.size = stackBytes;
    stack.sp = static_cast<char*>(base) + guardBytes + stackBytes;
    return stack;
  }
  void deallocate(context::stack_context& stack) {
    munmap(static_cast<char*>(stack.sp) - stackBytes - guardBytes, stackBytes + guardBytes);
  }
};

struct Fiber {
  context::fiber resumePoint; ///< the fiber while the scheduler runs, the scheduler while the fiber runs
  bool started = false;
};

struct AsyncCopy {
  void* dst;
  const void* src;
  unsigned bytes;
};

/// One CUDA thread.
struct Lane : simt::Thread {
  Fiber* fiber = nullptr;
  bool done = false;
  const char* what = nullptr; ///< the barrier or exchange that it waits at
  int line = 0;
  int predicate = 0, barrierResult = 0;
  std::uint64_t value = 0, result = 0;
  int source = -1;
  unsigned long long* all = nullptr;
  std::deque<std::vector<AsyncCopy>> groups; ///< asynchronous copies not yet made; the last is still open
};

/// Lanes of one mask that meet in an exchange; free while nobody has arrived.
struct Meeting {
  unsigned mask = 0, arrived = 0;
  const char* what = nullptr;
  int line = 0;
};

std::string place(const simt::Thread& thread) {
  char text[128];
  std::snprintf(text, sizeof text, "thread (%u,%u,%u) of block (%u,%u,%u)", thread.threadIdx.x,
                thread.threadIdx.y, thread.threadIdx.z, thread.blockIdx.x, thread.blockIdx.y,
                thread.blockIdx.z);
  return text;
}

std::string call(const char* what, int line) {
  return std::string(what) + " (line " + std::to_string(line) + ")";
}

thread_local simt::Thread* currentThread = nullptr;

/// The thread-local segment of the kernel's module on this OS thread: its __shared__ variables.
struct SharedSegment {
  unsigned char* begin = nullptr;
  std::size_t size = 0;
};

SharedSegment findSegment(void* variable) {
  struct Search {
    unsigned char* address;
    SharedSegment found;
  } search{static_cast<unsigned char*>(variable), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        auto* base = static_cast<unsigned char*>(info->dlpi_tls_data);
        if (!base)
          return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_TLS && s.address >= base &&
              s.address < base + info->dlpi_phdr[i].p_memsz)
            s.found = {base, info->dlpi_phdr[i].p_memsz};
        return s.found.begin != nullptr ? 1 : 0;
      },
      &search);
  return search.found;
}

/// Runs blocks one after the other on one OS thread.
class BlockRunner {
public:
  explicit BlockRunner(const GridRun& run)
      : run(run), self(run.self()), segment(findSegment(self)), shared(run.shared + 16, 0),
        lanes(run.block[0] * run.block[1] * run.block[2]), meetings((lanes.size() + 31) / 32) {}

  void runBlock(std::uint64_t block) {
    prepare(block);
    for (;;) {
      if (!ready.empty()) {
        Lane* lane = ready.front();
        ready.pop_front();
        enter(*lane->fiber, lane);
      } else if (next < lanes.size()) {
        enter(*idleFiber(), nullptr);
      } else {
        break;
      }
    }
    if (finished != lanes.size())
      reportStuck();
    currentThread = nullptr;
  }

  int barrier(Lane& lane, simt::Combine combine, int predicate, const char* what, int line) {
    if (atBarrier > 0 && (line != barrierLine || std::strcmp(what, barrierWhat) != 0))
      fault("barrier divergence in block of " + place(lane) + ": some threads wait at " +
            call(barrierWhat, barrierLine) + ", others at " + call(what, line));
    if (finished > 0)
      reportExited(what, line);
    barrierWhat = what, barrierLine = line;
    lane.what = what, lane.line = line, lane.predicate = predicate != 0;
    if (++atBarrier < lanes.size()) {
      wait(lane);
      return lane.barrierResult;
    }
    release(combine);
    lane.what = nullptr;
    return lane.barrierResult;
  }

  std::uint64_t exchange(Lane& lane, unsigned mask, std::uint64_t value, int source, unsigned long long* all,
                         const char* what, int line) {
    const unsigned index = lane.linear % 32, warp = lane.linear / 32 * 32;
    const std::size_t present = std::min<std::size_t>(32, lanes.size() - warp);
    if (present < 32)
      mask &= (1u << present) - 1;
    if ((mask >> index & 1) == 0)
      fault(place(lane) + " is not in its own mask at " + call(what, line));
    Meeting& meeting = meetingOf(warp / 32, mask);
    join(meeting, lane, mask, what, line);
    lane.what = what, lane.line = line, lane.value = value, lane.source = source, lane.all = all;
    meeting.arrived |= 1u << index;
    if (meeting.arrived != mask) {
      for (unsigned i = 0; i < present; ++i)
        if ((mask >> i & 1) && lanes[warp + i].done)
          fault("warp divergence: " + place(lanes[warp + i]) + " has exited but is named by the mask of " +
                call(what, line));
      wait(lane);
      return lane.result;
    }
    complete(meeting, warp, lane);
    lane.what = nullptr;
    return lane.result;
  }

private:
  void prepare(std::uint64_t block) {
    if (run.run % 2 != 0)
      block = blocks() - 1 - block;
    const simt::Index index{static_cast<unsigned>(block % run.grid[0]),
                            static_cast<unsigned>(block / run.grid[0] % run.grid[1]),
                            static_cast<unsigned>(block / run.grid[0] / run.grid[1])};
    auto* base =
        reinterpret_cast<unsigned char*>((reinterpret_cast<std::uintptr_t>(shared.data()) + 15) / 16 * 16);
    poison(base, run.shared);
    if (segment.begin)
      poison(segment.begin, segment.size);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      Lane& lane = lanes[i];
      lane.threadIdx = {static_cast<unsigned>(i % run.block[0]),
                        static_cast<unsigned>(i / run.block[0] % run.block[1]),
                        static_cast<unsigned>(i / run.block[0] / run.block[1])};
      lane.blockIdx = index;
      lane.blockDim = {run.block[0], run.block[1], run.block[2]};
      lane.gridDim = {run.grid[0], run.grid[1], run.grid[2]};
      lane.linear = static_cast<unsigned>(i);
      lane.shared = base;
      lane.sharedBytes = run.shared;
      lane.done = false;
      lane.what = nullptr;
      lane.groups.clear();
    }
    next = finished = atBarrier = 0;
  }

  std::uint64_t blocks() const { return std::uint64_t(run.grid[0]) * run.grid[1] * run.grid[2]; }

  void poison(unsigned char* memory, std::size_t bytes) const {
    std::fill_n(reinterpret_cast<std::uint16_t*>(memory), bytes / 2, harness::sharedPoison(run.run));
  }

  Fiber* idleFiber() {
    if (idle.empty()) {
      fibers.push_back(std::make_unique<Fiber>());
      idle.push_back(fibers.back().get());
    }
    Fiber* fiber = idle.back();
    idle.pop_back();
    if (!fiber->started) {
      fiber->started = true;
      fiber->resumePoint =
          context::fiber(std::allocator_arg, GuardedStack(), [this, fiber](context::fiber&& scheduler) {
            return body(*fiber, std::move(scheduler));
          });
    }
    return fiber;
  }

  /// Runs threads until none is left to start, again for every block.
  context::fiber body(Fiber& fiber, context::fiber&& scheduler) {
    fiber.resumePoint = std::move(scheduler);
    for (;;) {
      while (next < lanes.size()) {
        const std::size_t i = next++;
        Lane& lane = lanes[run.run % 2 == 0 ? i : lanes.size() - 1 - i];
        lane.fiber = &fiber;
        become(&lane);
        run.entry(run.arguments);
        lane.done = true;
        ++finished;
        if (atBarrier > 0)
          reportExited(barrierWhat, barrierLine);
      }
      idle.push_back(&fiber);
      leave(fiber);
    }
  }

  void become(Lane* lane) {
    *self = lane;
    currentThread = lane;
  }
  void enter(Fiber& fiber, Lane* lane) {
    if (lane)
      become(lane);
    fiber.resumePoint = std::move(fiber.resumePoint).resume();
  }
  void leave(Fiber& fiber) { fiber.resumePoint = std::move(fiber.resumePoint).resume(); }
  void wait(Lane& lane) {
    leave(*lane.fiber);
    lane.what = nullptr;
  }

  void release(simt::Combine combine) {
    int count = 0;
    for (const Lane& lane : lanes)
      count += lane.predicate;
    const int total = static_cast<int>(lanes.size());
    const int result = combine == simt::Combine::Count ? count
                       : combine == simt::Combine::And ? count == total
                       : combine == simt::Combine::Or  ? count > 0
                                                       : 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      Lane& lane = lanes[run.run % 2 == 0 ? i : lanes.size() - 1 - i];
      lane.barrierResult = result;
      if (&lane != currentThread)
        ready.push_back(&lane);
    }
    atBarrier = 0;
  }

  /// The meeting of this mask that has begun, or a free one.
  Meeting& meetingOf(unsigned warp, unsigned mask) {
    std::deque<Meeting>& all = meetings[warp];
    Meeting* free = nullptr;
    for (Meeting& meeting : all) {
      if (meeting.arrived != 0 && meeting.mask == mask)
        return meeting;
      if (meeting.arrived == 0)
        free = &meeting;
    }
    return free ? *free : all.emplace_back();
  }

  void join(Meeting& meeting, const Lane& lane, unsigned mask, const char* what, int line) const {
    if (meeting.arrived == 0)
      meeting.mask = mask, meeting.what = what, meeting.line = line;
    if (meeting.line != line || std::strcmp(meeting.what, what) != 0)
      fault("warp divergence: some lanes of the warp of " + place(lane) + " wait at " +
            call(meeting.what, meeting.line) + ", others at " + call(what, line));
  }

  void complete(Meeting& meeting, unsigned warp, const Lane& last) {
    std::uint64_t votes = 0;
    for (unsigned i = 0; i < 32; ++i)
      if ((meeting.mask >> i & 1) && lanes[warp + i].value != 0)
        votes |= std::uint64_t(1) << i;
    for (unsigned i = 0; i < 32; ++i) {
      if ((meeting.mask >> i & 1) == 0)
        continue;
      Lane& lane = lanes[warp + i];
      const unsigned source = static_cast<unsigned>(lane.source);
      lane.result = lane.source < 0                               ? votes
                    : source < 32 && (meeting.mask >> source & 1) ? lanes[warp + source].value
                                                                  : exchangePoison;
      if (lane.all)
        for (unsigned j = 0; j < 32; ++j)
          lane.all[j] = meeting.mask >> j & 1 ? lanes[warp + j].value : 0;
      if (&lane != &last)
        ready.push_back(&lane);
    }
    meeting.arrived = 0;
  }

  [[noreturn]] void reportExited(const char* what, int line) const {
    const Lane* exited = nullptr;
    std::size_t count = 0;
    for (const Lane& lane : lanes)
      if (lane.done)
        exited = &lane, ++count;
    fault("barrier divergence: a thread waits at " + call(what, line) + ", but " + std::to_string(count) +
          " of " + std::to_string(lanes.size()) + " have exited, " + place(*exited) + " among them");
  }

  [[noreturn]] void reportStuck() const {
    for (const Lane& lane : lanes)
      if (!lane.done)
        fault("deadlock: " + place(lane) + " waits at " + call(lane.what ? lane.what : "?", lane.line) +
              " for threads that never come; " + std::to_string(finished) + " of " +
              std::to_string(lanes.size()) + " have exited");
    std::abort();
  }

  const GridRun& run;
  simt::Thread** const self;
  const SharedSegment segment;
  std::vector<unsigned char> shared;
  std::vector<Lane> lanes;
  std::vector<std::deque<Meeting>> meetings; ///< per warp
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;
  std::deque<Lane*> ready;
  std::size_t next = 0, finished = 0, atBarrier = 0;
  const char* barrierWhat = "";
  int barrierLine = 0;
};

thread_local BlockRunner* currentRunner = nullptr;

Lane& laneOf(simt::Thread* thread) { return *static_cast<Lane*>(thread); }

void startCopy(simt::Thread* thread, void* dst, const void* src, unsigned bytes) {
  Lane& lane = laneOf(thread);
  if (lane.groups.empty())
    lane.groups.emplace_back();
  lane.groups.back().push_back({dst, src, bytes});
}
void commitCopies(simt::Thread* thread) {
  Lane& lane = laneOf(thread);
  if (lane.groups.empty())
    lane.groups.emplace_back();
  lane.groups.emplace_back();
}
/// Makes the copies of all closed groups but the latest `open` ones.
void waitCopies(simt::Thread* thread, unsigned open) {
  Lane& lane = laneOf(thread);
  while (lane.groups.size() > std::size_t(open) + 1) {
    for (const AsyncCopy& copy : lane.groups.front())
      std::memcpy(copy.dst, copy.src, copy.bytes);
    lane.groups.pop_front();
  }
}

} // namespace

const simt::Services& fiberServices() {
  static const simt::Services services{
      [](simt::Thread* thread, simt::Combine combine, int predicate, const char* what, int line) {
        return currentRunner->barrier(laneOf(thread), combine, predicate, what, line);
      },
      [](simt::Thread* thread, unsigned mask, unsigned long long value, int source, unsigned long long* all,
         const char* what, int line) -> unsigned long long {
        return currentRunner->exchange(laneOf(thread), mask, value, source, all, what, line);
      },
      startCopy,
      commitCopies,
      waitCopies,
      [](simt::Thread* thread, const char* what) { fault(std::string(what) + " in " + place(*thread)); }};
  return services;
}

void runGrid(const GridRun& run, FaultHandler onFault) {
  faultHandler = onFault;
  const std::uint64_t blocks = std::uint64_t(run.grid[0]) * run.grid[1] * run.grid[2];
  std::atomic<std::uint64_t> nextBlock{0};
  const auto work = [&] {
    BlockRunner runner(run);
    currentRunner = &runner;
    for (std::uint64_t block; (block = nextBlock.fetch_add(1)) < blocks;)
      runner.runBlock(block);
    currentRunner = nullptr;
  };
  std::vector<std::thread> others;
  const std::uint64_t count =
      std::min<std::uint64_t>(blocks, static_cast<std::uint64_t>(std::max(run.osThreads, 1)));
  for (std::uint64_t i = 1; i < count; ++i)
    others.emplace_back(work);
  work();
  for (std::thread& thread : others)
    thread.join();
}

void describeCurrentThread(char* text, std::size_t size) {
  std::snprintf(text, size, "%s",
                currentThread ? place(*currentThread).c_str() : "code outside of the kernel");
}

} // namespace retile::backend
