#include "Shim.h"

namespace retile::frontend {

// <math.h> comes first because libstdc++ brings std::isfinite and friends to the global namespace there.
std::string_view shimText() {
  return R"(#pragma once
#pragma GCC system_header
#include <math.h>

#define RETILE_HOST_MINMAX(T)                                       \
  __host__ inline T min(T a, T b) { return b < a ? b : a; }         \
  __host__ inline T max(T a, T b) { return a < b ? b : a; }
RETILE_HOST_MINMAX(int)
RETILE_HOST_MINMAX(unsigned)
RETILE_HOST_MINMAX(long)
RETILE_HOST_MINMAX(unsigned long)
RETILE_HOST_MINMAX(long long)
RETILE_HOST_MINMAX(unsigned long long)
RETILE_HOST_MINMAX(float)
RETILE_HOST_MINMAX(double)
#undef RETILE_HOST_MINMAX
__host__ inline unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
__host__ inline unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
__host__ inline unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
__host__ inline unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
__host__ inline double min(float a, double b) { return min((double)a, b); }
__host__ inline double min(double a, float b) { return min(a, (double)b); }
__host__ inline double max(float a, double b) { return max((double)a, b); }
__host__ inline double max(double a, float b) { return max(a, (double)b); }

template <class T> struct __retile_same { typedef T type; };
#define RETILE_LOAD(NAME) \
  template <class T> __device__ inline T NAME(const T* p) { return *p; }
#define RETILE_STORE(NAME) \
  template <class T> __device__ inline void NAME(T* p, typename __retile_same<T>::type v) { *p = v; }
RETILE_LOAD(__ldca)
RETILE_LOAD(__ldlu)
RETILE_LOAD(__ldcv)
RETILE_STORE(__stwb)
RETILE_STORE(__stcg)
RETILE_STORE(__stcs)
RETILE_STORE(__stwt)
#undef RETILE_LOAD
#undef RETILE_STORE

#if CUDA_VERSION >= 13000
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache c) { return cudaDeviceSetCacheConfig(c); }
inline cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = 0) { return cudaSuccess; }
#endif
)";
}

} // namespace retile::frontend
