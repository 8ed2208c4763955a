// A launch that the compiler cannot make sense of is one that is not known, and no reason to crash.
// RUN: %templatize %s -o %t.retile > %t.out 2>&1
// RUN: %check %s < %t.out
#include <cuda_runtime.h>

// CHECK-NOT: crashed
static int divUp(int a, int b) { return (a + b - 1) / b; }
static size_t divUp(size_t a, size_t b) { return (a + b - 1) / b; }
__global__ void f(float* v, size_t n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = 1.0f;
}
void launch(float* v, size_t n) {
  dim3 grid((n + 31) / 32, divUp(n, 8));
  f<<<grid, 64>>>(v, n);
}
