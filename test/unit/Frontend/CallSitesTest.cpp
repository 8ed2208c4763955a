#include "Snippet.h"

using namespace retile;
using namespace retile::test;

namespace {

constexpr const char* kernel = R"(
#include <algorithm>
#include <cmath>
__global__ void k(float* a, int n, int m) { if (threadIdx.x < n) a[threadIdx.x] = m; }
static inline int divUp(int a, int b) { return (a + b - 1) / b; }
)";

/// The call sites of `k` in a file with these host functions, in order.
std::vector<model::CallSite> sites(const std::string& host) {
  return kernelOf(parseText(kernel + host), "k").callSites;
}

std::string grid(const model::CallSite& site) {
  return text(site.grid[0]) + " | " + text(site.grid[1]) + " | " + text(site.grid[2]);
}

std::string block(const model::CallSite& site) {
  return text(site.block[0]) + " | " + text(site.block[1]) + " | " + text(site.block[2]);
}

} // namespace

TEST(CallSites, ReadEveryWayToMakeDimensions) {
  const auto found = sites(R"(
    static dim3 cover(int w, int h) { return dim3(divUp(w, 32), divUp(h, 8)); }
    void f(float* a, int n, int m, dim3 given) {
      k<<<n, 64>>>(a, n, m);
      k<<<dim3(n, m), dim3(8, 4, 2)>>>(a, n, m);
      dim3 block; block.x = 128; block.y = 2;
      dim3 grid(divUp(n, block.x)); grid.y = m;
      k<<<grid, block>>>(a, n, m);
      auto copy = cover(n, m);
      k<<<copy, dim3{32u, 8u}>>>(a, n, m);
      grid = dim3(7);
      k<<<grid, given>>>(a, n, m);
      k<<<n > 4 ? dim3(1, 2) : dim3(3, 4), 1>>>(a, n, m);
    })");
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(grid(found[0]) + " , " + block(found[0]), "n | 1 | 1 , 64 | 1 | 1");
  EXPECT_EQ(grid(found[1]) + " , " + block(found[1]), "n | m | 1 , 8 | 4 | 2");
  EXPECT_EQ(grid(found[2]) + " , " + block(found[2]), "(((n + 128) - 1) / 128) | m | 1 , 128 | 2 | 1");
  EXPECT_EQ(grid(found[3]), "(((n + 32) - 1) / 32) | (((m + 8) - 1) / 8) | 1");
  EXPECT_EQ(grid(found[4]) + " , " + block(found[4]), "7 | 1 | 1 , given.x | given.y | given.z");
  EXPECT_EQ(grid(found[5]), "((n > 4) ? 1 : 3) | ((n > 4) ? 2 : 4) | ((n > 4) ? 1 : 1)");
}

TEST(CallSites, ReplaceLocalsAndInlineHelpers) {
  const auto found = sites(R"(
    namespace config { constexpr int threads = 128; enum { Rows = 4 }; struct S { static const int width = 64; }; }
    static int rounded(int n) { int half = n / 2; return half + 1; }
    void f(float* a, int n, int m) {
      const int total = n * m;
      int later; later = total / config::threads;
      auto lambda = [](int x, int y) { return x / y; };
      k<<<later, config::threads>>>(a, rounded(n), std::min(n, config::S::width));
      k<<<lambda(n, config::Rows), sizeof(float) * 8, config::Rows * sizeof(int)>>>(a, max(n, 3), static_cast<int>(m * 2L));
      k<<<(int)ceilf((float)n / 256), 256>>>(a + n, n, m);
      k<<<1, 1>>>(&a[m], n, m);
    })");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(text(found[0].grid[0]), "((n * m) / 128)");
  EXPECT_EQ(text(found[0].arguments[1]) + " , " + text(found[0].arguments[2]), "((n / 2) + 1) , min(n, 64)");
  EXPECT_EQ(text(found[1].grid[0]) + " , " + text(found[1].block[0]) + " , " + text(found[1].shared),
            "(n / 4) , 32 , 16");
  EXPECT_EQ(text(found[1].arguments[1]) + " , " + text(found[1].arguments[2]), "max(n, 3) , <int>(m * 2)");
  EXPECT_EQ(text(found[2].grid[0]), "<int>ceilf((<float>n / 256))");
  EXPECT_EQ(text(found[2].arguments[0]) + " , " + text(found[3].arguments[0]), "(a +p n) , (a +p m)");
  EXPECT_EQ(found[0].shared, nullptr);
}

