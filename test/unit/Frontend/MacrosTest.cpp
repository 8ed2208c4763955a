#include "Snippet.h"

using namespace retile;
using namespace retile::test;
using Sizes = std::map<std::string, std::int64_t>;

TEST(Macros, OnlyRunTimeNumbersMayBeOverridden) {
  const auto result = parseText(R"(
#ifndef RUN
#define RUN (64)
#endif
#if !defined(ARG)
#define ARG 8u
#endif
#ifndef EXTENT
#define EXTENT 16
#endif
#ifndef TEMPLATE
#define TEMPLATE 2
#endif
#ifndef CONDITION
#define CONDITION 3
#endif
#ifndef CONSTANT
#define CONSTANT 5
#endif
#define FIXED 7
#ifndef EXPRESSION
#define EXPRESSION (3 + 4)
#endif
#define AT(i, j) a[(i) * RUN + (j)]
#if CONDITION > 2
#endif
constexpr int constant = CONSTANT;
template <int N> __device__ int twice() { return 2 * N; }
__global__ void k(float* a) {
  __shared__ float tile[EXTENT];
  tile[0] = EXTENT;
  for (int i = 0; i < RUN; ++i)
    AT(i, ARG) = tile[0] + CONDITION + CONSTANT + FIXED + EXPRESSION + TEMPLATE + twice<TEMPLATE>() + FLAG;
}
void f(float* a) { k<<<RUN / 32, ARG>>>(a); }
)",
                                {"-DFLAG=9"});
  const model::Kernel kernel = kernelOf(result, "k");
  EXPECT_EQ(kernel.macroSizes, (Sizes{{"ARG", 8}, {"FLAG", 9}, {"RUN", 64}}));
  EXPECT_EQ(text(kernel.callSites.at(0).grid[0]) + " , " + text(kernel.callSites.at(0).block[0]),
            "(RUN@ / 32) , ARG@");
  EXPECT_NE(kernel.reference.find("#ifndef RUN\n#define RUN (64)\n#endif"), std::string::npos);
  EXPECT_NE(kernel.reference.find("\n#define EXTENT 16\n"), std::string::npos);
}
