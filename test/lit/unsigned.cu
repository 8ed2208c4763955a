// Differences of unsigned numbers that pass below zero on their way: the template computes what the original does.
// RUN: %templatize %s -o %t.retile --explain | %check %s
// RUN: %tune %t.retile --device cpu --verify-only 4 --size n=37,k=37 --size n=1,k=1 --quiet | %check %s --check-prefix=TUNE

#include <cuda_runtime.h>

// An operand of a clamp: (unsigned)i - 1 is not -1.
// CHECK: kernel 'clamp' lifted full
// TUNE: clamp at n=37: verified=4 mismatched=0 failed=0
__global__ void clamp(const float* x, float* y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[max((int)(i - 1), 0)];
}
void launchClamp(const float* x, float* y, unsigned n) { clamp<<<(n + 63) / 64, 64>>>(x, y, n); }

// A bound below zero, compared with a signed counter.
// CHECK: kernel 'below' lifted full
// TUNE: below at n=37: verified=4 mismatched=0 failed=0
__global__ void below(const float* x, float* y, unsigned n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = x[i];
  for (int q = 0; q < (int)i - 1; ++q) s = s * 0.5f + x[q];
  y[i] = s;
}
void launchBelow(const float* x, float* y, unsigned n) { below<<<(n + 63) / 64, 64>>>(x, y, n); }

// No point at all, at n = 1: the last of them is -1.
// CHECK: kernel 'interior' lifted full
// TUNE: interior at n=37: verified=4 mismatched=0 failed=0
// TUNE: interior at n=1: verified=4 mismatched=0 failed=0
__global__ void interior(const float* x, float* y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i + 1 < n) y[i] = x[i - 1] + x[i + 1];
}
void launchInterior(const float* x, float* y, unsigned n) { interior<<<(n + 63) / 64, 64>>>(x, y, n); }

// What has wrapped stays huge in a wider type: the first five points are left out.
// TUNE: widened at n=37: verified=4 mismatched=0 failed=0
__global__ void widened(const float* x, float* y, long long n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if ((long long)(i - 5u) < n) y[i] = x[i];
}
void launchWidened(const float* x, float* y, long long n) { widened<<<(n + 63) / 64, 64>>>(x, y, n); }

// TUNE: value at n=37: verified=4 mismatched=0 failed=0
__global__ void value(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + (float)(size_t)(blockIdx.x * blockDim.x + threadIdx.x - 5);
}
void launchValue(const float* x, float* y, int n) { value<<<(n + 63) / 64, 64>>>(x, y, n); }

// The suffix of a literal makes the difference unsigned.
// TUNE: literal at k=37: verified=4 mismatched=0 failed=0
__global__ void literal(const float* x, float* y, long long k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if ((long long)(i - 1u) < k) y[i] = x[i];
}
void launchLiteral(const float* x, float* y, long long k) { literal<<<(k + 63) / 64, 64>>>(x, y, k); }