// A name stands for one value only: what may have changed is opaque, and so is what was computed from it
// earlier.
TEST(CallSites, DoNotGuessWhatIsModified) {
  const auto found = sites(R"(
    int other(int);
    void change(int&);
    void f(float* a, int n, int m, bool c) {
      int x = n; if (c) x = m;
      k<<<x, 1>>>(a, n, m);
      int y = n; change(y);
      k<<<y, 1>>>(a, n, m);
      int z = other(n);
      k<<<z, 1>>>(a, n, m);
      int w = x + 1; x = 3;
      k<<<w, 1>>>(a, n, m);
      for (int s = n; s > 0; s /= 2) { int g = s / 4; k<<<g, 1>>>(a, s, m); }
      int v = n / 2; v = v / 2;
      k<<<v, 1>>>(a, n, m);
      n /= 2;
      k<<<v, 1>>>(a, n, m);
    }
    void loop(float* a, float* b, int n) { for (int i = 0; i < 3; ++i) { k<<<n, 1>>>(a, n, i); float* t = a; a = b; b = t; --n; } }
    void jump(float* a, int n) { again: k<<<n, 1>>>(a, n, 1); n /= 2; if (n) goto again; }
    void cases(float* a, int n, int m) { int q = 1; switch (m) { case 1: q = 5; break; case 2: k<<<q, 1>>>(a, n, m); } }
    )");
  ASSERT_EQ(found.size(), 10u);
  EXPECT_EQ(text(found[0].grid[0]), "{x}");
  EXPECT_EQ(text(found[1].grid[0]), "{y}");
  EXPECT_EQ(text(found[2].grid[0]), "{z}");
  EXPECT_EQ(text(found[3].grid[0]), "{w}");
  EXPECT_EQ(text(found[4].grid[0]) + " , " + text(found[4].arguments[1]), "({s} / 4) , {s}");
  EXPECT_EQ(text(found[5].grid[0]), "((n / 2) / 2)");
  EXPECT_EQ(text(found[6].grid[0]) + " , " + text(found[6].arguments[1]), "((n / 2) / 2) , {n}");
  EXPECT_EQ(text(found[7].grid[0]) + " , " + text(found[7].arguments[0]), "{n} , {a}");
  EXPECT_EQ(text(found[8].grid[0]), "{n}");
  EXPECT_EQ(text(found[9].grid[0]), "{q}");
}

TEST(CallSites, KnowAllocationsAndFoldMain) {
  const auto found = sites(R"(
    #define CHECK(x) do { if ((x) != cudaSuccess) return 1; } while (0)
    int main(int argc, char** argv) {
      int N = 1 << 20; size_t bytes = N * sizeof(float);
      float *d, *e = nullptr;
      CHECK(cudaMalloc(&d, bytes));
      CHECK(cudaMallocManaged((void**)&e, 2 * bytes));
      k<<<(N + 255) / 256, 256>>>(d, N, argc);
      float* alias = e;
      k<<<1, 1>>>(alias + 4, N, 0);
    })");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(text(found[0].grid[0]) + " , " + text(found[0].arguments[0]) + " , " +
                text(found[0].arguments[1]),
            "4096 , d , 1048576");
  ASSERT_TRUE(found[0].allocated.contains("a"));
  EXPECT_EQ(text(found[0].allocated.at("a")), "4194304");
  EXPECT_EQ(text(found[1].arguments[0]), "(e +p 4)");
  EXPECT_TRUE(found[1].allocated.empty());
}

TEST(CallSites, CollectConditionsThatHold) {
  const auto found = sites(R"(
    int f(float* a, int n, int m, bool fast) {
      if (n <= 0 || m % 4) return 1;
      if (fast && n > 8) { k<<<1, 1>>>(a, n, m); }
      else { k<<<2, 1>>>(a, n, m); }
      if (!fast) throw 1;
      n = 3;
      k<<<3, 1>>>(a, n, m);
      return 0;
    })");
  const auto conditions = [](const model::CallSite& site) {
    std::string out;
    for (const model::ExprRef& condition : site.guaranteed)
      out += text(condition) + ";";
    return out;
  };
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(conditions(found[0]), "!(n <= 0);!(m % 4);fast;(n > 8);");
  EXPECT_EQ(conditions(found[1]), "!(n <= 0);!(m % 4);!(fast && (n > 8));");
  EXPECT_EQ(conditions(found[2]), "!(n <= 0);!(m % 4);fast;");
}

TEST(CallSites, FollowTemplatesMacrosLambdasAndPointers) {
  const auto result = parseText(std::string(kernel) + R"(
    #define LAUNCH(K, N, ...) K<<<((N) + 127) / 128, 128>>>(__VA_ARGS__)
    template <class T, int B> __global__ void t(T* p, int n) { if (threadIdx.x < n) p[threadIdx.x] = T(B); }
    template <class T> void launch(T* p, int n) { constexpr int B = sizeof(T) * 32; t<T, B><<<n / B, B>>>(p, n); }
    void f(float* a, double* b, int n) {
      launch(a, n); launch<double>(b, n);
      LAUNCH(k, n, a, n, 1);
      auto generic = [&](auto extra) { LAUNCH(k, n * 2, a, n, extra); };
      generic(3);
      auto pointer = &k;
      pointer<<<5, 6>>>(a, n, 2);
    })");
  EXPECT_EQ(text(kernelOf(result, "t<float, 128>").callSites.at(0).grid[0]), "(n / 128)");
  EXPECT_EQ(text(kernelOf(result, "t<double, 256>").callSites.at(0).block[0]), "256");
  const auto found = kernelOf(result, "k").callSites;
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(text(found[0].grid[0]), "((n + 127) / 128)");
  EXPECT_EQ(text(found[1].grid[0]) + " , " + text(found[1].arguments[2]),
            "(((n * 2) + 127) / 128) , {extra}");
  EXPECT_EQ(text(found[2].grid[0]) + " , " + found[2].hostFunction, "5 , f");
}
