// RUN: not %templatize %s -o %t.retile --explain | %check %s
// RUN: test ! -e %t.retile

// CHECK: kernel 'shift' refused
// CHECK: refuse-race.cu:[[#@LINE+3]]:{{[0-9]+}}: remark: because of: a race on 'v' between threads
__global__ void shift(float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n) v[i] = v[i - 1];
}

void launch(float* v, int n) { shift<<<(n + 63) / 64, 64>>>(v, n); }
