// Runs a kernel on the host, thread by thread, and watches every access: the independent judge of retile-fuzz. It knows nothing
// of Retile. What it reports of a launch, one JSON object a line: the first race, and the elements touched of each array.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <ucontext.h>
#include <unordered_map>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __constant__

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = 32;

namespace trace {

struct Entry {
  long long block, thread, phase;
  bool write;
  bool operator==(const Entry& o) const { return block == o.block && thread == o.thread && phase == o.phase && write == o.write; }
};
static Entry self;
static bool outside, shuffled;
static std::string race;

static bool conflicts(const Entry& a, const Entry& b) {
  if (!a.write && !b.write) return false;
  if (a.block != b.block) return true;
  return a.thread != b.thread && a.phase == b.phase;
}

struct Log {
  std::string name;
  std::unordered_map<long long, std::vector<Entry>> cells;
  long long low = INT64_MAX, high = INT64_MIN;
  bool shared = false;

  void note(long long at, bool write) {
    low = std::min(low, at);
    high = std::max(high, at);
    auto& cell = cells[at];
    Entry now = self;
    now.write = write;
    if (shared) now.block = 0;
    if (!cell.empty() && cell.back() == now) return;
    if (race.empty())
      for (const Entry& e : cell)
        if (conflicts(e, now)) {
          race = name + "[" + std::to_string(at) + "]";
          break;
        }
    // Enough readers of one phase to meet any later writer.
    if (cell.size() < 4096) cell.push_back(now);
  }
};
static std::vector<Log*> logs;

template <class T> struct Store {
  Log log;
  std::unordered_map<long long, T> values;
  T initial(long long at) const {
    std::uint64_t h = (std::uint64_t(at) + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 31;
    if constexpr (std::is_floating_point_v<T>) return T(double(h % 2001) / 1000 - 1);
    else return T(static_cast<long long>(h % 201) - 100);
  }
  T& at(long long index) {
    auto found = values.find(index);
    if (found == values.end()) found = values.emplace(index, initial(index)).first;
    return found->second;
  }
};

} // namespace trace

template <class T> struct Traced;
template <class T> struct Ref {
  trace::Store<T>* store;
  long long index;
  T get() const { store->log.note(index, false); return store->at(index); }
  const Ref& set(T value) const { store->log.note(index, true); store->at(index) = value; return *this; }
  operator T() const { return get(); }
  const Ref& operator=(T value) const { return set(value); }
  const Ref& operator=(const Ref& other) const { return set(other.get()); }
  Ref(trace::Store<T>* s, long long i) : store(s), index(i) {}
  Ref(const Ref&) = default;
#define RETILE_UPDATE(op) template <class U> const Ref& operator op##=(U value) const { T v = get(); v op##= value; return set(v); }
  RETILE_UPDATE(+) RETILE_UPDATE(-) RETILE_UPDATE(*) RETILE_UPDATE(/) RETILE_UPDATE(|) RETILE_UPDATE(&) RETILE_UPDATE(^)
#undef RETILE_UPDATE
  const Ref& operator++() const { return *this += 1; }
  T operator++(int) const { T v = get(); set(T(v + 1)); return v; }
  Traced<T> operator&() const;
};
template <class T> struct Traced {
  trace::Store<T>* store = nullptr;
  long long base = 0;
  template <class I> Ref<T> operator[](I i) const { return {store, static_cast<long long>(std::uint64_t(base) + std::uint64_t(i))}; }
  Ref<T> operator*() const { return {store, base}; }
  template <class I> Traced operator+(I i) const { return {store, static_cast<long long>(std::uint64_t(base) + std::uint64_t(i))}; }
  template <class I> Traced operator-(I i) const { return {store, static_cast<long long>(std::uint64_t(base) - std::uint64_t(i))}; }
  template <class I> Traced& operator+=(I i) { return *this = *this + i; }
  template <class I> Traced& operator-=(I i) { return *this = *this - i; }
  Traced& operator++() { return *this += 1; }
  Traced operator++(int) { Traced old = *this; *this += 1; return old; }
  Traced& operator--() { return *this -= 1; }
};
template <class T> Traced<T> Ref<T>::operator&() const { return {store, index}; }

/// Shared arrays start a block empty of history; an index outside their extent is a fault of the kernel.
namespace trace { static std::vector<Log*> sharedLogs; }
template <class T, int ROWS, int COLUMNS> struct SharedArray {
  trace::Store<T> store;
  explicit SharedArray(const char* name) {
    store.log.name = name;
    store.log.shared = true;
    trace::sharedLogs.push_back(&store.log);
  }
  struct Row {
    SharedArray* array;
    long long row;
    Ref<T> operator[](long long c) const {
      if (c < 0 || c >= COLUMNS) trace::outside = true;
      return {&array->store, row * COLUMNS + c};
    }
  };
  Row row(long long r) { if (r < 0 || r >= ROWS) trace::outside = true; return {this, r}; }
};
template <class T, int N> struct SharedVector : SharedArray<T, 1, N> {
  using SharedArray<T, 1, N>::SharedArray;
  Ref<T> operator[](long long c) { return this->row(0)[c]; }
};
template <class T, int R, int C> struct SharedMatrix : SharedArray<T, R, C> {
  using SharedArray<T, R, C>::SharedArray;
  typename SharedArray<T, R, C>::Row operator[](long long r) { return this->row(r); }
};

#define PTR(T) Traced<T>
#define CPTR(T) Traced<T>
#define SHARED1(T, s, N) static SharedVector<T, N> s(#s)
#define SHARED2(T, s, R, C) static SharedMatrix<T, R, C> s(#s)

namespace trace {

static ucontext_t scheduler;
static bool hasBarriers;
struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  bool done = false;
};
static Fiber* current;
static const std::function<void()>* running;
static std::map<long long, std::function<unsigned long long()>> unused;

static void enter() {
  (*running)();
  current->done = true;
  swapcontext(&current->context, &scheduler);
}

static void place(const dim3& block, long long thread) {
  self.thread = thread;
  threadIdx = {unsigned(thread % block.x), unsigned(thread / block.x % block.y), unsigned(thread / block.x / block.y)};
}

static void runBlock(const dim3& block, const std::function<void()>& kernel) {
  long long threads = 1LL * block.x * block.y * block.z;
  self.phase = 0;
  for (Log* log : sharedLogs) log->cells.clear();
  if (!hasBarriers) {
    for (long long t = 0; t < threads; ++t) { place(block, t); kernel(); }
    return;
  }
  static std::vector<Fiber> fibers(1024);
  running = &kernel;
  for (long long t = 0; t < threads; ++t) {
    Fiber& f = fibers[t];
    f.stack.resize(1 << 16);
    f.done = false;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.data();
    f.context.uc_stack.ss_size = f.stack.size();
    f.context.uc_link = nullptr;
    makecontext(&f.context, enter, 0);
  }
  for (bool any = true; any; ++self.phase) {
    any = false;
    for (long long t = 0; t < threads; ++t) {
      if (fibers[t].done) continue;
      place(block, t);
      current = &fibers[t];
      swapcontext(&scheduler, &fibers[t].context);
      any = any || !fibers[t].done;
    }
  }
}

static void launch(const dim3& grid, const dim3& block, bool barriers, const std::function<void()>& kernel) {
  gridDim = grid;
  blockDim = block;
  hasBarriers = barriers;
  self = {};
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        runBlock(block, kernel);
        ++self.block;
      }
}

