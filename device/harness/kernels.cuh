// What the measuring process does to buffers on the device: fill them with test data, and find differences.
// Each finding is {count, first index}, with the first initialised to all ones by the caller.
#include "Elements.h"

using retile::harness::Element;

struct RetileFinding {
  unsigned long long count, first;
};

__device__ static void retileFound(RetileFinding* finding, unsigned long long index) {
  atomicAdd(&finding->count, 1ull);
  atomicMin(&finding->first, index);
}

#define RETILE_FOR_EACH(i, n)                                                                                          \
  for (unsigned long long i = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x; i < (n);         \
       i += static_cast<unsigned long long>(gridDim.x) * blockDim.x)

/// Test data of one tensor.
extern "C" __global__ void retile_generate(void* memory, int element, unsigned long long scalars,
                                           unsigned long long seed, unsigned long long stream, long long limit) {
  const Element e = static_cast<Element>(element);
  RETILE_FOR_EACH(i, scalars)
  retile::harness::storeBits(e, memory, i, retile::harness::testData(e, seed, stream, i, scalars, limit));
}

/// Whether a tensor still holds its test data.
extern "C" __global__ void retile_check(const void* memory, int element, unsigned long long scalars,
                                        unsigned long long seed, unsigned long long stream, long long limit,
                                        RetileFinding* finding) {
  const Element e = static_cast<Element>(element);
  const int bytes = retile::harness::bytesOf(e);
  const unsigned long long mask = bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1;
  RETILE_FOR_EACH(i, scalars) {
    const unsigned long long expected =
        retile::harness::testData(e, seed, stream, i, scalars, limit) & mask;
    if (retile::harness::loadBits(e, memory, i) != expected) retileFound(finding, i);
  }
}

/// 16-bit units of poison, and the last byte of an odd size.
extern "C" __global__ void retile_poison(unsigned char* memory, unsigned long long bytes, int run) {
  const unsigned short unit = retile::harness::poison(run);
  RETILE_FOR_EACH(i, bytes / 2) reinterpret_cast<unsigned short*>(memory)[i] = unit;
  if (bytes % 2 != 0 && blockIdx.x == 0 && threadIdx.x == 0) memory[bytes - 1] = static_cast<unsigned char>(unit);
}

/// Bytes of a canary that have changed.
extern "C" __global__ void retile_canary(const unsigned char* memory, unsigned long long bytes, int value,
                                         RetileFinding* finding) {
  RETILE_FOR_EACH(i, bytes)
  if (memory[i] != value) retileFound(finding, i);
}

/// Adds the digests of a tensor under two keys to digest[0] and digest[1].
extern "C" __global__ void retile_digest(const void* memory, int element, unsigned long long scalars,
                                         unsigned long long key, unsigned long long* digest) {
  const Element e = static_cast<Element>(element);
  unsigned long long a = 0, b = 0;
  RETILE_FOR_EACH(i, scalars) {
    const unsigned long long bits = retile::harness::loadBits(e, memory, i);
    a += retile::harness::digestTerm(bits, i, key);
    b += retile::harness::digestTerm(bits, i, ~key);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    a += __shfl_xor_sync(~0u, a, lanes);
    b += __shfl_xor_sync(~0u, b, lanes);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&digest[0], a);
    atomicAdd(&digest[1], b);
  }
}

/// Elements of a candidate that differ from the original: bitwise with relative 0, and where the original
/// left the poison of `run` (-1: the tensor had contents).
extern "C" __global__ void retile_compare(const void* candidate, const void* original, int element,
                                          unsigned long long scalars, double relative, double rms, int run,
                                          RetileFinding* finding) {
  const Element e = static_cast<Element>(element);
  RETILE_FOR_EACH(i, scalars) {
    const unsigned long long a = retile::harness::loadBits(e, candidate, i);
    const unsigned long long b = retile::harness::loadBits(e, original, i);
    if (a == b) continue;
    const bool untouched = run >= 0 && b == retile::harness::poisonBits(e, i, run);
    const bool close = relative > 0 && !untouched && retile::harness::isFloat(e) &&
                       retile::harness::isClose(e, retile::harness::decodeFloat(e, a),
                                                retile::harness::decodeFloat(e, b), relative, rms);
    if (!close) retileFound(finding, i);
  }
}
