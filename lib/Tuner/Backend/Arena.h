// The tensors of one run in memory that a child process shares with us: each ends at a page that the child
// unmaps, and has a canary in front.
#pragma once

#include "Problem.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace retile::backend {

class Arena {
public:
  /// Room for every tensor of the problem, canaries written, contents undefined. The error has
  /// ExitCode::Environment.
  static Expected<std::unique_ptr<Arena>> create(const Problem& problem);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  unsigned char* data(std::size_t tensor) const { return base + slots[tensor].data; }
  std::uint64_t size(std::size_t tensor) const { return slots[tensor].bytes; }
  /// In the child: an access past either end of a tensor's pages faults from here on.
  void protectGuards() const;
  /// "writes before C" when a canary has changed, else empty.
  std::string damage(const Problem& problem) const;
  /// "4 bytes past the end of C" when the address is in or beside a tensor's pages; false otherwise.
  /// Async-signal-safe.
  bool locate(const void* address, std::size_t& tensor, long long& beyond) const;

private:
  struct Slot {
    std::uint64_t begin, data, bytes,
        end; ///< offsets: first page, contents, their size, end of the last page
  };
  Arena() = default;
  unsigned char* base = nullptr;
  std::uint64_t total = 0;
  std::vector<Slot> slots;
};

} // namespace retile::backend
