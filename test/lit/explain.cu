// RUN: %templatize %s -o %t.retile --explain | %check %s
// RUN: %tune %t.retile --device cpu --verify-only 4 --size n=37 --quiet | %check %s --check-prefix=TUNE

// CHECK: explain.cu:[[#@LINE+4]]:17: remark: kernel 'axpy' lifted full: parallel i
// CHECK: TILE_I = 128
// CHECK: assumes y does not overlap x
// CHECK: wrote
__global__ void axpy(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
// TUNE: axpy at n=37: verified=4 mismatched=0 failed=0

void launch(const float* x, float* y, float a, int n) { axpy<<<(n + 127) / 128, 128>>>(x, y, a, n); }
