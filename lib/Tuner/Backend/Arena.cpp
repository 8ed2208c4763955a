#include "Arena.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace retile::backend {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t alignment =
    16; ///< the widest access; cudaMalloc aligns to more, but a tight end finds more

std::uint64_t roundUp(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

bool allCanary(const unsigned char* begin, const unsigned char* end) {
  return std::all_of(begin, end, [](unsigned char byte) { return byte == canaryByte; });
}

} // namespace

Expected<std::unique_ptr<Arena>> Arena::create(const Problem& problem) {
  std::unique_ptr<Arena> arena(new Arena);
  std::uint64_t at = page;
  for (const TensorPlan& tensor : problem.tensors) {
    const std::uint64_t room = roundUp(tensor.bytes, alignment), pages = roundUp(room + canaryBytes, page);
    arena->slots.push_back({at, at + pages - room, tensor.bytes, at + pages});
    at += pages + page;
  }
  void* memory = mmap(nullptr, at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return Error{"no memory for the tensors at these sizes", std::strerror(errno), ExitCode::Environment};
  arena->base = static_cast<unsigned char*>(memory);
  arena->total = at;
  for (const Slot& slot : arena->slots) {
    std::memset(arena->base + slot.data - canaryBytes, canaryByte, canaryBytes);
    std::memset(arena->base + slot.data + slot.bytes, canaryByte, slot.end - slot.data - slot.bytes);
  }
  return arena;
}

Arena::~Arena() {
  if (base)
    munmap(base, total);
}

void Arena::protectGuards() const {
  mprotect(base, page, PROT_NONE);
  for (const Slot& slot : slots)
    mprotect(base + slot.end, page, PROT_NONE);
}

std::string Arena::damage(const Problem& problem) const {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    if (!allCanary(base + slot.data - canaryBytes, base + slot.data))
      return "writes before " + problem.tensors[i].name;
    if (!allCanary(base + slot.data + slot.bytes, base + slot.end))
      return "writes past the end of " + problem.tensors[i].name;
  }
  return "";
}

bool Arena::locate(const void* address, std::size_t& tensor, long long& beyond) const {
  const auto* at = static_cast<const unsigned char*>(address);
  if (at < base || at >= base + total)
    return false;
  const std::uint64_t offset = static_cast<std::uint64_t>(at - base);
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (offset < slots[i].end + page) {
      tensor = i;
      beyond = offset < slots[i].data
                   ? static_cast<long long>(offset) - static_cast<long long>(slots[i].data)
                   : static_cast<long long>(offset) - static_cast<long long>(slots[i].data + slots[i].bytes);
      return true;
    }
  return false;
}

} // namespace retile::backend
