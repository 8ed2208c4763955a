// A load whose value nobody uses is no access, not even under a function that could set errno on a host.
// RUN: %templatize %s -o %t.retile --json | %check %s
// RUN: %tune %t.retile --device cpu --verify-only 2 --size n=19 --quiet | %check %s --check-prefix=TUNE
#include <cuda_runtime.h>

// CHECK: -> x[i]
// CHECK-NOT: 1000
// TUNE: dead at n=19: verified=2 mismatched=0 failed=0
__global__ void dead(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float unused = sqrtf(x[i + 1000]);
  y[i] = x[i];
}
void launch(const float* x, float* y, int n) { dead<<<(n + 63) / 64, 64>>>(x, y, n); }
