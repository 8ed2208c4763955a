#include "CudaCompile.h"

#include "Bytes.h"
#include "CandidateText.h"
#include "Toolkit.h"

#include "retile/Device/Files.h"
#include "retile/Support/File.h"
#include "retile/Support/Text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace retile::backend {

namespace {

constexpr std::uint32_t cacheFormat = 1;

/// The number before `unit` in a line of ptxas: "Used 40 registers, 1024 bytes smem".
int numberBefore(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == line.npos)
    return 0;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
    --begin;
  return std::atoi(std::string(line.substr(begin, at - begin)).c_str());
}

/// Stand-ins for the standard headers that originals include and NVRTC lacks: their device-relevant part.
std::map<std::string, std::string> standardHeaders() {
  const std::string integers = R"(#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;
typedef unsigned long uintptr_t; typedef long intptr_t;
namespace std { using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t; using ::int32_t; using ::uint32_t;
using ::int64_t; using ::uint64_t; using ::uintptr_t; using ::intptr_t; using ::size_t; using ::ptrdiff_t; }
)";
  const std::string limits = R"(#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
#define LONG_MAX 9223372036854775807l
#define ULONG_MAX 18446744073709551615ul
)";
  const std::string floats = R"(#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
)";
  const std::string mathematics = "#pragma once\n#define M_PI 3.14159265358979323846\n#define INFINITY "
                                  "__builtin_huge_valf()\n#define NAN __builtin_nanf(\"\")\n";
  std::map<std::string, std::string> headers;
  for (const char* name : {"stdint.h", "cstdint", "inttypes.h"})
    headers[name] = integers;
  for (const char* name : {"limits.h", "climits"})
    headers[name] = limits;
  for (const char* name : {"float.h", "cfloat"})
    headers[name] = floats;
  for (const char* name : {"math.h", "cmath"})
    headers[name] = mathematics;
  for (const char* name : {"stddef.h", "cstddef", "stdio.h", "cstdio", "stdlib.h", "cstdlib", "string.h",
                           "cstring", "assert.h", "cassert", "cuda_runtime.h", "cuda_runtime_api.h", "cuda.h",
                           "device_launch_parameters.h", "iostream", "vector", "algorithm", "string"})
    headers[name] = "#pragma once\n";
  return headers;
}

std::string encode(const CudaBinary& binary, const tuner::Resources& resources) {
  Writer out;
  out.put(cacheFormat).put(binary.entry).put(binary.symbols).put(resources).put(binary.image);
  return out.bytes;
}

bool decode(const std::string& bytes, CudaBinary& binary, tuner::Resources& resources) {
  Reader in(bytes);
  if (in.get<std::uint32_t>() != cacheFormat)
    return false;
  binary.entry = in.get<std::string>();
  binary.symbols = in.list<std::string>();
  resources = in.get<tuner::Resources>();
  binary.image = in.get<std::string>();
  return in.ok() && !binary.image.empty();
}

} // namespace

