// RUN: rm -rf %t.retile
// RUN: %templatize %s -o %t.retile --explain | %check %s
// RUN: %tune %t.retile --kernel argmax --device cpu --verify-only 6 --size rows=7,cols=75 --quiet | %check %s --check-prefix=TUNE
// RUN: %tune %t.retile --kernel onlineSoftmax --device cpu --verify-only 6 --size rows=5,cols=70 --quiet | %check %s --check-prefix=TUNE
// RUN: %tune %t.retile --kernel scan --device cpu --verify-only 6 --size n=301 --quiet | %check %s --check-prefix=TUNE
// RUN: %tune %t.retile --kernel histogram --device cpu --verify-only 6 --size n=9001 --quiet | %check %s --check-prefix=TUNE
// RUN: %tune %t.retile --kernel layernorm_128 --device cpu --verify-only 6 --size rows=7,cols=75 --quiet | %check %s --check-prefix=TUNE
// RUN: %tune %t.retile --kernel groupQuant --device cpu --verify-only 6 --size n=37 --quiet | %check %s --check-prefix=TUNE
// RUN: %check %s --check-prefix=TEXT --input-file %t.retile/argmax.cuh

// TUNE: verified=6 mismatched=0 failed=0
// CHECK: kernel 'layernorm<128>' lifted partial: parallel row
// CHECK: COARSEN = 1
// CHECK-NEXT: PERSISTENT = 0
// CHECK: kernel 'warpSoftmax' lifted partial: parallel row
// CHECK: kernel 'onlineSoftmax' lifted partial
// CHECK: kernel 'argmax' lifted partial
// CHECK: kernel 'addRmsnorm<64>' lifted partial
// CHECK: kernel 'groupQuant' lifted partial: parallel group
// CHECK: kernel 'histogram' lifted partial
// CHECK: kernel 'scan' lifted partial
// CHECK: kernel 'ticket' lifted knobs
// CHECK: not by blocks either: the old value of an atomic update is used
// CHECK: kernel 'both' lifted knobs
// CHECK: not by blocks either: a call site passes 'out' as both 'b' and 'a'
// CHECK: kernel 'neighbours' lifted knobs
// CHECK: not by blocks either: {{.*}}race on 'y' between
// TEXT: retile_argmax_block(const float* x, int* place, int cols, const uint3 blockIdx, const dim3 gridDim)
// TEXT: for (long long retileBlock = blockIdx.x; retileBlock < retileCount; retileBlock += gridDim.x)
// TEXT: __syncthreads(); // the next one writes to the same shared memory

// Kernels whose unit is the block or the warp, in the forms that practice has. Each lifts partly, or keeps its text.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float warpSum(float v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(0xffffffffu, v, offset);
  return v;
}

// Two-stage block reduction with a final warp.
template <int N> __device__ float blockSum(float v) {
  __shared__ float parts[N / 32];
  __shared__ float total;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  v = warpSum(v);
  if (lane == 0) parts[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = warpSum(lane < N / 32 ? parts[lane] : 0.0f);
    if (lane == 0) total = v;
  }
  __syncthreads();
  return total;
}

// Two reductions a row.
template <int N> __global__ void layernorm(const float* __restrict__ x, const float* __restrict__ g, const float* __restrict__ b, float* __restrict__ y, int cols) {
  const int row = blockIdx.x;
  x += (size_t)row * cols;
  y += (size_t)row * cols;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += N) sum += x[c];
  const float mean = blockSum<N>(sum) / cols;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += N) squares += (x[c] - mean) * (x[c] - mean);
  const float scale = rsqrtf(blockSum<N>(squares) / cols + 1e-5f);
  for (int c = threadIdx.x; c < cols; c += N) y[c] = (x[c] - mean) * scale * g[c] + b[c];
}

// A warp a row.
__global__ void warpSoftmax(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float top = -INFINITY;
  for (int c = lane; c < cols; c += 32) top = fmaxf(top, x[row * cols + c]);
  for (int mask = 16; mask > 0; mask /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, mask));
  float sum = 0.0f;
  for (int c = lane; c < cols; c += 32) sum += expf(x[row * cols + c] - top);
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  for (int c = lane; c < cols; c += 32) y[row * cols + c] = expf(x[row * cols + c] - top) / sum;
}

// Maximum and sum in one pass, dynamic shared memory.
__global__ void onlineSoftmax(const float* x, float* y, int cols) {
  extern __shared__ float shared[];
  float* tops = shared;
  float* sums = shared + blockDim.x;
  const int t = threadIdx.x;
  float top = -INFINITY, sum = 0.0f;
  for (int c = t; c < cols; c += blockDim.x) {
    const float v = x[blockIdx.x * cols + c], next = fmaxf(top, v);
    sum = sum * expf(top - next) + expf(v - next);
    top = next;
  }
  tops[t] = top;
  sums[t] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) {
      const float a = tops[t], b = tops[t + s], m = fmaxf(a, b);
      sums[t] = sums[t] * (a == m ? 1.0f : expf(a - m)) + sums[t + s] * (b == m ? 1.0f : expf(b - m));
      tops[t] = m;
    }
    __syncthreads();
  }
  for (int c = t; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = expf(x[blockIdx.x * cols + c] - tops[0]) / sums[0];
}

