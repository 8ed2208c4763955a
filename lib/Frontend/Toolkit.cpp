#include "Toolkit.h"
#include "ClangHeaders.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

#include <cstdlib>

namespace retile::frontend {
namespace {

namespace fs = llvm::sys::fs;

std::string join(llvm::StringRef a, llvm::StringRef b, llvm::StringRef c = "") {
  llvm::SmallString<256> path(a);
  llvm::sys::path::append(path, b);
  if (!c.empty())
    llvm::sys::path::append(path, c);
  return path.str().str();
}

bool hasFile(llvm::StringRef folder, llvm::StringRef name) { return fs::exists(join(folder, name)); }

/// The number after `#define CUDA_VERSION` in cuda.h, 13000 as "13.0"; empty when there is none.
std::string cudaVersion(const std::string& includeDir) {
  auto buffer = llvm::MemoryBuffer::getFile(join(includeDir, "cuda.h"));
  if (!buffer)
    return "";
  llvm::StringRef rest = (*buffer)->getBuffer();
  const llvm::StringRef key = "#define CUDA_VERSION ";
  const size_t at = rest.find(key);
  int number = 0;
  if (at == llvm::StringRef::npos || rest.substr(at + key.size()).ltrim().consumeInteger(10, number))
    return "";
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// A root that has include/cuda_runtime.h, as a toolkit has it.
bool fromRoot(const std::string& root, Toolkit& found) {
  for (const char* sub : {"include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"}) {
    const std::string include = join(root, sub);
    if (!hasFile(include, "cuda_runtime.h") || !hasFile(include, "cuda.h"))
      continue;
    found.includes = {include};
    if (fs::is_directory(join(include, "cccl")))
      found.includes.push_back(join(include, "cccl"));
    found.version = cudaVersion(include);
    return true;
  }
  return false;
}

/// The nvidia folder of a site-packages: cu13/ (one tree) or cuda_runtime/, cuda_nvcc/, cuda_cccl/ (one a
/// wheel).
bool fromWheels(const std::string& nvidia, Toolkit& found) {
  std::error_code failure;
  for (fs::directory_iterator it(nvidia, failure), end; it != end && !failure; it.increment(failure))
    if (llvm::sys::path::filename(it->path()).starts_with("cu1") && fromRoot(it->path(), found))
      return true;
  if (!fromRoot(join(nvidia, "cuda_runtime"), found))
    return false;
  for (const char* wheel : {"cuda_nvcc", "cuda_cccl", "cuda_nvrtc"}) {
    const std::string include = join(nvidia, wheel, "include");
    if (fs::is_directory(include))
      found.includes.push_back(include);
  }
  return true;
}

/// site-packages folders of $VIRTUAL_ENV, the user's home and the system.
std::vector<std::string> sitePackages() {
  std::vector<std::string> bases;
  if (auto env = llvm::sys::Process::GetEnv("VIRTUAL_ENV"))
    bases.push_back(join(*env, "lib"));
  if (auto env = llvm::sys::Process::GetEnv("CONDA_PREFIX"))
    bases.push_back(join(*env, "lib"));
  if (auto home = llvm::sys::Process::GetEnv("HOME"))
    bases.push_back(join(*home, ".local", "lib"));
  bases.insert(bases.end(), {"/usr/local/lib", "/usr/lib"});
  std::vector<std::string> out;
  for (const std::string& base : bases) {
    std::error_code failure;
    for (fs::directory_iterator it(base, failure), end; it != end && !failure; it.increment(failure))
      if (llvm::sys::path::filename(it->path()).starts_with("python3"))
        for (const char* name : {"site-packages", "dist-packages"})
          out.push_back(join(it->path(), name, "nvidia"));
  }
  return out;
}

bool findCuda(const std::string& requested, Toolkit& found) {
  if (!requested.empty())
    return fromRoot(requested, found) || fromWheels(requested, found);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
    if (auto root = llvm::sys::Process::GetEnv(name); root && fromRoot(*root, found))
      return true;
  if (fromRoot("/usr/local/cuda", found) || fromRoot("/opt/cuda", found))
    return true;
  for (const std::string& nvidia : sitePackages())
    if (fs::is_directory(nvidia) && fromWheels(nvidia, found))
      return true;
  return fromRoot("/usr", found) || fromRoot("/usr/lib/cuda", found);
}

bool isResourceDir(const std::string& folder) {
  return fs::exists(join(folder, "include", "__clang_cuda_runtime_wrapper.h"));
}

/// $RETILE_CLANG_RESOURCE_DIR, a copy beside the binary (<prefix>/lib/clang/<major>), or where it was at
/// build time.
std::string findResourceDir() {
  if (auto env = llvm::sys::Process::GetEnv("RETILE_CLANG_RESOURCE_DIR"); env && isResourceDir(*env))
    return *env;
  static int anchor = 0;
  const std::string self = fs::getMainExecutable(nullptr, &anchor);
  const std::string prefix = llvm::sys::path::parent_path(llvm::sys::path::parent_path(self)).str();
  const std::string relative = std::string("lib/clang/") + RETILE_CLANG_MAJOR;
  for (const std::string& folder : {join(prefix, relative), std::string(RETILE_CLANG_RESOURCE_DIR),
                                    join(std::string("/usr/lib/llvm-") + RETILE_CLANG_MAJOR, relative)})
    if (isResourceDir(folder))
      return folder;
  return "";
}

} // namespace

Expected<Toolkit> findToolkit(const std::string& requested) {
  Toolkit found;
  if (!findCuda(requested, found))
    return Error{
        requested.empty() ? "no CUDA toolkit found" : "no CUDA headers in '" + requested + "'",
        "set CUDA_HOME to a toolkit, or install the wheels: pip install nvidia-cuda-runtime nvidia-cuda-nvcc "
        "nvidia-cuda-cccl",
        ExitCode::Environment};
  found.resourceDir = findResourceDir();
  if (found.resourceDir.empty())
    return Error{"clang's builtin headers are missing (__clang_cuda_runtime_wrapper.h)",
                 std::string("install the package libclang-common-") + RETILE_CLANG_MAJOR +
                     "-dev, or set RETILE_CLANG_RESOURCE_DIR",
                 ExitCode::Environment};
  return found;
}

} // namespace retile::frontend
