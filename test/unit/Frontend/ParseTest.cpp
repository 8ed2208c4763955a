#include "Snippet.h"

using namespace retile;
using namespace retile::test;

namespace {

std::string failure(const std::string& source) {
  const auto result = parseText(source);
  return result ? "" : result.error().message;
}

std::string reason(const Expected<frontend::Result>& result, const std::string& name) {
  const model::Kernel kernel = kernelOf(result, name);
  return kernel.broken.empty() ? "" : kernel.broken.front().second;
}

} // namespace

TEST(Parse, JudgesEachKernelByItsOwnCode) {
  const auto result = parseText(R"(
#include "missing.h"
__device__ float bad(float x) { return x + undeclared; }
template <class T> __device__ T member(T x) { return x.foo(); }
__global__ void good(float* a) { a[0] = 1; }
__global__ void callsBad(float* a) { a[0] = bad(a[1]); }
__global__ void own(float* a) { at::Tensor t; a[0] = 2; }
template <class T> __global__ void instance(T* a) { a[0] = member(a[0]); }
template <class T> __global__ void unused(T* a) { a[0] = 0; }
template <class T> __global__ void forced(T* a) { a[0] = 0; }
template __global__ void forced<int>(int*);
void host() { undefined(); }
void launch(float* a) { good<<<1, 1>>>(a); callsBad<<<1, 1>>>(a); own<<<1, 1>>>(a); instance<<<1, 1>>>(a); }
)");
  EXPECT_EQ(reason(result, "good"), "");
  EXPECT_EQ(reason(result, "forced<int>"), "");
  EXPECT_EQ(reason(result, "callsBad"), "use of undeclared identifier 'undeclared'");
  EXPECT_EQ(reason(result, "own"), "use of undeclared identifier 'at'");
  EXPECT_EQ(reason(result, "instance<float>"),
            "member reference base type 'float' is not a structure or union");
  EXPECT_EQ(reason(result, "unused").rfind("template without a call site", 0), 0u);
  ASSERT_EQ(result->messages.size(), 2u);
  EXPECT_EQ(result->messages[0].text, "'missing.h' file not found");
  EXPECT_EQ(result->messages[0].severity, frontend::Message::Warning);
  EXPECT_EQ(result->messages[1].sourceLine, "void host() { undefined(); }");
}

TEST(Parse, ClosesTheGapsToNvcc) {
  const auto result = parseText(R"(
#include <cmath>
__global__ void k(float4* v, float* a) { __stcs(v, v[1]); __stcg(a, 1.f); a[1] = __ldca(a) + __ldlu(a + 1) + min(2, 3u); }
void f(float* a, int n, float x) {
  if (isfinite(x) && !isnan(x)) k<<<min(n, 256), max(1, 2)>>>((float4*)a, a);
  cudaThreadSynchronize();
}
)");
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->messages.empty());
  EXPECT_EQ(reason(result, "k"), "");
}

TEST(Parse, SaysWhyThereIsNothingToLift) {
  EXPECT_NE(failure("  \n").find("is empty"), std::string::npos);
  EXPECT_NE(failure("int main() { return 0; }").find("no __global__ function"), std::string::npos);
  EXPECT_NE(failure("#include \"nope.h\"\nKERNEL(x)").find("snippet.cu:1: 'nope.h' file not found"),
            std::string::npos);
  EXPECT_NE(failure("\n__global__ void k(float* a) { a[0] = oops; }")
                .find("snippet.cu:2: kernel 'k' cannot be used: use of undeclared identifier 'oops'"),
            std::string::npos);
  EXPECT_NE(failure("__global__ void k(float* a) { if (a) { a[0] = 1; ").find("expected '}'"),
            std::string::npos);
  EXPECT_NE(failure(std::string("\xff\xfe\x00\x01 binary", 12)).find("no __global__ function"),
            std::string::npos);
  frontend::Options options;
  options.file = "/nonexistent/file.cu";
  EXPECT_EQ(frontend::parse(options).error().message,
            "cannot read '/nonexistent/file.cu': no such file or directory");
}

TEST(Parse, SelectsByNameAndHeader) {
  const Folder folder;
  folder.write(
      "kernels.cuh",
      "#pragma once\n__global__ void a(int* p) { p[0] = 1; }\n__global__ void b(int* p) { p[0] = 2; }\n");
  frontend::Options options;
  options.file = folder.write("main.cu", "#include \"kernels.cuh\"\nvoid f(int* p) { a<<<1, 1>>>(p); }\n");
  const auto launched = frontend::parse(options);
  ASSERT_TRUE(launched);
  ASSERT_EQ(launched->kernels.size(), 1u);
  EXPECT_EQ(launched->kernels[0].name, "a");
  options.kernelGlob = "x*";
  EXPECT_EQ(frontend::parse(options).error().note, "this file has: a");
  options.kernelGlob = "*";
  options.file = folder.write("other.cu", "#include \"kernels.cuh\"\n");
  EXPECT_NE(frontend::parse(options).error().note.find("kernels.cuh"), std::string::npos);
}
