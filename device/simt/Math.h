// CUDA's arithmetic functions on a CPU. Correctly rounded where CUDA's are (the _rn family, fma, sqrt,
// division); elementary functions are the C library's, the fast ones (__expf ..) included, so their bits
// differ from a GPU's.
#pragma once

template <class To, class From> inline To retileBits(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

// Smaller and larger, in all of CUDA's combinations: a NaN operand yields the other.
#define RETILE_SIMT_MINMAX(R, A, B)                                                                                    \
  inline R min(A a, B b) { return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); }     \
  inline R max(A a, B b) { return static_cast<R>(a) > static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); }
RETILE_SIMT_MINMAX(int, int, int)
RETILE_SIMT_MINMAX(unsigned, unsigned, unsigned)
RETILE_SIMT_MINMAX(unsigned, int, unsigned)
RETILE_SIMT_MINMAX(unsigned, unsigned, int)
RETILE_SIMT_MINMAX(long, long, long)
RETILE_SIMT_MINMAX(unsigned long, unsigned long, unsigned long)
RETILE_SIMT_MINMAX(unsigned long, long, unsigned long)
RETILE_SIMT_MINMAX(unsigned long, unsigned long, long)
RETILE_SIMT_MINMAX(long long, long long, long long)
RETILE_SIMT_MINMAX(unsigned long long, unsigned long long, unsigned long long)
RETILE_SIMT_MINMAX(unsigned long long, long long, unsigned long long)
RETILE_SIMT_MINMAX(unsigned long long, unsigned long long, long long)
#undef RETILE_SIMT_MINMAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(double a, float b) { return fmax(a, b); }
inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
inline long long llmin(long long a, long long b) { return min(a, b); }
inline long long llmax(long long a, long long b) { return max(a, b); }
inline float pow(float a, int b) { return powf(a, static_cast<float>(b)); }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float fdividef(float a, float b) { return a / b; }
inline float sinpif(float x) { return static_cast<float>(sin(M_PI * fmod(static_cast<double>(x), 2.0))); }
inline float cospif(float x) { return static_cast<float>(cos(M_PI * fmod(static_cast<double>(x), 2.0))); }
inline double sinpi(double x) { return sin(M_PI * fmod(x, 2.0)); }
inline double cospi(double x) { return cos(M_PI * fmod(x, 2.0)); }
inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752f); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
inline float rhypotf(float a, float b) { return 1.0f / hypotf(a, b); }
inline float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
inline float norm4df(float a, float b, float c, float d) { return sqrtf(a * a + b * b + c * c + d * d); }

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float a, float b) { return powf(a, b); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frsqrt_rn(float a) { return static_cast<float>(1.0 / sqrt(static_cast<double>(a))); }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float __fmaf_ieee_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Conversions saturate and take NaN to 0, as the PTX cvt instructions do.
template <class I, class F> inline I retileSaturate(F x) {
  constexpr I low = static_cast<I>(-1) < static_cast<I>(0) ? static_cast<I>(I(1) << (sizeof(I) * 8 - 1)) : I(0);
  constexpr I high = static_cast<I>(~low);
  if (x != x) return 0;
  if (x <= static_cast<F>(low)) return low;
  if (x >= static_cast<F>(high)) return high;
  return static_cast<I>(x);
}
#define RETILE_SIMT_CONVERT(from, F, to, I)                                                                            \
  inline I __##from##2##to##_rn(F x) { return retileSaturate<I>(__builtin_rint(x)); }                                  \
  inline I __##from##2##to##_rz(F x) { return retileSaturate<I>(__builtin_trunc(x)); }                                 \
  inline I __##from##2##to##_rd(F x) { return retileSaturate<I>(__builtin_floor(x)); }                                 \
  inline I __##from##2##to##_ru(F x) { return retileSaturate<I>(__builtin_ceil(x)); }
RETILE_SIMT_CONVERT(float, float, int, int)
RETILE_SIMT_CONVERT(float, float, uint, unsigned)
RETILE_SIMT_CONVERT(float, float, ll, long long)
RETILE_SIMT_CONVERT(float, float, ull, unsigned long long)
RETILE_SIMT_CONVERT(double, double, int, int)
RETILE_SIMT_CONVERT(double, double, uint, unsigned)
RETILE_SIMT_CONVERT(double, double, ll, long long)
RETILE_SIMT_CONVERT(double, double, ull, unsigned long long)
#undef RETILE_SIMT_CONVERT
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

inline int __float_as_int(float x) { return retileBits<int>(x); }
inline unsigned __float_as_uint(float x) { return retileBits<unsigned>(x); }
inline float __int_as_float(int x) { return retileBits<float>(x); }
inline float __uint_as_float(unsigned x) { return retileBits<float>(x); }
inline long long __double_as_longlong(double x) { return retileBits<long long>(x); }
inline double __longlong_as_double(long long x) { return retileBits<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(retileBits<unsigned long long>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(retileBits<unsigned long long>(x)); }
inline double __hiloint2double(int hi, int lo) {
  return retileBits<double>(static_cast<unsigned long long>(static_cast<unsigned>(hi)) << 32 |
                            static_cast<unsigned>(lo));
}

// Integers.
inline int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1u) << (31 - i);
  return r;
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 | __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned byte = static_cast<unsigned>(both >> ((s >> (4 * i) & 7u) * 8)) & 0xffu;
    if (s >> (4 * i) & 8u) byte = byte & 0x80u ? 0xffu : 0u;
    r |= byte << (8 * i);
  }
  return r;
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(hi) << 32 | lo) << (n & 31u)) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) >> (n & 31u));
}
inline unsigned __sad(int a, int b, unsigned c) {
  return (a > b ? static_cast<unsigned>(a) - static_cast<unsigned>(b) : static_cast<unsigned>(b) - static_cast<unsigned>(a)) + c;
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> (8 * i) & 0xffu) * (b >> (8 * i) & 0xffu);
  return c;
}
