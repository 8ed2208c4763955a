#include "CompilePool.h"

#include <algorithm>

namespace retile::tuner {

CompilePool::CompilePool(const Verifier& verifier, int threads) : verifier(verifier) {
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

std::future<Binaries> CompilePool::submit(Config config, Bindings sizes) {
  std::packaged_task<Binaries()> task([this, config = std::move(config), sizes = std::move(sizes)] {
    return verifier.compile(config, sizes);
  });
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
    std::packaged_task<Binaries()> task;
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
