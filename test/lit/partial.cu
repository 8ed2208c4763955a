// RUN: %templatize %s -o %t.retile --json --force | %check %s
// RUN: %check %s --check-prefix=TEXT < %t.retile/gather.cuh
// RUN: %check %s --check-prefix=DATA < %t.retile/manifest.json

// A gather and a loop with loaded bounds stay in the program of a point, as spelled.
// CHECK: "kernel":"gather"{{.*}}"lift":"partial","parallel":["i"],"sequential":[],"reduction":["j"]
// CHECK-SAME: S[i, j] -> x[{{.*}}0 <= {{.*}} < cols_end } # may-read
// TEXT: for (int j = ptr[i]; j < ptr[i + 1]; j += 1) {
// TEXT-NEXT: sum += x[cols[j]];
// DATA: "name": "cols"
// DATA: "data": "index"
// DATA-NEXT: "dataMax": "cols_end"
// DATA: "name": "ptr"
// DATA: "data": "offsets"
// DATA-NEXT: "dataMax": "ptr_end"
__global__ void gather(const int* ptr, const int* cols, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = ptr[i]; j < ptr[i + 1]; j++) sum += x[cols[j]];
  y[i] = sum;
}
void a(const int* ptr, const int* cols, const float* x, float* y, int n) { gather<<<(n + 63) / 64, 64>>>(ptr, cols, x, y, n); }

// Two points may write one element: nothing says that perm is a permutation.
// CHECK: "kernel":"scatter"{{.*}}"lift":"knobs"{{.*}}cannot exclude a race on 'out'
__global__ void scatter(const int* perm, const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[perm[i]] = x[i];
}
void b(const int* perm, const float* x, float* out, int n) { scatter<<<(n + 63) / 64, 64>>>(perm, x, out, n); }

// A point reads what another one writes.
// CHECK: "kernel":"inPlace"{{.*}}"lift":"knobs"{{.*}}cannot exclude a race on 'x'
__global__ void inPlace(const int* from, float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[from[i]];
}
void c(const int* from, float* x, int n) { inPlace<<<(n + 63) / 64, 64>>>(from, x, n); }

// CHECK: "kernel":"count"{{.*}}"lift":"partial"{{.*}}bins[{{.*}}0 <= {{.*}} <= 255 } # may-reduce
__global__ void count(const unsigned char* data, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[data[i]], 1u);
}
void d(const unsigned char* data, unsigned* bins, int n) { count<<<(n + 63) / 64, 64>>>(data, bins, n); }

// CHECK: "kernel":"compact"{{.*}}"lift":"knobs"{{.*}}the old value of an atomic update, which depends on the order
__global__ void compact(const float* x, float* out, int* at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) out[atomicAdd(at, 1)] = x[i];
}
void e(const float* x, float* out, int* at, int n) { compact<<<(n + 63) / 64, 64>>>(x, out, at, n); }

// A maximum and a sum of one element do not commute.
// CHECK: "kernel":"mixed"{{.*}}"lift":"knobs"{{.*}}cannot exclude a race on 'out'
__global__ void mixed(const int* at, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&out[at[i]], 1);
    atomicMax(&out[at[n - 1 - i]], 7);
  }
}
void f(const int* at, int* out, int n) { mixed<<<(n + 63) / 64, 64>>>(at, out, n); }
