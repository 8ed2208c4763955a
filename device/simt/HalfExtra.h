// What the toolkit's half and bfloat16 headers offer to device code only. Fused products round once (a
// product of two such numbers and its sum with a third fit a double); elementary functions round the float
// result.
#pragma once

#define RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, name, expression)                                            \
  inline T h##name(T a) {                                                                                              \
    const float x = toFloat(a);                                                                                        \
    return fromFloat(expression);                                                                                      \
  }                                                                                                                    \
  inline T2 h2##name(T2 a) { return T2(h##name(T(a.x)), h##name(T(a.y))); }

#define RETILE_SIMT_HALF(T, T2, toFloat, fromFloat, fromDouble)                                                        \
  inline T __hfma(T a, T b, T c) {                                                                                     \
    return fromDouble(static_cast<double>(toFloat(a)) * toFloat(b) + static_cast<double>(toFloat(c)));                 \
  }                                                                                                                    \
  inline T __hfma_relu(T a, T b, T c) {                                                                                \
    const T r = __hfma(a, b, c);                                                                                       \
    return toFloat(r) > 0.0f ? r : fromFloat(0.0f);                                                                    \
  }                                                                                                                    \
  inline T2 __hfma2(T2 a, T2 b, T2 c) { return T2(__hfma(T(a.x), T(b.x), T(c.x)), __hfma(T(a.y), T(b.y), T(c.y))); }   \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, exp, expf(x))                                                      \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, exp2, exp2f(x))                                                    \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, log, logf(x))                                                      \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, log2, log2f(x))                                                    \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, sqrt, sqrtf(x))                                                    \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, rsqrt, rsqrtf(x))                                                  \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, rcp, 1.0f / x)                                                     \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, sin, sinf(x))                                                      \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, cos, cosf(x))                                                      \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, tanh, tanhf(x))                                                    \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, ceil, ceilf(x))                                                    \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, floor, floorf(x))                                                  \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, trunc, truncf(x))                                                  \
  RETILE_SIMT_HALF_UNARY(T, T2, toFloat, fromFloat, rint, rintf(x))                                                    \
  inline T atomicAdd(T* address, T value) {                                                                            \
    const unsigned short before = ::retile::simt::updateAtomically(                                                    \
        reinterpret_cast<unsigned short*>(address), [value](unsigned short old) {                                      \
          const T sum = fromFloat(toFloat(retileBits<T>(old)) + toFloat(value));                                       \
          return retileBits<unsigned short>(sum);                                                                      \
        });                                                                                                            \
    return retileBits<T>(before);                                                                                      \
  }

#if defined(RETILE_SIMT_FP16)
RETILE_SIMT_HALF(__half, __half2, __half2float, __float2half_rn, __double2half)
#endif
#if defined(RETILE_SIMT_BF16)
RETILE_SIMT_HALF(__nv_bfloat16, __nv_bfloat162, __bfloat162float, __float2bfloat16_rn, __double2bfloat16)
#endif
#undef RETILE_SIMT_HALF
#undef RETILE_SIMT_HALF_UNARY
