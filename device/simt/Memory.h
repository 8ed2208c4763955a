// Cache-hinted loads and stores (plain ones on a CPU), traps, and what retile.cuh needs of the CPU device.
#pragma once

#define RETILE_SIMT_LOAD(name) template <class T> inline T name(const T* address) { return *address; }
RETILE_SIMT_LOAD(__ldg)
RETILE_SIMT_LOAD(__ldca)
RETILE_SIMT_LOAD(__ldcg)
RETILE_SIMT_LOAD(__ldcs)
RETILE_SIMT_LOAD(__ldlu)
RETILE_SIMT_LOAD(__ldcv)
#undef RETILE_SIMT_LOAD
#define RETILE_SIMT_STORE(name) template <class T> inline void name(T* address, T value) { *address = value; }
RETILE_SIMT_STORE(__stwb)
RETILE_SIMT_STORE(__stcg)
RETILE_SIMT_STORE(__stcs)
RETILE_SIMT_STORE(__stwt)
#undef RETILE_SIMT_STORE

inline void __trap() { ::retile::simt::services->fault(::retile::simt::self, "__trap was called"); }
inline void __nanosleep(unsigned) {}
#define __builtin_assume(condition) ((void)0)

namespace retile::simt {

inline unsigned char* dynamicShared() { return self->shared; }

/// A GPU faults on a vector access whose address is not a multiple of its size.
inline void checkAligned(const void* address, unsigned bytes) {
  if ((reinterpret_cast<__UINTPTR_TYPE__>(address) & (bytes - 1)) != 0)
    services->fault(self, "misaligned address of a vector access");
}
inline void copyAsync(void* dst, const void* src, unsigned bytes) {
  checkAligned(dst, bytes);
  checkAligned(src, bytes);
  services->copyAsync(self, dst, src, bytes);
}
inline void asyncCommit() { services->asyncCommit(self); }
inline void asyncWait(unsigned groups) { services->asyncWait(self, groups); }

/// A namespace-scope `extern __shared__ T name[]`.
template <class T> struct DynamicShared {
  operator T*() const { return reinterpret_cast<T*>(dynamicShared()); }
  template <class U> explicit operator U*() const { return reinterpret_cast<U*>(dynamicShared()); }
};

} // namespace retile::simt
