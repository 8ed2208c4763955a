// CUDA's vector types and their make_ functions, for sources that need no header of the toolkit.
#pragma once

#define RETILE_SIMT_VECTOR(T, name, align1, align2, align4)                                                            \
  struct __attribute__((aligned(align1))) name##1 { T x; };                                                            \
  struct __attribute__((aligned(align2))) name##2 { T x, y; };                                                         \
  struct name##3 { T x, y, z; };                                                                                       \
  struct __attribute__((aligned(align4))) name##4 { T x, y, z, w; };                                                   \
  inline name##1 make_##name##1(T x) { return {x}; }                                                                   \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                           \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                                   \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

RETILE_SIMT_VECTOR(signed char, char, 1, 2, 4)
RETILE_SIMT_VECTOR(unsigned char, uchar, 1, 2, 4)
RETILE_SIMT_VECTOR(short, short, 2, 4, 8)
RETILE_SIMT_VECTOR(unsigned short, ushort, 2, 4, 8)
RETILE_SIMT_VECTOR(int, int, 4, 8, 16)
RETILE_SIMT_VECTOR(unsigned int, uint, 4, 8, 16)
RETILE_SIMT_VECTOR(long int, long, 8, 16, 16)
RETILE_SIMT_VECTOR(unsigned long int, ulong, 8, 16, 16)
RETILE_SIMT_VECTOR(long long int, longlong, 8, 16, 16)
RETILE_SIMT_VECTOR(unsigned long long int, ulonglong, 8, 16, 16)
RETILE_SIMT_VECTOR(float, float, 4, 8, 16)
RETILE_SIMT_VECTOR(double, double, 8, 16, 16)
#undef RETILE_SIMT_VECTOR

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};
