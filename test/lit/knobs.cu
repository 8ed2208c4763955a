// RUN: rm -rf %t.retile
// RUN: %templatize %s -o %t.retile --explain | %check %s
// RUN: %tune %t.retile --kernel '*sums*' --device cpu --verify-only 4 --size n=777,parts=5 | %check %s --check-prefix=TUNE
// RUN: not %tune %t.retile --kernel walk --device cpu --verify-only 4 --size n=777 | %check %s --check-prefix=WALK
// RUN: %check %s --check-prefix=TEXT --input-file %t.retile/tools__sums_long_long__128.cuh

// A kernel whose result depends on the grid keeps its text; its loops and its launch bounds vary.
// CHECK: kernel 'tools::sums<long long, 128>' lifted knobs
// CHECK-NEXT: template <typename T, int N>
// CHECK: because of:
// CHECK: MIN_BLOCKS = 2
// CHECK-NEXT: UNROLL_I = 0
// CHECK-NOT: UNROLL_W
// TEXT: namespace tools {
// TEXT: template <int MIN_BLOCKS, int UNROLL_I, typename T = long long, int N = 128>
// TEXT-NEXT: __global__ void __launch_bounds__(128, MIN_BLOCKS)
// TEXT: if (end > begin) { RETILE_UNROLL_BY(UNROLL_I) for (int i = begin + threadIdx.x; i < end; i += N) sum += data[i]; }
// TUNE: sums{{.*}} verified=4 mismatched=0 failed=0
namespace tools {
template <typename T, int N> __global__ void __launch_bounds__(N, 2) sums(const int* data, T* partial, int n) {
  __shared__ T acc[N];
  const int chunk = (n + gridDim.x - 1) / gridDim.x;
  const int begin = blockIdx.x * chunk, end = min(begin + chunk, n);
  T sum = 0;
  if (end > begin) for (int i = begin + threadIdx.x; i < end; i += N) sum += data[i];
  acc[threadIdx.x] = sum;
  __syncthreads();
#pragma unroll
  for (int w = N / 2; w > 0; w /= 2) {
    if (threadIdx.x < w) acc[threadIdx.x] += acc[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = acc[0];
}
} // namespace tools

// No test data can be made where loaded numbers are subscripts; that is said, and nothing runs.
// CHECK: kernel 'walk' lifted knobs
// WALK: walk{{.*}} verified=0 mismatched=0 failed=0
// WALK-NEXT: unsupported: no test data: the extent of 'next' has no bound
__global__ void walk(const int* next, float* value, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  for (int e = v; e >= 0; e = next[e]) value[e] = 1.0f;
}

// The order in which threads print is part of what this kernel does.
// CHECK: kernel 'say' refused
// CHECK: because of: the mapping of threads is visible in the output: printf
__global__ void say(int* v) {
  printf("%d\n", v[threadIdx.x]);
  v[threadIdx.x] = 0;
}

void launch(const int* data, long long* partial, const int* next, float* value, int* v, int n, int parts) {
  tools::sums<long long, 128><<<parts, 128>>>(data, partial, n);
  walk<<<(n + 63) / 64, 64>>>(next, value, n);
  say<<<1, 32>>>(v);
}
