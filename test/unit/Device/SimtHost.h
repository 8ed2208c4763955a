// retile.cuh on the host without a runner: the helpers take the thread as an argument and meet at no barrier,
// so that a loop over threads runs them. Asynchronous copies wait in a list, as they do on the CPU device.
#pragma once

#include <gtest/gtest.h>

#include "device/simt/simt.h"

#include "device/retile.cuh"

#include <cstring>
#include <stdexcept>
#include <vector>

namespace retile::test {

struct Copy {
  void* dst;
  const void* src;
  unsigned bytes;
};
inline std::vector<Copy> pendingCopies;

/// Makes `simt::services` work on this thread.
inline void attachHost() {
  static simt::Thread thread{};
  static const simt::Services table{nullptr,
                                    nullptr,
                                    [](simt::Thread*, void* dst, const void* src, unsigned bytes) {
                                      pendingCopies.push_back({dst, src, bytes});
                                    },
                                    [](simt::Thread*) {},
                                    [](simt::Thread*, unsigned) {
                                      for (const Copy& copy : pendingCopies)
                                        std::memcpy(copy.dst, copy.src, copy.bytes);
                                      pendingCopies.clear();
                                    },
                                    [](simt::Thread*, const char* what) { throw std::runtime_error(what); }};
  simt::self = &thread;
  simt::services = &table;
}

} // namespace retile::test
