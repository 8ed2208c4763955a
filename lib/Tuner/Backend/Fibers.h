// Runs a kernel's grid on the CPU: blocks spread over OS threads, the threads of a block as fibers that only
// give way at barriers and warp exchanges. A kernel without either needs one fiber.
#pragma once

#include "device/simt/Runtime.h"

#include <array>
#include <cstdint>

namespace retile::backend {

struct GridRun {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::uint32_t shared = 0;              ///< bytes of dynamic shared memory
  void (*entry)(void* const*) = nullptr; ///< the module's retile_entry
  simt::Thread** (*self)() = nullptr;    ///< the module's retile_simt_self
  void* const* arguments = nullptr;
  int run = 0; ///< odd runs visit blocks and threads in descending order; also selects the poison
  int osThreads = 1;
};

/// Ends the process: called with what went wrong in the kernel (divergence, a trap), named by block and
/// thread.
using FaultHandler = void (*)(const char* message);

/// The table for the module's retile_simt_attach.
const simt::Services& fiberServices();

/// Runs every block to its end. Shared memory is poisoned before each block. What goes wrong goes to
/// `onFault`, which does not return.
void runGrid(const GridRun& run, FaultHandler onFault);

/// "thread (3,0,0) of block (1,0,0)" of the calling OS thread, for crash reports; "outside of the kernel"
/// elsewhere.
void describeCurrentThread(char* text, std::size_t size);

} // namespace retile::backend
