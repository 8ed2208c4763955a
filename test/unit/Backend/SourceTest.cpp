#include "lib/Tuner/Backend/CpuSource.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace retile::backend;

namespace {

/// The rewritten text with runs of blanks as one.
std::string prepared(const std::string& text) {
  std::string out;
  for (const char c : prepareForCpu(text))
    if (c != ' ' || (!out.empty() && out.back() != ' '))
      out += c;
  return out;
}

const std::string memory = "::retile::simt::dynamicShared()";

} // namespace

TEST(CpuSource, DynamicSharedArraysBecomePointers) {
  EXPECT_EQ(prepared("void f() { extern __shared__ float s[]; }"),
            "void f() { float * const s = reinterpret_cast<float *>(" + memory + "); }");
  EXPECT_EQ(prepared("void f() { extern __shared__ __align__(16) unsigned char raw[]; }"),
            "void f() { unsigned char * const raw = reinterpret_cast<unsigned char *>(" + memory + "); }");
  EXPECT_EQ(prepared("void f() { extern volatile __shared__ int s[]; }"),
            "void f() { volatile int * const s = reinterpret_cast<volatile int *>(" + memory + "); }");
  EXPECT_EQ(prepared("void f() { extern __shared__ float s[][33]; }"),
            "void f() { float (* const s)[ 33 ] = reinterpret_cast<float (*)[ 33 ] >(" + memory + "); }");
  EXPECT_EQ(prepared("extern __shared__ float s[];\nvoid f() {}"),
            "static const ::retile::simt::DynamicShared<float > s{};\nvoid f() {}");
  EXPECT_EQ(prepared("namespace a { extern __shared__ float s[]; }").find("namespace a { static const"), 0u);
}

TEST(CpuSource, LinesStay) {
  const std::string text = "void f() {\n  extern __shared__\n    float s[],\n  t[];\n  int line5;\n}";
  const std::string out = prepareForCpu(text);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
  EXPECT_NE(out.find("const t ="), std::string::npos);
}

TEST(CpuSource, StaticSharedLosesStatic) {
  EXPECT_EQ(prepared("void f() { static __shared__ float s[4]; }"), "void f() { __shared__ float s[4]; }");
  EXPECT_EQ(prepared("void f() { __shared__ static float s[4]; }"), "void f() { __shared__ float s[4]; }");
}

TEST(CpuSource, CommentsAndStringsAreLeftAlone) {
  const std::string text =
      "// extern __shared__ float s[];\nconst char* t = \"__noinline__ asm\";\n/* asm */ int n = 1'000;\n";
  EXPECT_EQ(prepareForCpu(text), text);
  EXPECT_FALSE(unsupportedOnCpu(text));
}

TEST(CpuSource, NamesWhatTheCpuCannotRun) {
  EXPECT_EQ(unsupportedOnCpu("void f() {\n  asm(\"nop;\");\n}"), "inline PTX (line 2)");
  EXPECT_EQ(unsupportedOnCpu("#include <cub/cub.cuh>\n"), "CUB (line 1)");
  EXPECT_EQ(unsupportedOnCpu("namespace cg = cooperative_groups;"), "cooperative groups (line 1)");
  EXPECT_FALSE(unsupportedOnCpu("#include <cuda_runtime.h>\n__global__ void k() { __syncthreads(); }"));
}

TEST(CpuSource, FindsNumberFormats) {
  EXPECT_TRUE(numberFormats("#include <cuda_fp16.h>\n").fp16);
  EXPECT_TRUE(numberFormats("void f(const __nv_bfloat16* x);").bf16);
  EXPECT_TRUE(numberFormats("__nv_fp8_storage_t q;").fp8);
  EXPECT_FALSE(numberFormats("// half of it\nfloat x;").any());
}
