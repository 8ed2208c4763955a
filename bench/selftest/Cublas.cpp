#include "Cublas.h"

#include "lib/Tuner/Backend/DeviceSession.h"
#include "lib/Tuner/Backend/Stopwatch.h"
#include "lib/Tuner/Backend/Toolkit.h"

#include <algorithm>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace retile::selftest {

using namespace retile::backend;

namespace {

/// The prototypes are the public ones of cublas_v2.h.
using Create = int (*)(void**);
using Sgemm = int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                      const float*, float*, int);

std::optional<double> run(int ordinal, int n) {
  Expected<cuda::Driver> driver = cuda::Driver::open();
  if (!driver)
    return std::nullopt;
  cuda::DeviceSession session(*driver, ordinal);
  Expected<void*> library = openCudaLibrary(
      {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"}, "the CUDA toolkit");
  if (!library)
    return std::nullopt;
  const auto create = reinterpret_cast<Create>(dlsym(*library, "cublasCreate_v2"));
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(*library, "cublasSgemm_v2"));
  void* handle = nullptr;
  if (!create || !sgemm || create(&handle) != 0)
    return std::nullopt;
  float* matrices[3];
  for (float*& matrix : matrices) {
    const std::uint64_t bytes = std::uint64_t(n) * std::uint64_t(n) * 4;
    matrix = reinterpret_cast<float*>(session.allocate(bytes));
    session.check(session.driver.fillBytes(reinterpret_cast<cuda::Pointer>(matrix), 0x3c, bytes, nullptr));
  }
  const float one = 1, half = 0.5f;
  std::vector<double> times;
  cuda::Stopwatch watch(session);
  for (int i = 0; i < 13; ++i) {
    watch.start();
    if (sgemm(handle, 0, 0, n, n, n, &one, matrices[0], n, matrices[1], n, &half, matrices[2], n) != 0)
      return std::nullopt;
    const double ms = watch.stopMs();
    if (i >= 3)
      times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

} // namespace

std::optional<double> cublasMilliseconds(int ordinal, int n) {
  int ends[2];
  if (pipe(ends) != 0)
    return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    double ms = 0;
    try {
      ms = run(ordinal, n).value_or(0);
    } catch (const cuda::DeviceFailure&) {
    }
    _exit(write(ends[1], &ms, sizeof ms) == sizeof ms ? 0 : 1);
  }
  close(ends[1]);
  double ms = 0;
  const bool got = read(ends[0], &ms, sizeof ms) == sizeof ms;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return got && ms > 0 ? std::optional<double>(ms) : std::nullopt;
}

} // namespace retile::selftest
