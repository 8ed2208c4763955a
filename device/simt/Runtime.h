// What a kernel compiled for the CPU device and the runner that executes it share: plain data and a table of
// services. The runner (lib/Tuner/Backend/Fibers.cpp) runs every CUDA thread as a fiber; fibers never change
// their OS thread.
#pragma once

namespace retile::simt {

struct Index {
  unsigned x, y, z;
};

/// What one CUDA thread sees of itself.
struct Thread {
  Index threadIdx, blockIdx, blockDim, gridDim;
  /// x + blockDim.x * (y + blockDim.y * z); the lane is its last five bits.
  unsigned linear;
  unsigned sharedBytes;
  unsigned char* shared;
};

enum class Combine { None, Count, And, Or };

/// `what` and `line` name the call in the source; threads that meet at different lines are reported as
/// divergent.
struct Services {
  /// Block barrier; returns the combination of the predicates.
  int (*barrier)(Thread*, Combine, int predicate, const char* what, int line);
  /// Meets the lanes of `mask`. Returns the value of lane `source`; with source -1 the lanes whose value is
  /// not zero. `all`, when given, receives the values of all lanes of the mask.
  unsigned long long (*exchange)(Thread*, unsigned mask, unsigned long long value, int source, unsigned long long* all,
                                 const char* what, int line);
  /// Asynchronous copies land as late as the program allows: in asyncWait.
  void (*copyAsync)(Thread*, void* dst, const void* src, unsigned bytes);
  void (*asyncCommit)(Thread*);
  void (*asyncWait)(Thread*, unsigned groups);
  /// Ends the launch with an error.
  void (*fault)(Thread*, const char* what);
};

} // namespace retile::simt
