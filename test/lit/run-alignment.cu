// A run of neighbours is moved with one access, between memory and an array that is aligned for it.
// RUN: %templatize %s -o %t.retile > /dev/null
// RUN: %check %s < %t.retile/copy.cuh
#include <cuda_runtime.h>

// CHECK: alignas(RUN_I * sizeof(float)) float xIn[RUN_I];
// CHECK: alignas(RUN_I * sizeof(float)) float yOut[RUN_I];
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
void launch(const float* x, float* y, int n) { copy<<<(n + 63) / 64, 64>>>(x, y, n); }
