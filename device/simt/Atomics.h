// CUDA's atomics over the OS threads that run the blocks; sequentially consistent, which is at least as
// strong.
#pragma once

namespace retile::simt {

/// *address = f(*address) atomically, for any 2-, 4- or 8-byte type; returns what was there before.
template <class T, class F> inline T updateAtomically(T* address, F f) {
  T before;
  __atomic_load(address, &before, __ATOMIC_SEQ_CST);
  for (;;) {
    T after = f(before);
    if (__atomic_compare_exchange(address, &before, &after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return before;
  }
}

} // namespace retile::simt

#define RETILE_SIMT_ATOMIC(name, T, expression)                                                                        \
  inline T name(T* address, T value) {                                                                                 \
    return ::retile::simt::updateAtomically(address, [value](T old) -> T { (void)value; return expression; });         \
  }                                                                                                                    \
  inline T name##_block(T* address, T value) { return name(address, value); }                                          \
  inline T name##_system(T* address, T value) { return name(address, value); }
#define RETILE_SIMT_ATOMIC_INTEGERS(name, expression)                                                                  \
  RETILE_SIMT_ATOMIC(name, int, expression)                                                                            \
  RETILE_SIMT_ATOMIC(name, unsigned, expression)                                                                       \
  RETILE_SIMT_ATOMIC(name, unsigned long long, expression)

RETILE_SIMT_ATOMIC_INTEGERS(atomicAdd, old + value)
RETILE_SIMT_ATOMIC(atomicAdd, float, old + value)
RETILE_SIMT_ATOMIC(atomicAdd, double, old + value)
RETILE_SIMT_ATOMIC(atomicSub, int, old - value)
RETILE_SIMT_ATOMIC(atomicSub, unsigned, old - value)
RETILE_SIMT_ATOMIC_INTEGERS(atomicExch, value)
RETILE_SIMT_ATOMIC(atomicExch, float, value)
RETILE_SIMT_ATOMIC_INTEGERS(atomicMin, old < value ? old : value)
RETILE_SIMT_ATOMIC_INTEGERS(atomicMax, old > value ? old : value)
RETILE_SIMT_ATOMIC(atomicMin, long long, old < value ? old : value)
RETILE_SIMT_ATOMIC(atomicMax, long long, old > value ? old : value)
RETILE_SIMT_ATOMIC_INTEGERS(atomicAnd, old & value)
RETILE_SIMT_ATOMIC_INTEGERS(atomicOr, old | value)
RETILE_SIMT_ATOMIC_INTEGERS(atomicXor, old ^ value)
RETILE_SIMT_ATOMIC(atomicInc, unsigned, old >= value ? 0u : old + 1u)
RETILE_SIMT_ATOMIC(atomicDec, unsigned, old == 0u || old > value ? value : old - 1u)
#undef RETILE_SIMT_ATOMIC_INTEGERS
#undef RETILE_SIMT_ATOMIC

#define RETILE_SIMT_CAS(T)                                                                                             \
  inline T atomicCAS(T* address, T expected, T desired) {                                                              \
    __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
    return expected;                                                                                                   \
  }                                                                                                                    \
  inline T atomicCAS_block(T* address, T expected, T desired) { return atomicCAS(address, expected, desired); }        \
  inline T atomicCAS_system(T* address, T expected, T desired) { return atomicCAS(address, expected, desired); }
RETILE_SIMT_CAS(int)
RETILE_SIMT_CAS(unsigned)
RETILE_SIMT_CAS(unsigned long long)
RETILE_SIMT_CAS(unsigned short)
#undef RETILE_SIMT_CAS

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
