// Threads that compile candidates ahead of the measuring loop. Not installed.
#pragma once

#include "Verify.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace retile::tuner {

/// The caller bounds the queue by how many futures it holds. The destructor drops what has not started.
class CompilePool {
public:
  /// 0 threads: one per core. The verifier says what a configuration is compiled for.
  CompilePool(const Verifier& verifier, int threads);
  ~CompilePool();

  std::future<Binaries> submit(Config config, Bindings sizes);
  int size() const { return static_cast<int>(workers.size()); }

private:
  void work();

  const Verifier& verifier;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::packaged_task<Binaries()>> queue;
  bool closing = false;
  std::vector<std::thread> workers;
};

} // namespace retile::tuner
