// The device as the measuring process sees it: one context, the tensors of one problem, the latest modules.
// Failures are thrown as DeviceFailure and caught where a request is answered; nothing of this is linked to
// by the parent's code paths.
#pragma once

#include "Driver.h"
#include "Requests.h"

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace retile::backend::cuda {

struct DeviceFailure {
  Verdict verdict;
  std::string detail;
  bool fatal; ///< the context is lost
};

/// One tensor in device memory: canary, contents, padding and canary.
struct Buffer {
  TensorSpec spec;
  Pointer allocation = 0, data = 0;
  std::uint64_t allocated = 0;
};

struct LoadedKernel {
  std::string key;
  Module module = nullptr;
  Function function = nullptr;
  std::vector<Pointer> symbols;            ///< 0 for arguments
  mutable std::uint32_t allowedShared = 0; ///< dynamic shared memory that it may have been given so far
};

class DeviceSession {
public:
  explicit DeviceSession(Driver driver, int ordinal);

  DeviceFacts facts() const;
  /// As "0000:17:00.0".
  std::string busId() const;
  void prepare(const PrepareRequest& request);
  const LoadedKernel& load(const RunSpec& run);

  /// Test data into inputs, poison of `run` into outputs, fresh canaries.
  void fill(const LoadedKernel& kernel, int run);
  /// Test data into tensors that are read and written.
  void restore(const LoadedKernel& kernel);
  /// Queues the kernel; bad launches throw LaunchError.
  void launch(const LoadedKernel& kernel, const RunSpec& run);
  /// Waits; anything wrong is a Crash and fatal.
  void synchronize();
  /// What a run may not have changed, then the outputs against `results` (null: not compared). Ok when
  /// nothing was found.
  Reply inspect(const LoadedKernel& kernel, int run, const VerifyRequest& request,
                const unsigned char* results);
  /// Of every tensor in turn; zeros for inputs.
  std::vector<Digest> digests(const LoadedKernel& kernel);
  /// Copies the outputs of `run` into a results file.
  void download(const LoadedKernel& kernel, int run, unsigned char* results);

  Pointer addressOf(const LoadedKernel& kernel, std::size_t tensor) const;
  Pointer allocate(std::uint64_t bytes);
  void release(Pointer memory) { driver.memoryFree(memory); }
  void check(Result result, Verdict verdict = Verdict::LaunchError) const;
  bool readsAndWrites() const;
  std::uint64_t tensorBytes() const;

  Driver driver;
  std::vector<Buffer> buffers;

private:
  struct Finding {
    std::uint64_t count = 0, first = ~std::uint64_t(0);
  };
  void freeBuffers();
  void loadHarness(const std::string& image);
  void run(Function function, std::uint64_t items, std::vector<void*> arguments);
  void generate(const LoadedKernel& kernel, std::size_t tensor);
  void poison(Pointer memory, std::uint64_t bytes, int run);
  Digest digest(const LoadedKernel& kernel, std::size_t tensor);
  void compare(const LoadedKernel& kernel, std::size_t tensor, int run, const VerifyRequest& request,
               const unsigned char* results, Pointer finding);
  void checkCanaries(std::size_t tensor, Pointer findings);
  std::vector<TensorSpec> specs() const;
  Reply finding(const LoadedKernel& kernel, int run, const std::vector<Finding>& findings,
                const unsigned char* results);

  Device device = 0;
  std::uint64_t seed = 0;
  std::string harnessImage;
  Module harness = nullptr;
  Function generateKernel = nullptr, checkKernel = nullptr, poisonKernel = nullptr, canaryKernel = nullptr,
           digestKernel = nullptr, compareKernel = nullptr;
  Pointer findingMemory = 0, scratch = 0;
  std::uint64_t scratchBytes = 0;
  std::deque<LoadedKernel> kernels; ///< latest first
};

} // namespace retile::backend::cuda
