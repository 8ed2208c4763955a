// Element types, and seeded test data as a function of (seed, tensor, index): the host and the device compute
// the same bits, so that no buffer has to travel. Compiles as host C++ and under NVRTC.
#pragma once

#if defined(__CUDACC__)
#define RETILE_BOTH __host__ __device__ __forceinline__
#else
#define RETILE_BOTH inline
#endif

namespace retile::harness {

enum class Element : int { F64, F32, F16, BF16, E4M3, E5M2, I8, U8, I16, U16, I32, U32, I64, U64, Bool };

RETILE_BOTH int bytesOf(Element e) {
  switch (e) {
  case Element::F64: case Element::I64: case Element::U64: return 8;
  case Element::F32: case Element::I32: case Element::U32: return 4;
  case Element::F16: case Element::BF16: case Element::I16: case Element::U16: return 2;
  default: return 1;
  }
}
RETILE_BOTH bool isFloat(Element e) { return e <= Element::E5M2; }

/// Fields of a binary floating-point format.
struct Format {
  int mantissa, exponent;
};
RETILE_BOTH Format formatOf(Element e) {
  switch (e) {
  case Element::F64: return {52, 11};
  case Element::F32: return {23, 8};
  case Element::F16: return {10, 5};
  case Element::BF16: return {7, 8};
  case Element::E4M3: return {3, 4};
  default: return {2, 5};
  }
}

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
RETILE_BOTH unsigned long long mix(unsigned long long x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

/// 64 random bits: element `index` of stream `stream` under `seed`.
RETILE_BOTH unsigned long long draw(unsigned long long seed, unsigned long long stream, unsigned long long index) {
  return mix(mix(seed * 0x9e3779b97f4a7c15ull + stream) + index * 0x9e3779b97f4a7c15ull);
}

/// Bits of numerator / 2^scale, which the format represents exactly (|numerator| has at most mantissa + 1
/// bits).
RETILE_BOTH unsigned long long packFraction(Element e, long long numerator, int scale) {
  const Format f = formatOf(e);
  if (numerator == 0) return 0;
  const unsigned long long sign = numerator < 0;
  const unsigned long long magnitude = static_cast<unsigned long long>(numerator < 0 ? -numerator : numerator);
  int top = 0;
  while (magnitude >> (top + 1) != 0) ++top;
  const unsigned long long exponent = static_cast<unsigned long long>(top - scale + (1 << (f.exponent - 1)) - 1);
  const unsigned long long fraction = magnitude << (f.mantissa - top) & ((1ull << f.mantissa) - 1);
  return sign << (f.mantissa + f.exponent) | exponent << f.mantissa | fraction;
}

/// Bits of a test value from 64 random ones. Floats: uniform over the multiples of the format's precision in
/// [-1, 1). Integers: at most +-100 and in the type's range. `limit` > 0: an integer in [0, limit).
RETILE_BOTH unsigned long long testBits(Element e, unsigned long long random, long long limit) {
  if (isFloat(e)) {
    const int bits = formatOf(e).mantissa;
    return packFraction(e, static_cast<long long>(random >> (63 - bits)) - (1ll << bits), bits);
  }
  if (e == Element::Bool) return random >> 63;
  const unsigned long long high = random >> 16;
  if (limit > 0) return high % static_cast<unsigned long long>(limit);
  const bool isSigned = e == Element::I8 || e == Element::I16 || e == Element::I32 || e == Element::I64;
  return isSigned ? static_cast<unsigned long long>(static_cast<long long>(high % 201) - 100) : high % 101;
}

/// Test data of element `index` of `count`: testBits, or with `limit` < 0 offsets, sorted from 0 to -limit - 1.
RETILE_BOTH unsigned long long testData(Element e, unsigned long long seed, unsigned long long stream, unsigned long long index,
                                        unsigned long long count, long long limit) {
  const unsigned long long random = draw(seed, stream, index);
  if (limit >= 0 || isFloat(e) || e == Element::Bool) return testBits(e, random, limit < 0 ? 0 : limit);
  const unsigned long long last = static_cast<unsigned long long>(-(limit + 1));
  if (index == 0 || count < 2) return 0;
  if (index + 1 >= count) return last;
  // Anywhere in a cell of its own. Cells are whole numbers and a remainder, so that no product overflows.
  const unsigned long long cells = count - 1, whole = last / cells, rest = last % cells;
  const unsigned long long from = index * whole + index * rest / cells, to = (index + 1) * whole + (index + 1) * rest / cells;
  return from + (random >> 16) % (to - from + 1);
}

/// The value of a float's bits as a double; exact.
RETILE_BOTH double decodeFloat(Element e, unsigned long long bits) {
  const Format f = formatOf(e);
  const int width = f.mantissa + f.exponent;
  const bool negative = bits >> width & 1;
  const unsigned long long fraction = bits & ((1ull << f.mantissa) - 1);
  const int exponent = static_cast<int>(bits >> f.mantissa & ((1ull << f.exponent) - 1));
  const int bias = (1 << (f.exponent - 1)) - 1, last = (1 << f.exponent) - 1;
  unsigned long long out;
  if (e == Element::E4M3 ? exponent == last && fraction == 7 : exponent == last) {
    out = 0x7ffull << 52 | (fraction != 0 || e == Element::E4M3 ? 1ull << 51 : 0);
  } else if (exponent == 0 && f.exponent < 11) {
    int shift = 0;
    unsigned long long digits = fraction;
    while (digits != 0 && digits >> f.mantissa == 0) digits <<= 1, ++shift;
    out = digits == 0 ? 0
                      : static_cast<unsigned long long>(1 - bias - shift + 1023) << 52 |
                            (digits & ((1ull << f.mantissa) - 1)) << (52 - f.mantissa);
  } else if (f.exponent == 11) {
    out = bits & ~(1ull << 63);
  } else {
    out = static_cast<unsigned long long>(exponent - bias + 1023) << 52 | fraction << (52 - f.mantissa);
  }
  out |= static_cast<unsigned long long>(negative) << 63;
  union {
    unsigned long long bits;
    double value;
  } result;
  result.bits = out;
  return result.value;
}

/// The distance between neighbours of the format near |value|.
RETILE_BOTH double unitInLastPlace(Element e, double value) {
  const Format f = formatOf(e);
  const int bias = (1 << (f.exponent - 1)) - 1;
  union {
    unsigned long long bits;
    double value;
  } u;
  u.value = value;
  int exponent = static_cast<int>(u.bits >> 52 & 0x7ff) - 1023;
  if (exponent < 1 - bias) exponent = 1 - bias;
  exponent -= f.mantissa;
  if (exponent < -1022) exponent = -1022;
  u.bits = static_cast<unsigned long long>(exponent + 1023) << 52;
  return u.value;
}

RETILE_BOTH bool isNan(double x) { return x != x; }
RETILE_BOTH bool isInfinite(double x) { return x - x != 0 && x == x; }

/// Whether `candidate` is near enough to `original`: same NaN and infinity, and
/// |candidate - original| <= relative * max(|original|, rms) + 1 ulp of the element's type.
RETILE_BOTH bool isClose(Element e, double candidate, double original, double relative, double rms) {
  if (isNan(candidate) || isNan(original)) return isNan(candidate) && isNan(original);
  if (isInfinite(candidate) || isInfinite(original)) return candidate == original;
  const double size = original < 0 ? -original : original, difference = candidate - original;
  const double bound = relative * (size > rms ? size : rms) + unitInLastPlace(e, original);
  return (difference < 0 ? -difference : difference) <= bound;
}

/// Element `index` of memory as 64 bits, zero-extended.
RETILE_BOTH unsigned long long loadBits(Element e, const void* memory, unsigned long long index) {
  switch (bytesOf(e)) {
  case 8: return static_cast<const unsigned long long*>(memory)[index];
  case 4: return static_cast<const unsigned int*>(memory)[index];
  case 2: return static_cast<const unsigned short*>(memory)[index];
  default: return static_cast<const unsigned char*>(memory)[index];
  }
}
RETILE_BOTH void storeBits(Element e, void* memory, unsigned long long index, unsigned long long bits) {
  switch (bytesOf(e)) {
  case 8: static_cast<unsigned long long*>(memory)[index] = bits; break;
  case 4: static_cast<unsigned int*>(memory)[index] = static_cast<unsigned int>(bits); break;
  case 2: static_cast<unsigned short*>(memory)[index] = static_cast<unsigned short>(bits); break;
  default: static_cast<unsigned char*>(memory)[index] = static_cast<unsigned char>(bits); break;
  }
}

/// One element's share of a tensor's digest, the sum of these modulo 2^64: order-independent, so that threads may add
/// them as they come, and bound to the index, so that equal sums mean equal tensors but for one chance in 2^64.
RETILE_BOTH unsigned long long digestTerm(unsigned long long bits, unsigned long long index, unsigned long long key) {
  return mix(bits + mix(index * 0x9e3779b97f4a7c15ull + mix(key)));
}

/// What outputs hold before a run, in 16-bit units. Run 0: NaN as half, bfloat16, float and double, which
/// survives arithmetic. Run 1: tiny in all of them, which no sum and no product leaves as it is (a NaN would
/// hide `out[i] += x`).
RETILE_BOTH unsigned short poison(int run) { return run % 2 == 0 ? 0x7ffd : 0x0d0d; }

/// The same for shared memory: NaN in both runs, of other bits than an output's.
RETILE_BOTH unsigned short sharedPoison(int run) { return run % 2 == 0 ? 0x7ffb : 0xfff5; }

/// The bits of a poisoned element; two bytes make a unit.
RETILE_BOTH unsigned long long poisonBits(Element e, unsigned long long index, int run) {
  const unsigned long long unit = poison(run);
  switch (bytesOf(e)) {
  case 8: return unit * 0x0001000100010001ull;
  case 4: return unit * 0x10001ull;
  case 2: return unit;
  default: return index % 2 == 0 ? unit & 0xff : unit >> 8;
  }
}

} // namespace retile::harness
