#include "RtcPrelude.h"

#include <sstream>

namespace retile::frontend {
namespace {

struct Entry {
  const char* name;
  const char* text;
};

constexpr Entry integerTypes[] = {
    {"int8_t", "signed char"},    {"int16_t", "short"},
    {"int32_t", "int"},           {"int64_t", "long long"},
    {"uint8_t", "unsigned char"}, {"uint16_t", "unsigned short"},
    {"uint32_t", "unsigned int"}, {"uint64_t", "unsigned long long"},
    {"uint", "unsigned int"},     {"ushort", "unsigned short"},
    {"ulong", "unsigned long"},   {"ssize_t", "long"},
    {"intptr_t", "long long"},    {"uintptr_t", "unsigned long long"},
};

constexpr Entry constants[] = {
    {"INFINITY", "__int_as_float(0x7f800000)"},
    {"NAN", "__int_as_float(0x7fffffff)"},
    {"HUGE_VAL", "__longlong_as_double(0x7ff0000000000000LL)"},
    {"HUGE_VALF", "__int_as_float(0x7f800000)"},
    {"M_PI", "3.14159265358979323846"},
    {"M_PI_2", "1.57079632679489661923"},
    {"M_SQRT1_2", "0.70710678118654752440"},
    {"M_SQRT2", "1.41421356237309504880"},
    {"M_2_SQRTPI", "1.12837916709551257390"},
    {"M_LN2", "0.69314718055994530942"},
    {"M_LOG2E", "1.44269504088896340736"},
    {"M_E", "2.71828182845904523536"},
    {"FLT_MAX", "3.402823466e+38F"},
    {"FLT_MIN", "1.175494351e-38F"},
    {"FLT_EPSILON", "1.192092896e-07F"},
    {"DBL_MAX", "1.7976931348623157e+308"},
    {"DBL_MIN", "2.2250738585072014e-308"},
    {"DBL_EPSILON", "2.2204460492503131e-016"},
    {"CHAR_BIT", "8"},
    {"SCHAR_MAX", "127"},
    {"SCHAR_MIN", "(-128)"},
    {"UCHAR_MAX", "255"},
    {"SHRT_MAX", "32767"},
    {"SHRT_MIN", "(-32768)"},
    {"USHRT_MAX", "65535"},
    {"INT_MAX", "2147483647"},
    {"INT_MIN", "(-INT_MAX - 1)"},
    {"UINT_MAX", "4294967295u"},
    {"LONG_MAX", "9223372036854775807L"},
    {"LONG_MIN", "(-9223372036854775807L - 1)"},
    {"ULONG_MAX", "18446744073709551615uL"},
    {"LLONG_MAX", "9223372036854775807LL"},
    {"LLONG_MIN", "(-9223372036854775807LL - 1)"},
    {"ULLONG_MAX", "18446744073709551615uLL"},
    {"INT8_MAX", "127"},
    {"INT16_MAX", "32767"},
    {"INT32_MAX", "2147483647"},
    {"INT64_MAX", "9223372036854775807LL"},
    {"UINT8_MAX", "255"},
    {"UINT16_MAX", "65535"},
    {"UINT32_MAX", "4294967295u"},
    {"UINT64_MAX", "18446744073709551615uLL"},
};

/// Function-like macros of <cstdint> and <cassert>.
constexpr Entry functions[] = {
    {"assert", "assert(condition) ((void)0)"}, {"INT32_C", "INT32_C(c) c"},
    {"UINT32_C", "UINT32_C(c) c##U"},          {"INT64_C", "INT64_C(c) c##LL"},
    {"UINT64_C", "UINT64_C(c) c##ULL"},
};

/// Headers of libcu++, each with a few names of the standard library that call for it.
constexpr Entry standardHeaders[] = {
    {"cuda/std/cmath",
     "abs isinf isnan isfinite sqrt pow exp log floor ceil round fabs fmin fmax sin cos tanh"},
    {"cuda/std/complex", "complex"},
    {"cuda/std/array", "array"},
    {"cuda/std/tuple", "tuple"},
};

/// Block and warp algorithms of cub: <cub/cub.cuh> itself is more than a run-time compiler takes.
constexpr Entry cubHeaders[] = {
    {"BlockReduce", "block/block_reduce.cuh"},
    {"BlockScan", "block/block_scan.cuh"},
    {"BlockLoad", "block/block_load.cuh"},
    {"BlockStore", "block/block_store.cuh"},
    {"BlockExchange", "block/block_exchange.cuh"},
    {"BlockShuffle", "block/block_shuffle.cuh"},
    {"BlockHistogram", "block/block_histogram.cuh"},
    {"BlockRadixSort", "block/block_radix_sort.cuh"},
    {"BlockMergeSort", "block/block_merge_sort.cuh"},
    {"BlockDiscontinuity", "block/block_discontinuity.cuh"},
    {"BlockAdjacentDifference", "block/block_adjacent_difference.cuh"},
    {"WarpReduce", "warp/warp_reduce.cuh"},
    {"WarpScan", "warp/warp_scan.cuh"},
    {"WarpMergeSort", "warp/warp_merge_sort.cuh"},
    {"WarpLoad", "warp/warp_load.cuh"},
    {"WarpStore", "warp/warp_store.cuh"},
    {"WarpExchange", "warp/warp_exchange.cuh"},
};

/// min and max have no public header in some versions of libcu++.
constexpr const char* algorithm =
    "#if __has_include(<cuda/std/algorithm>)\n#include <cuda/std/algorithm>\n"
    "#elif __has_include(<cuda/std/__algorithm_>)\n#include <cuda/std/__algorithm_>\n#endif\n";

/// Functions of <cmath> that libcu++ leaves out, and the compiler has in the global namespace.
constexpr const char* globalMath[] = {"nearbyint", "rint",   "lrint",  "llrint", "erf",
                                      "erfc",      "tgamma", "lgamma", "cbrt"};

bool mentions(const char* list, const std::set<std::string, std::less<>>& names) {
  std::istringstream words(list);
  for (std::string word; words >> word;)
    if (names.contains(word))
      return true;
  return false;
}

std::string macro(const Entry& entry) {
  const std::string name = entry.name;
  return "#ifndef " + name + "\n#define " + name + " " + entry.text + "\n#endif\n";
}

} // namespace

// The 64-bit types are `long long`, as libcu++ has them under a run-time compiler: a second definition is
// then the same.
std::string rtcPrelude(const std::set<std::string, std::less<>>& names, bool usesStd) {
  std::string out;
  if (usesStd) {
    out += "#include <cuda/std/limits>\n#include <cuda/std/type_traits>\n#include <cuda/std/utility>\n";
    for (const Entry& entry : standardHeaders)
      if (mentions(entry.text, names))
        out += std::string("#include <") + entry.name + ">\n";
    if (names.contains("min") || names.contains("max"))
      out += algorithm;
    out += "namespace std {\nusing namespace cuda::std;\n";
    for (const char* name : globalMath)
      if (names.contains(name))
        out += std::string("using ::") + name + ";\n";
    out += "}\n";
  }
  if (names.contains("cub"))
    for (const Entry& entry : cubHeaders)
      if (names.contains(entry.name))
        out += std::string("#include <cub/") + entry.text + ">\n";
  for (const Entry& entry : integerTypes)
    if (names.contains(entry.name))
      out += std::string("typedef ") + entry.text + " " + entry.name + ";\n";
  if (names.contains("INT_MIN"))
    out += macro({"INT_MAX", "2147483647"});
  for (const Entry& entry : constants)
    if (names.contains(entry.name))
      out += macro(entry);
  for (const Entry& entry : functions)
    if (names.contains(entry.name))
      out += std::string("#ifndef ") + entry.name + "\n#define " + entry.text + "\n#endif\n";
  return out.empty() ? out : "#ifdef __CUDACC_RTC__\n" + out + "#endif\n";
}

} // namespace retile::frontend
