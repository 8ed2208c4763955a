// Threads that compile candidates ahead of the measuring loop. Not installed.
#pragma once

#include "retile/Tuner/Backend.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace retile::tuner {

/// The caller bounds the queue by how many futures it holds. The destructor drops what has not started.
class CompilePool {
public:
  /// 0 threads: one per core.
  CompilePool(Backend& backend, int threads);
  ~CompilePool();

  std::future<Compiled> submit(Candidate candidate);
  int size() const { return static_cast<int>(workers.size()); }

private:
  void work();

  Backend& backend;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::packaged_task<Compiled()>> queue;
  bool closing = false;
  std::vector<std::thread> workers;
};

} // namespace retile::tuner