tuner::Resources parseResources(const std::string& log, const std::string& entry) {
  tuner::Resources resources;
  bool inside = false;
  for (const std::string& line : split(log, '\n')) {
    if (line.find("Compiling entry function") != line.npos)
      inside = line.find("'" + entry + "'") != line.npos;
    if (!inside)
      continue;
    if (line.find("spill stores") != line.npos)
      resources.spillBytes =
          numberBefore(line, " bytes spill stores") + numberBefore(line, " bytes spill loads");
    if (line.find("Used ") != line.npos) {
      resources.registers = numberBefore(line, " registers");
      resources.sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  return resources;
}

Expected<std::unique_ptr<CudaCompiler>>
CudaCompiler::open(const std::string& directory, const manifest::CompileFlags& flags, int capability) {
  Expected<const Nvrtc*> nvrtc = Nvrtc::open();
  if (!nvrtc)
    return nvrtc.error();
  Expected<ArtifactCache> cache = ArtifactCache::open("cuda");
  if (!cache)
    return cache.error();
  std::unique_ptr<CudaCompiler> compiler(new CudaCompiler(*nvrtc, *cache, directory, flags));
  const std::vector<int>& known = (*nvrtc)->architectures();
  const bool native = known.empty() || std::find(known.begin(), known.end(), capability) != known.end();
  int nearest = native ? capability : 0;
  for (const int candidate : known)
    if (candidate <= capability)
      nearest = std::max(nearest, candidate);
  if (nearest == 0)
    return Error{fmt::format("NVRTC {} has no code for compute capability {}.{}", (*nvrtc)->version(),
                             capability / 10, capability % 10),
                 "install another version of the CUDA toolkit", ExitCode::Environment};
  compiler->architecture = fmt::format("{}_{}", native ? "sm" : "compute", nearest);
  compiler->includes = cudaIncludeFolders("cuda_fp16.h");
  return compiler;
}

std::vector<std::string> CudaCompiler::options(bool ofCandidate) const {
  std::vector<std::string> list{"--gpu-architecture=" + architecture, "--std=" + flags.standard,
                                "--ptxas-options=-v"};
  if (flags.fastMath) {
    list.push_back("--use_fast_math");
  } else {
    list.push_back(fmt::format("--fmad={}", flags.fmad));
    list.push_back(fmt::format("--ftz={}", flags.ftz));
    list.push_back(fmt::format("--prec-div={}", flags.precDiv));
    list.push_back(fmt::format("--prec-sqrt={}", flags.precSqrt));
  }
  if (flags.maxrregcount > 0)
    list.push_back(fmt::format("--maxrregcount={}", flags.maxrregcount));
  if (ofCandidate)
    list.push_back("--include-path=" + directory);
  for (const std::string& folder : flags.includes)
    list.push_back("--include-path=" + folder);
  for (const std::string& folder : includes)
    list.push_back("--include-path=" + folder);
  return list;
}

tuner::Compiled CudaCompiler::compile(const tuner::Candidate& candidate) const {
  const auto start = std::chrono::steady_clock::now();
  const manifest::Kernel& kernel = *candidate.kernel;
  tuner::Compiled result;
  Expected<CandidateSources> sources = readSources(directory, candidate);
  if (!sources) {
    result.log = sources.error().message;
    return result;
  }
  NvrtcJob job;
  job.name = candidate.config ? kernel.templateFile : kernel.referenceFile;
  job.source = candidateUnit(candidate, flags.defines, *sources);
  job.options = options(true);
  job.headers = standardHeaders();
  job.ptx = architecture.rfind("compute", 0) == 0;
  Expected<std::string> helpers = readFile(directory + "/retile.cuh");
  if (!helpers)
    job.headers["retile.cuh"] = std::string(device::retileHeader());
  job.names.push_back(candidateEntry(candidate));
  for (const manifest::Tensor& tensor : kernel.tensors)
    if (tensor.symbol)
      job.names.push_back("&" + *tensor.symbol);
  std::string identity = version() + "\n" + join(job.options, "\n") + "\n" + join(job.names, "\n") + "\n" +
                         (helpers ? *helpers : std::string(device::retileHeader())) + "\n" + job.source;
  for (const manifest::Tensor& tensor : kernel.tensors)
    identity += tensor.symbol ? "\n" + *tensor.symbol : "\n-";
  result = compileUnit(job, manifest::sha256(identity));
  if (result.ok) {
    auto binary = std::make_shared<CudaBinary>(*static_cast<const CudaBinary*>(result.binary.get()));
    std::vector<std::string> perTensor;
    std::size_t next = 0;
    for (const manifest::Tensor& tensor : kernel.tensors)
      perTensor.push_back(tensor.symbol ? binary->symbols[next++] : "");
    binary->symbols = perTensor;
    result.binary = binary;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

tuner::Compiled CudaCompiler::compileUnit(const NvrtcJob& job, const std::string& key) const {
  tuner::Compiled result;
  result.key = key;
  auto binary = std::make_shared<CudaBinary>();
  if (const auto cached = cache.read(key, ".bin"); cached && decode(*cached, *binary, result.resources)) {
    result.ok = true;
    result.binary = binary;
    return result;
  }
  NvrtcResult compiled = nvrtc->compile(job);
  if (!compiled.ok) {
    result.log = compiled.log;
    return result;
  }
  binary->image = std::move(compiled.image);
  if (!compiled.lowered.empty())
    binary->entry = compiled.lowered.front();
  if (compiled.lowered.size() > 1)
    binary->symbols.assign(compiled.lowered.begin() + 1, compiled.lowered.end());
  result.resources = parseResources(compiled.log, binary->entry);
  (void)cache.write(key, ".bin", encode(*binary, result.resources)).operator bool();
  result.ok = true;
  result.binary = binary;
  return result;
}

Expected<std::string> CudaCompiler::harness() const {
  NvrtcJob job;
  job.name = "harness";
  job.source = std::string(device::text("harness/kernels.cuh"));
  job.headers["Elements.h"] = std::string(device::text("harness/Elements.h"));
  job.options = {"--gpu-architecture=" + architecture, "--std=c++17", "--fmad=false"};
  job.ptx = architecture.rfind("compute", 0) == 0;
  const std::string key =
      manifest::sha256(version() + join(job.options, "\n") + job.source + job.headers["Elements.h"]);
  const tuner::Compiled compiled = compileUnit(job, key);
  if (!compiled.ok)
    return Error{"the checking kernels do not compile", compiled.log, ExitCode::Internal};
  return static_cast<const CudaBinary*>(compiled.binary.get())->image;
}

} // namespace retile::backend
