// An array indexed by a dimension of one block a value: there is no tile to copy in vectors, and the manifest names none.
// RUN: %templatize %s -o %t.retile --json | %check %s
// RUN: %tune %t.retile --device cpu --verify-only 4 --size n=37,m=13 --quiet | %check %s --check-prefix=TUNE
#include <cuda_runtime.h>

// CHECK-NOT: VECTOR_C
// TUNE: scale at m=13,n=37: verified=4 mismatched=0 failed=0
__global__ void scale(int m, float* b, const float* c) {
  int i = blockIdx.x;
  for (int j = threadIdx.x; j < m; j += blockDim.x) b[i * 16 + j] *= c[i];
}
void launch(int m, float* b, const float* c, int n) { scale<<<n, 64>>>(m, b, c); }
