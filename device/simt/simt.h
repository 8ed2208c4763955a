// CUDA C++ for a host compiler: included before everything else when a template or an original is compiled
// for the CPU device. Light on purpose: the compiler reads it for every candidate. RETILE_SIMT_FP16, _BF16
// and _FP8 name the toolkit's headers when the source needs them; they bring the vector types with them.
#pragma once

#define RETILE_CPU 1

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <limits.h>
#include <float.h>
#include <assert.h>

#include "Runtime.h"

#if defined(RETILE_SIMT_FP16) || defined(RETILE_SIMT_BF16) || defined(RETILE_SIMT_FP8)
#include "Half.h"
#else
#include "Vectors.h"
#endif

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __managed__
#undef __forceinline__
#undef __launch_bounds__
#undef __maxnreg__
#undef __align__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
// One block at a time runs on an OS thread, and its fibers stay there.
#define __shared__ static __thread
#define __forceinline__ __attribute__((always_inline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))

namespace retile::simt {

static __thread Thread* self;
static const Services* services;

template <class P> struct Plain { using type = P; };
template <class P> struct Plain<const P> { using type = P; };

/// Evaluates its braced arguments from left to right.
template <class... P> struct Call {
  Call(void (*kernel)(P...), P... p) { kernel(p...); }
};

/// Calls a kernel with arguments of its own parameter types behind the pointers.
template <int N, class... P> inline void invoke(void (*kernel)(P...), void* const* arguments) {
  static_assert(sizeof...(P) == N, "the manifest and the kernel disagree on the number of arguments");
  int next = 0;
  (void)next;
  (void)arguments;
  Call<P...>{kernel, *static_cast<typename Plain<P>::type*>(arguments[next++])...};
}

} // namespace retile::simt

#define RETILE_SIMT_EXPORT extern "C" __attribute__((visibility("default")))
RETILE_SIMT_EXPORT ::retile::simt::Thread** retile_simt_self() { return &::retile::simt::self; }
RETILE_SIMT_EXPORT void retile_simt_attach(const ::retile::simt::Services* table) { ::retile::simt::services = table; }

#define threadIdx (reinterpret_cast<const uint3&>(::retile::simt::self->threadIdx))
#define blockIdx (reinterpret_cast<const uint3&>(::retile::simt::self->blockIdx))
#define blockDim (reinterpret_cast<const dim3&>(::retile::simt::self->blockDim))
#define gridDim (reinterpret_cast<const dim3&>(::retile::simt::self->gridDim))
constexpr int warpSize = 32;

#include "Memory.h"
#include "Math.h"
#include "Atomics.h"
#include "Warp.h"
#if defined(RETILE_SIMT_FP16) || defined(RETILE_SIMT_BF16)
#include "HalfExtra.h"
#endif

#define RETILE_SIMT_READY 1
