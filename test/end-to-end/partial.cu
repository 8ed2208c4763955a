// Point programs with pieces that only the data know: gathers, loops with loaded bounds, loops that leave early, records,
// atomic updates. All verify on test data that the analysis derives.
#include <cuda_runtime.h>

__global__ void embed(const int* ids, const float* table, float* out, int tokens, int width) {
  int t = blockIdx.y, d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d < width) out[t * width + d] = table[ids[t] * width + d];
}
void launchEmbed(const int* ids, const float* table, float* out, int n, int m) { embed<<<dim3((m + 63) / 64, n), 64>>>(ids, table, out, n, m); }

__global__ void ell(const int* len, const int* cols, const float* vals, const float* x, float* y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int k = 0; k < len[row]; ++k) sum += vals[k * n + row] * x[cols[k * n + row]];
  y[row] = sum;
}
void launchEll(const int* len, const int* cols, const float* vals, const float* x, float* y, int n) { ell<<<(n + 127) / 128, 128>>>(len, cols, vals, x, y, n); }

__global__ void csr(int n, const int* ptr, const int* cols, const float* vals, const float* x, float* y) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < n; row += gridDim.x * blockDim.x) {
    const float* v = vals + ptr[row];
    const int* c = cols + ptr[row];
    int count = ptr[row + 1] - ptr[row];
    float sum = 0;
    for (int k = 0; k < count; k++) sum += v[k] * x[c[k]];
    y[row] += sum;
  }
}
void launchCsr(int n, const int* ptr, const int* cols, const float* vals, const float* x, float* y) { csr<<<20, 64>>>(n, ptr, cols, vals, x, y); }

__global__ void coo(const int* rows, const int* cols, const float* vals, const float* x, float* y, int m) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < m) atomicAdd(&y[rows[e]], vals[e] * x[cols[e]]);
}
void launchCoo(const int* rows, const int* cols, const float* vals, const float* x, float* y, int m) { coo<<<(m + 127) / 128, 128>>>(rows, cols, vals, x, y, m); }

__global__ void histogram(const unsigned char* data, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[data[i]], 1u);
}
void launchHistogram(const unsigned char* data, unsigned* bins, int n) { histogram<<<(n + 127) / 128, 128>>>(data, bins, n); }

__global__ void mandelbrot(int* out, float scale, int n, int m) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= m || y >= n) return;
  float cr = x * scale / m - 1.5f, ci = y * scale / n - 1.0f, zr = 0, zi = 0;
  int steps = 0;
  while (zr * zr + zi * zi < 4.0f && steps < 50) {
    float t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    ++steps;
  }
  out[y * m + x] = steps;
}
void launchMandelbrot(int* out, float scale, int n, int m) { mandelbrot<<<dim3((m + 15) / 16, (n + 7) / 8), dim3(16, 8)>>>(out, scale, n, m); }

__global__ void firstBelow(const float* a, int* at, float limit, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int found = m;
  for (int k = 0; k < m; ++k) {
    if (a[i * m + k] < limit - 1.5f) {
      found = k;
      break;
    }
  }
  at[i] = found;
}
void launchFirstBelow(const float* a, int* at, float limit, int n, int m) { firstBelow<<<(n + 63) / 64, 64>>>(a, at, limit, n, m); }

__global__ void leaves(const float* a, float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < m; ++k) {
    if (a[i * m + k] > 0.9f) return;
    sum += a[i * m + k];
  }
  out[i] = sum;
}
void launchLeaves(const float* a, float* out, int n, int m) { leaves<<<(n + 63) / 64, 64>>>(a, out, n, m); }

struct Body { float x, y, z, mass; };
__global__ void forces(const Body* bodies, float* ax, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Body me = bodies[i];
  float sum = 0;
  for (int j = 0; j < n; ++j) {
    float dx = bodies[j].x - me.x, dy = bodies[j].y - me.y, dz = bodies[j].z - me.z;
    float r = dx * dx + dy * dy + dz * dz + 1e-3f;
    sum += bodies[j].mass * dx / (r * sqrtf(r));
  }
  ax[i] = sum;
}
void launchForces(const Body* bodies, float* ax, int n) { forces<<<(n + 63) / 64, 64>>>(bodies, ax, n); }

struct Vec { float x, y; __device__ Vec(float x, float y) : x(x), y(y) {} __device__ float dot(const Vec& o) const { return x * o.x + y * o.y; } __device__ void scale(float s) { x *= s; y *= s; } };
__device__ inline Vec operator+(const Vec& a, const Vec& b) { return Vec(a.x + b.x, a.y + b.y); }
__global__ void vectors(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Vec v(a[i], b[i]), w = v + Vec(1.0f, 2.0f);
  w.scale(0.5f);
  w.x += 3.0f;
  out[i] = v.dot(w);
}
void launchVectors(const float* a, const float* b, float* out, int n) { vectors<<<(n + 63) / 64, 64>>>(a, b, out, n); }

struct Quant { float scale; signed char q[8]; };
__global__ void dequant(const Quant* w, const float* x, float* y, int n, int m) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int b = 0; b < m; ++b) {
    float part = 0;
    for (int j = 0; j < 8; ++j) part += w[row * m + b].q[j] * x[b * 8 + j];
    sum += part * w[row * m + b].scale;
  }
  y[row] = sum;
}
void launchDequant(const Quant* w, const float* x, float* y, int n, int m) { dequant<<<(n + 63) / 64, 64>>>(w, x, y, n, m); }

__global__ void move(Body* bodies, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    bodies[i].x += bodies[i].mass * dt;
    bodies[i].y = bodies[i].z;
  }
}
void launchMove(Body* bodies, float dt, int n) { move<<<(n + 63) / 64, 64>>>(bodies, dt, n); }

__global__ void resize(const float* in, float* out, int n, int m, int k) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= k) return;
  float fx = x * (float)m / k, fy = y * 0.75f;
  int x0 = (int)fx, y0 = (int)fy;
  if (x0 < 0) x0 = 0;
  if (x0 > m - 1) x0 = m - 1;
  int x1 = min(x0 + 1, m - 1);
  y0 = max(0, min(y0, n - 1));
  out[y * k + x] = in[y0 * m + x0] * 0.5f + in[y0 * m + x1] * 0.5f;
}
void launchResize(const float* in, float* out, int n, int m, int k) { resize<<<dim3((k + 63) / 64, n), 64>>>(in, out, n, m, k); }

__device__ int nearest(const float* centers, float x, int k) {
  for (int c = 0; c < k; ++c)
    if (fabsf(centers[c] - x) < 0.05f) return c;
  return -1;
}
__global__ void assign(const float* points, const float* centers, int* label, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) label[i] = nearest(centers, points[i], k);
}
void launchAssign(const float* points, const float* centers, int* label, int n, int k) { assign<<<(n + 63) / 64, 64>>>(points, centers, label, n, k); }

__global__ void largest(const float* a, float* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float most = -__builtin_inff(), w[3] = {0.25f, 0.5f, 0.25f};
  for (int k = 0; k < m; k++) most = fmaxf(most, a[i * m + k] * w[k % 3]);
  out[i] = most;
}
void launchLargest(const float* a, float* out, int n, int m) { largest<<<(n + 63) / 64, 64>>>(a, out, n, m); }

__global__ void counted(const float* a, int* out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k;
  for (k = 0; k < m; k++) {
    if (a[k * n + i] > 0.5f) break;
  }
  out[i] = k;
  a += n;
  m = m / 2;
  out[i] += m;
}
void launchCounted(const float* a, int* out, int n, int m) { counted<<<(n + 63) / 64, 64>>>(a, out, n, m); }
