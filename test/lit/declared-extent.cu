// An array that is declared with its length is read within it: proved, assumed of the sizes, or refused.
// RUN: %templatize %s -o %t.retile --explain | %check %s
#include <cuda_runtime.h>
__constant__ float taps[7];

// CHECK: kernel 'proved' lifted full
// CHECK-NOT: taps is declared
__global__ void proved(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int q = 0; q < 7; ++q) s += taps[q] * x[i + q];
  y[i] = s;
}
void launchProved(const float* x, float* y, int n) { proved<<<(n + 63) / 64, 64>>>(x, y, n); }

// CHECK: kernel 'assumed' lifted full
// CHECK: assumes 7 - m >= 0 (taps is declared with 7 elements)
__global__ void assumed(const float* x, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int q = 0; q < m; ++q) s += taps[q] * x[i + q];
  y[i] = s;
}
void launchAssumed(const float* x, float* y, int n, int m) { assumed<<<(n + 63) / 64, 64>>>(x, y, n, m); }

// CHECK: kernel 'beyond' refused
// CHECK: because of: 'taps' has 7 elements and is used up to [8]
__global__ void beyond(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = x[i];
  for (int q = 0; q < 4; ++q) s += taps[q + 5];
  y[i] = s;
}
void launchBeyond(const float* x, float* y, int n) { beyond<<<(n + 63) / 64, 64>>>(x, y, n); }
