// One launch through the tuned dispatcher beside the original launch: both must write the same bits.
//
// The dispatcher takes the four launch parameters in the order of <<<>>> and then the kernel's arguments. It
// tests what the proof and the tuning assumed (arguments, launch, overlap, alignment, device, sizes) and
// launches the original exactly as given wherever a test fails, so a call of it is never wrong, only untuned.
#include "gemm.cu"

// Behind the original kernel, in the same translation unit.
#if __has_include("gemm.tuned.cuh")
#include "gemm.tuned.cuh"
#else
namespace retile {
/// Nothing is tuned yet: the original.
inline void gemm(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream, const float* A,
                 const float* B, float* C, int M, int N, int K) {
  ::gemm<<<grid, block, shared, stream>>>(A, B, C, M, N, K);
}
} // namespace retile
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void must(cudaError_t status, const char* what) {
  if (status == cudaSuccess)
    return;
  std::fprintf(stderr, "drop-in: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(3);
}

static float* toDevice(const std::vector<float>& values) {
  float* pointer = nullptr;
  must(cudaMalloc(&pointer, values.size() * sizeof(float)), "cudaMalloc");
  must(cudaMemcpy(pointer, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice),
       "copy to the device");
  return pointer;
}

static std::vector<float> fromDevice(const float* pointer, std::size_t count) {
  std::vector<float> values(count);
  must(cudaMemcpy(values.data(), pointer, count * sizeof(float), cudaMemcpyDeviceToHost),
       "copy from the device");
  return values;
}

static std::vector<float> someValues(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
  return values;
}

/// Whether both launches of one product write the same bits.
static bool agrees(int M, int N, int K, dim3 block) {
  const std::size_t count = static_cast<std::size_t>(M) * N;
  float* A = toDevice(someValues(static_cast<std::size_t>(M) * K, 1));
  float* B = toDevice(someValues(static_cast<std::size_t>(K) * N, 2));
  float* original = toDevice(std::vector<float>(count, -1.0f));
  float* tuned = toDevice(std::vector<float>(count, -1.0f));
  dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
  gemm<<<grid, block>>>(A, B, original, M, N, K);
  must(cudaGetLastError(), "original launch");
  retile::gemm(grid, block, 0, nullptr, A, B, tuned, M, N, K);
  must(cudaGetLastError(), "tuned launch");
  std::vector<float> expected = fromDevice(original, count), got = fromDevice(tuned, count);
  for (float* pointer : {A, B, original, tuned})
    must(cudaFree(pointer), "cudaFree");
  bool same = std::memcmp(expected.data(), got.data(), count * sizeof(float)) == 0;
  std::printf("%5d x %5d x %5d in blocks of %ux%u: %s\n", M, N, K, block.x, block.y,
              same ? "equal" : "DIFFERENT");
  return same;
}

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "drop-in: no CUDA device here\n");
    return 77;
  }
  // The tuned size class, sizes that no tile divides, small sizes, and a launch that the analysis never saw.
  bool same = agrees(2048, 2048, 2048, dim3(32, 8));
  same &= agrees(1999, 2047, 1531, dim3(32, 8));
  same &= agrees(61, 131, 37, dim3(32, 8));
  same &= agrees(512, 512, 512, dim3(16, 16));
  return same ? 0 : 1;
}
