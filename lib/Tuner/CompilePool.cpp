#include "CompilePool.h"

#include <algorithm>

namespace retile::tuner {

CompilePool::CompilePool(Backend& backend, int threads) : backend(backend) {
  int wanted = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 0; i < std::clamp(wanted, 1, 256); ++i)
    workers.emplace_back([this] { work(); });
}

CompilePool::~CompilePool() {
  {
    std::lock_guard lock(mutex);
    closing = true;
    queue.clear();
  }
  wake.notify_all();
  for (std::thread& worker : workers)
    worker.join();
}

std::future<Compiled> CompilePool::submit(Candidate candidate) {
  std::packaged_task<Compiled()> task(
      [this, candidate = std::move(candidate)] { return backend.compile(candidate); });
  auto future = task.get_future();
  {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(task));
  }
  wake.notify_one();
  return future;
}

void CompilePool::work() {
  for (;;) {
    std::packaged_task<Compiled()> task;
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [this] { return closing || !queue.empty(); });
      if (queue.empty())
        return;
      task = std::move(queue.front());
      queue.pop_front();
    }
    task();
  }
}

} // namespace retile::tuner
