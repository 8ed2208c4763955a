#include "Snippet.h"

using namespace retile;
using namespace retile::test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* source = R"(
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <iostream>
#include <vector>
using namespace std;
namespace cg = cooperative_groups;
#define TWO_PI (2 * PI)
#define PI 3.14f
#define UNUSED 1
typedef struct { float x, y; } Pair;
struct Vec { float x; __host__ __device__ Vec(float a) : x(a) {} void print() { std::cout << x; } };
__device__ Vec operator+(Vec a, Vec b) { a.x += b.x; return a; }
struct Timer { std::vector<int> v; };
__constant__ float coefficients[4];
static int hostState = 3;
constexpr int twice(int a) { return 2 * a; }
template <class T> struct Traits { static constexpr int v = 1; };
template <> struct Traits<half> { static constexpr int v = 2; };
struct Square { __device__ float operator()(float x) const { return x * x; } };
__device__ float later(float);
__device__ float only90(float x) { return x; }
namespace outer { namespace {
template <class T, class F> static __global__ void __launch_bounds__(256) run(T* a, F f) {
  __shared__ float tile[twice(4)];
  auto block = cg::this_thread_block();
  Vec q(1.f); q = q + Vec(coefficients[1]);
  Pair p{q.x, later(TWO_PI)};
#if __CUDA_ARCH__ >= 900
  p.x = only90(p.x);
#endif
  tile[block.thread_rank()] = p.x;
  a[0] = T(f(p.y) + Traits<T>::v + tile[0]);
}
}
void host(half* a) { run<<<1, 32>>>(a, Square()); std::cout << hostState; Timer t; }
}
__device__ float later(float x) { return x + 1; }
extern "C" __global__ void plain(float* a) { a[0] = PI; }
void hostPlain(float* a) { plain<<<1, 1>>>(a); }
#define UNARY(NAME, OP) \
  __global__ void NAME##Kernel(float* __restrict__ a) { a[threadIdx.x] = OP(a[threadIdx.x]); } \
  void NAME(float* a) { NAME##Kernel<<<1, 32>>>(a); }
UNARY(negate, -)
#undef UNARY
)";

} // namespace

TEST(Slice, HasWhatTheKernelNeedsAndNothingElse) {
  const auto result = parseText(source);
  const std::string text = kernelOf(result, "run").reference;
  for (const char* part :
       {"#include <cuda_fp16.h>", "#include <cooperative_groups.h>", "namespace cg = cooperative_groups;",
        "#define TWO_PI (2 * PI)", "#define PI 3.14f", "typedef struct { float x, y; } Pair;",
        "Vec operator+(Vec a, Vec b)", "coefficients[4];", "__host__ __device__ constexpr int twice",
        "struct Traits<half>", "struct Square", "__device__ float later(float);", "return x + 1;",
        "float only90", "namespace outer {\nnamespace {", "__launch_bounds__(256) run",
        "#ifndef __CUDACC_RTC__\nvoid print()"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  for (const char* part :
       {"iostream", "<vector>", "Timer", "hostState", "void host", "UNUSED", "plain", "<<<"})
    EXPECT_FALSE(has(text, part)) << part << "\n" << text;
  EXPECT_EQ(kernelOf(result, "run").instance, "outer::run<__half, Square>");
}

TEST(Slice, MarksTheKernelsDefinition) {
  const std::string text = kernelOf(parseText(source), "plain").reference;
  EXPECT_TRUE(
      has(text,
          "#ifndef RETILE_NO_REFERENCE\nextern \"C\" __global__ void plain(float* a) { a[0] = PI; }\n#endif"))
      << text;
}

TEST(Slice, PrintsKernelsThatAMacroMakesWithTheirLauncher) {
  const model::Kernel kernel = kernelOf(parseText(source), "negateKernel");
  EXPECT_TRUE(has(kernel.source, "__global__ void negateKernel(float *__restrict__ a) {")) << kernel.source;
  EXPECT_FALSE(has(kernel.reference, "UNARY")) << kernel.reference;
  EXPECT_FALSE(has(kernel.reference, "<<<")) << kernel.reference;
}

TEST(KernelText, IsCutUp) {
  const auto result = parseText(R"(
template <typename T, int N> __global__ void k(T* a, const int n) {
  if (n) for (int i = 0; i < N; ++i) a[i] = 0;
#pragma unroll
  for (int j = 0; j < n; ++j) { a[j] += 1; }
}
#define MAKE(NAME) __global__ void NAME(float* a) { a[0] = 1; }
MAKE(made)
__device__ int where() { return blockIdx.x; }
__global__ void far(int* a) { a[where()] = 1; }
void f(float* a, int* b, int n) { k<float, 4><<<1, 1>>>(a, n); made<<<1, 1>>>(a); far<<<1, 1>>>(b); }
)");
  ASSERT_TRUE(result);
  const model::SourceText text = kernelOf(result, "k<float, 4>").text;
  EXPECT_EQ(text.whyNot, "");
  EXPECT_EQ(text.templateParameters, "typename T = float, int N = 4");
  EXPECT_EQ(text.parameters, "T* a, const int n");
  ASSERT_EQ(text.loops.size(), 2u);
  EXPECT_EQ(text.body.substr(text.loops[0].begin, text.loops[0].end - text.loops[0].begin),
            "for (int i = 0; i < N; ++i) a[i] = 0;");
  EXPECT_EQ(text.loops[0].variable, "i");
  EXPECT_FALSE(text.loops[0].hasPragma);
  EXPECT_TRUE(text.loops[1].hasPragma);
  EXPECT_EQ(kernelOf(result, "made").text.whyNot, "a macro makes its parameters");
  EXPECT_TRUE(kernelOf(result, "far").text.callsUseBlockIndex);
}
