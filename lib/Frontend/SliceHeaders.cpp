#include "SliceHeaders.h"

namespace retile::frontend {
namespace {

/// Headers that device code may need. The rest serve host code.
bool isDeviceHeader(llvm::StringRef name) {
  static constexpr const char* exact[] = {"math.h",
                                          "cmath",
                                          "stdint.h",
                                          "cstdint",
                                          "float.h",
                                          "cfloat",
                                          "limits.h",
                                          "climits",
                                          "limits",
                                          "stddef.h",
                                          "cstddef",
                                          "assert.h",
                                          "cassert",
                                          "type_traits",
                                          "utility",
                                          "mma.h",
                                          "math_constants.h",
                                          "vector_types.h",
                                          "vector_functions.h",
                                          "device_launch_parameters.h",
                                          "device_functions.h",
                                          "sm_20_atomic_functions.h",
                                          "stdio.h",
                                          "cstdio"};
  if (llvm::is_contained(exact, name))
    return true;
  for (const char* beginning : {"cuda", "cooperative_groups", "cub/", "thrust/", "curand_kernel", "cute/",
                                "cutlass/", "crt/", "cuComplex.h", "math_"})
    if (name.starts_with(beginning))
      return !name.starts_with("cuda_profiler");
  return false;
}

/// Whether a header of a library is of use: the slice names the library.
bool isUsed(llvm::StringRef header, const std::set<std::string, std::less<>>& names) {
  for (const auto& [beginning, name] : {std::pair("thrust/", "thrust"),
                                        {"cub/", "cub"},
                                        {"cute/", "cute"},
                                        {"cutlass/", "cutlass"},
                                        {"cooperative_groups", "cooperative_groups"},
                                        {"mma.h", "wmma"},
                                        {"cuda/std/", "std"}})
    if (header.starts_with(beginning))
      return names.contains(name);
  return true;
}

/// Headers of the C and C++ library that a run-time compiler has no copy of.
bool isHostedHeader(llvm::StringRef name) {
  static constexpr const char* names[] = {"math.h",         "cmath",
                                          "stdint.h",       "cstdint",
                                          "float.h",        "cfloat",
                                          "limits.h",       "climits",
                                          "limits",         "stddef.h",
                                          "cstddef",        "assert.h",
                                          "cassert",        "type_traits",
                                          "utility",        "stdio.h",
                                          "cstdio",         "device_launch_parameters.h",
                                          "cuda_runtime.h", "cuda_runtime_api.h",
                                          "cuda.h",         "device_functions.h",
                                          "cub/cub.cuh"};
  return llvm::is_contained(names, name);
}

/// A name, and the header that gives it when no header of the user's choice does.
constexpr std::pair<const char*, const char*> indirectHeaders[] = {
    {"__half", "cuda_fp16.h"},
    {"half", "cuda_fp16.h"},
    {"half2", "cuda_fp16.h"},
    {"__half2", "cuda_fp16.h"},
    {"__nv_bfloat16", "cuda_bf16.h"},
    {"nv_bfloat16", "cuda_bf16.h"},
    {"__nv_bfloat162", "cuda_bf16.h"},
    {"nv_bfloat162", "cuda_bf16.h"},
    {"__nv_fp8_e4m3", "cuda_fp8.h"},
    {"__nv_fp8_e5m2", "cuda_fp8.h"},
    {"__nv_fp8_storage_t", "cuda_fp8.h"},
    {"cuComplex", "cuComplex.h"},
    {"cuFloatComplex", "cuComplex.h"},
    {"cuDoubleComplex", "cuComplex.h"},
};

} // namespace

std::string sliceHeaders(const MacroLog& log, const std::set<std::string, std::less<>>& names) {
  std::vector<std::string> plain, hosted;
  for (const IncludeRecord& record : log.includes) {
    if (!record.system || !isDeviceHeader(record.name) || !isUsed(record.name, names))
      continue;
    const std::string line = "#include <" + record.name + ">\n";
    std::vector<std::string>& into = isHostedHeader(record.name) ? hosted : plain;
    if (!llvm::is_contained(into, line))
      into.push_back(line);
  }
  // Headers that came with a host-only one, such as cublas_v2.h.
  for (const auto& [name, header] : indirectHeaders) {
    const std::string line = std::string("#include <") + header + ">\n";
    if (names.contains(name) && log.systemIncludes.contains(header) && !llvm::is_contained(plain, line))
      plain.push_back(line);
  }
  std::string out = "#ifndef __CUDACC_RTC__\n";
  if (!llvm::is_contained(hosted, "#include <cuda_runtime.h>\n"))
    out += "#include <cuda_runtime.h>\n";
  return out + llvm::join(hosted, "") + "#endif\n" + llvm::join(plain, "");
}

} // namespace retile::frontend