template <class T> Traced<T> tensor(const char* name) {
  auto* store = new Store<T>;
  store->log.name = name;
  logs.push_back(&store->log);
  return {store, 0};
}

static void begin() { logs.clear(); race.clear(); outside = false; }
static void report(const char* kernel, int choice) {
  std::printf("{\"kernel\": \"%s\", \"sizes\": %d, \"race\": \"%s\", \"outside\": %d, \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"touched\": {",
              kernel, choice, race.c_str(), int(outside), gridDim.x, gridDim.y, gridDim.z, blockDim.x, blockDim.y, blockDim.z);
  bool first = true;
  for (Log* log : logs) {
    if (log->cells.empty()) continue;
    std::printf("%s\"%s\": [%lld, %lld]", first ? "" : ", ", log->name.c_str(), log->low, log->high);
    first = false;
  }
  std::printf("}}\n");
}

} // namespace trace

#define TRACE_LAUNCH(kernel, grid, block, barriers, args) \
  trace::launch(dim3 grid, dim3 block, barriers, [&] { kernel args; })
inline void __syncthreads() { swapcontext(&trace::current->context, &trace::scheduler); }

using __half = float;
inline float __half2float(float x) { return x; }
inline float __float2half(float x) { return x; }
#define RETILE_EXTREMA(T) inline T min(T a, T b) { return b < a ? b : a; } inline T max(T a, T b) { return a < b ? b : a; }
RETILE_EXTREMA(int) RETILE_EXTREMA(unsigned) RETILE_EXTREMA(long long) RETILE_EXTREMA(unsigned long long) RETILE_EXTREMA(long)
RETILE_EXTREMA(unsigned long) RETILE_EXTREMA(float) RETILE_EXTREMA(double)
