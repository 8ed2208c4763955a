// RUN: %templatize %s -o %t.retile --json | %check %s
// The tuner is told nothing but the directory, and every object is one line.
// RUN: %tune %t.retile --device cpu --verify-only 3 --json --quiet | %check %s --check-prefix=TUNE

// CHECK: {"kernel":"scale","file":"{{.*}}json.cu","line":[[#@LINE+3]],"lift":"full","parallel":["i"]
// CHECK-SAME: "parameters":[{"name":"TILE_I"
// TUNE: {"kernel":"scale"{{.*}}"mismatched":0
__global__ void scale(float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = 2.0f * v[i];
}

void launch(float* v, int n) { scale<<<(n + 127) / 128, 128>>>(v, n); }
