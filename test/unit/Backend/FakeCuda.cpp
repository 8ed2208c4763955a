// A stand-in for libcuda on machines without a GPU: device memory is host memory, modules are plain text, and
// kernels do what their names say. It lets the worker, its protocol and the verification run for real; no
// arithmetic of a GPU is imitated.
#include "device/harness/Elements.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>

using retile::harness::Element;

namespace {

int pending = 0; ///< the error that the next synchronisation reports, for good
std::uint64_t clockNs = 0;

struct Finding {
  std::uint64_t count, first;
};

void found(Finding* finding, std::uint64_t index) {
  ++finding->count;
  if (index < finding->first)
    finding->first = index;
}

template <class T> T argument(void** arguments, int i) { return *static_cast<T*>(arguments[i]); }

void generate(void** a) {
  const auto e = static_cast<Element>(argument<int>(a, 1));
  for (std::uint64_t i = 0; i < argument<std::uint64_t>(a, 2); ++i)
    retile::harness::storeBits(
        e, argument<void*>(a, 0), i,
        retile::harness::testData(e, argument<std::uint64_t>(a, 3), argument<std::uint64_t>(a, 4), i,
                                  argument<std::uint64_t>(a, 2), argument<long long>(a, 5)));
}

void checkData(void** a) {
  const auto e = static_cast<Element>(argument<int>(a, 1));
  for (std::uint64_t i = 0; i < argument<std::uint64_t>(a, 2); ++i) {
    std::uint64_t expected[1] = {0};
    retile::harness::storeBits(
        e, expected, 0,
        retile::harness::testData(e, argument<std::uint64_t>(a, 3), argument<std::uint64_t>(a, 4), i,
                                  argument<std::uint64_t>(a, 2), argument<long long>(a, 5)));
    if (retile::harness::loadBits(e, argument<void*>(a, 0), i) != expected[0])
      found(argument<Finding*>(a, 6), i);
  }
}

void poison(void** a) {
  auto* memory = argument<unsigned char*>(a, 0);
  const std::uint16_t unit = retile::harness::poison(argument<int>(a, 2));
  for (std::uint64_t i = 0; i < argument<std::uint64_t>(a, 1); ++i)
    memory[i] = static_cast<unsigned char>(i % 2 == 0 ? unit : unit >> 8);
}

void canary(void** a) {
  for (std::uint64_t i = 0; i < argument<std::uint64_t>(a, 1); ++i)
    if (argument<unsigned char*>(a, 0)[i] != argument<int>(a, 2))
      found(argument<Finding*>(a, 3), i);
}

void digest(void** a) {
  const auto e = static_cast<Element>(argument<int>(a, 1));
  const auto key = argument<std::uint64_t>(a, 3);
  for (std::uint64_t i = 0; i < argument<std::uint64_t>(a, 2); ++i)
    for (int word = 0; word < 2; ++word)
      argument<std::uint64_t*>(a, 4)[word] += retile::harness::digestTerm(
          retile::harness::loadBits(e, argument<void*>(a, 0), i), i, word == 0 ? key : ~key);
}

void compare(void** a) {
  const auto e = static_cast<Element>(argument<int>(a, 2));
  const int run = argument<int>(a, 6);
  for (std::uint64_t i = 0; i < argument<std::uint64_t>(a, 3); ++i) {
    const auto x = retile::harness::loadBits(e, argument<void*>(a, 0), i),
               y = retile::harness::loadBits(e, argument<void*>(a, 1), i);
    if (x == y)
      continue;
    const bool untouched = run >= 0 && y == retile::harness::poisonBits(e, i, run);
    if (argument<double>(a, 4) > 0 && !untouched && retile::harness::isFloat(e) &&
        retile::harness::isClose(e, retile::harness::decodeFloat(e, x), retile::harness::decodeFloat(e, y),
                                 argument<double>(a, 4), argument<double>(a, 5)))
      continue;
    found(argument<Finding*>(a, 7), i);
  }
}

/// (const float* in, float* out, int n): out = 2 in, then what the name adds.
void kernel(const std::string& name, void** a) {
  const auto* in = argument<const float*>(a, 0);
  auto* out = argument<float*>(a, 1);
  const int n = argument<int>(a, 2);
  for (int i = 0; i < n; ++i)
    out[i] = in[i] * 2;
  clockNs += name == "slow" ? 2000000 : 1000000;
  if (name == "wrong")
    out[5] += 1;
  if (name == "rounded")
    out[5] *= 1 + 1e-6f;
  if (name == "forgets")
    std::memset(out + 7, 0, 0), out[7] = retile::harness::decodeFloat(Element::F32, 0x7ffd7ffd);
  if (name == "overruns")
    out[n] = 1;
  if (name == "underruns")
    out[-1] = 1;
  if (name == "input")
    const_cast<float*>(in)[3] = 9;
  if (name == "dies")
    raise(SIGKILL);
  if (name == "hangs")
    std::this_thread::sleep_for(std::chrono::hours(1));
  if (name == "faults")
    pending = 700;
}

std::map<void*, std::string>& functions() {
  static std::map<void*, std::string> names;
  return names;
}

} // namespace

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int) { return *device = 0, 0; }
int cuDeviceGetName(char* name, int size, int) {
  return std::strncpy(name, "fake device", static_cast<std::size_t>(size)), 0;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  const std::map<int, int> values{{1, 1024}, {8, 49152}, {16, 4},     {38, 1 << 20},
                                  {75, 9},   {76, 0},    {97, 232448}};
  return *value = values.at(which), 0;
}
int cuDeviceGetPCIBusId(char* id, int, int) { return std::strcpy(id, "0000:00:00.0"), 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = nullptr, 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return pending; }
int cuModuleLoadData(void** module, const void* image) {
  return *module = const_cast<void*>(image), image ? 0 : 200;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** function, void*, const char* name) {
  *function = std::malloc(1);
  functions()[*function] = name;
  return std::string(name) == "missing" ? 500 : 0;
}
int cuModuleGetGlobal_v2(std::uint64_t*, std::size_t*, void*, const char*) { return 500; }
int cuFuncGetAttribute(int* value, int, void*) { return *value = 0, 0; }
int cuFuncSetAttribute(void*, int, int value) { return value > 232448 ? 1 : 0; }
int cuMemAlloc_v2(std::uint64_t* memory, std::size_t bytes) {
  if (bytes > (std::size_t(1) << 32))
    return 2;
  *memory = reinterpret_cast<std::uint64_t>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return 0;
}
int cuMemFree_v2(std::uint64_t memory) { return std::free(reinterpret_cast<void*>(memory)), 0; }
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), pending;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), pending;
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void*) {
  clockNs += 100000;
  return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), 0;
}
int cuMemsetD8Async(std::uint64_t memory, unsigned char value, std::size_t bytes, void*) {
  return std::memset(reinterpret_cast<void*>(memory), value, bytes), 0;
}
int cuEventCreate(void** event, unsigned) { return *event = std::calloc(1, 8), 0; }
int cuEventDestroy_v2(void* event) { return std::free(event), 0; }
int cuEventRecord(void* event, void*) { return *static_cast<std::uint64_t*>(event) = clockNs, 0; }
int cuEventSynchronize(void*) { return pending; }
int cuEventElapsedTime(float* ms, void* a, void* b) {
  *ms = static_cast<float>(*static_cast<std::uint64_t*>(b) - *static_cast<std::uint64_t*>(a)) / 1e6f;
  return 0;
}
int cuGetErrorName(int, const char** name) { return *name = "CUDA_ERROR_FAKE", 0; }
int cuGetErrorString(int, const char** text) { return *text = "what the fake was asked for", 0; }
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned x, unsigned, unsigned, unsigned,
                   void*, void** a, void**) {
  if (pending != 0)
    return pending;
  const std::string& name = functions()[function];
  if (name == "retile_generate")
    generate(a);
  else if (name == "retile_check")
    checkData(a);
  else if (name == "retile_poison")
    poison(a);
  else if (name == "retile_canary")
    canary(a);
  else if (name == "retile_digest")
    digest(a);
  else if (name == "retile_compare")
    compare(a);
  else if (x > 512)
    return 1;
  else
    kernel(name, a);
  return 0;
}
}