// The place of the maximum.
__global__ void argmax(const float* x, int* place, int cols) {
  __shared__ float best[128];
  __shared__ int where[128];
  const int t = threadIdx.x;
  float top = -INFINITY;
  int at = 0;
  for (int c = t; c < cols; c += 128)
    if (x[(size_t)blockIdx.x * cols + c] > top) {
      top = x[(size_t)blockIdx.x * cols + c];
      at = c;
    }
  best[t] = top;
  where[t] = at;
  __syncthreads();
  for (int s = 64; s > 0; s >>= 1) {
    if (t < s && (best[t + s] > best[t] || (best[t + s] == best[t] && where[t + s] < where[t]))) {
      best[t] = best[t + s];
      where[t] = where[t + s];
    }
    __syncthreads();
  }
  if (t == 0) place[blockIdx.x] = where[0];
}

// In place, with two tensors written.
template <int N> __global__ void addRmsnorm(float* __restrict__ residual, const float* __restrict__ x, const float* __restrict__ g, float* __restrict__ y, int cols) {
  const size_t base = (size_t)blockIdx.x * cols;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += N) {
    const float v = residual[base + c] + x[base + c];
    residual[base + c] = v;
    squares += v * v;
  }
  const float scale = rsqrtf(blockSum<N>(squares) / cols + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += N) y[base + c] = residual[base + c] * scale * g[c];
}

// Groups of 64 in a row of half, 16 lanes a group.
__global__ void groupQuant(const half* x, signed char* q, float* scales, int groups) {
  const int group = blockIdx.x * 8 + threadIdx.x / 16, lane = threadIdx.x % 16;
  float top = 1e-8f;
  for (int e = lane; e < 64; e += 16)
    if (group < groups) top = fmaxf(top, fabsf(__half2float(x[group * 64 + e])));
  for (int mask = 8; mask > 0; mask /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, mask));
  if (group >= groups) return;
  const float scale = top / 127.0f;
  if (lane == 0) scales[group] = scale;
  for (int e = lane; e < 64; e += 16) q[group * 64 + e] = (signed char)__float2int_rn(__half2float(x[group * 64 + e]) / scale);
}

// Shared and global atomics over a grid of any size.
__global__ void histogram(const unsigned char* data, int* bins, int n) {
  __shared__ int local[128];
  for (int b = threadIdx.x; b < 128; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < 128; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

// A scan in every block.
__global__ void scan(const int* in, int* out, int* sums, int n) {
  __shared__ int buffer[64];
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
  int v = i < n ? in[i] : 0;
  buffer[t] = v;
  __syncthreads();
  for (int offset = 1; offset < 64; offset <<= 1) {
    const int before = t >= offset ? buffer[t - offset] : 0;
    __syncthreads();
    buffer[t] += before;
    __syncthreads();
  }
  if (i < n) out[i] = buffer[t];
  if (t == 63) sums[blockIdx.x] = buffer[t];
}

// Blocks that draw numbers depend on the order in which they come.
__global__ void ticket(int* next, int* order) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = atomicAdd(next, 1);
  __syncthreads();
  if (threadIdx.x == 0) order[blockIdx.x] = mine;
}

// One array under two names.
__global__ void both(const int* a, int* b, int n) {
  __shared__ int s[64];
  s[threadIdx.x] = blockIdx.x * 64 + threadIdx.x < n ? a[blockIdx.x * 64 + threadIdx.x] : 0;
  __syncthreads();
  if (blockIdx.x * 64 + threadIdx.x < n) b[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}

// A block reads what the next one writes.
__global__ void neighbours(int* y) {
  __shared__ int s[64];
  s[threadIdx.x] = y[blockIdx.x * 64 + 64 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}

void launch(const float* x, const float* g, const float* b, float* y, float* residual, int* place, const half* h, signed char* q, float* scales,
            const unsigned char* data, int* bins, const int* in, int* out, int* sums, int rows, int cols, int n) {
  layernorm<128><<<rows, 128>>>(x, g, b, y, cols);
  warpSoftmax<<<(rows + 3) / 4, 128>>>(x, y, rows, cols);
  onlineSoftmax<<<rows, 64, 2 * 64 * sizeof(float)>>>(x, y, cols);
  argmax<<<rows, 128>>>(x, place, cols);
  addRmsnorm<64><<<rows, 64>>>(residual, x, g, y, cols);
  groupQuant<<<(n + 7) / 8, 128>>>(h, q, scales, n);
  histogram<<<40, 128>>>(data, bins, n);
  scan<<<(n + 63) / 64, 64>>>(in, out, sums, n);
  ticket<<<rows, 32>>>(sums, out);
  both<<<(n + 63) / 64, 64>>>(out, out, n);
  neighbours<<<rows, 64>>>(out);
}
