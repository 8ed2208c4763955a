#include "Nvrtc.h"

#include "Toolkit.h"

#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <mutex>

namespace retile::backend {

namespace {

const std::vector<std::string> sonames{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
const char* const package = "the CUDA toolkit (cuda-nvrtc) or the Python package nvidia-cuda-nvrtc";

template <class F> bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

/// Loads the library's companion from its own folder: the loader would not look there for it.
void openBuiltins(void* function) {
  Dl_info info;
  if (dladdr(function, &info) == 0 || !info.dli_fname)
    return;
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::path(info.dli_fname).parent_path();
  for (std::filesystem::directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed))
    if (it->path().filename().string().rfind("libnvrtc-builtins.so", 0) == 0)
      dlopen(it->path().c_str(), RTLD_NOW | RTLD_GLOBAL);
}

} // namespace

Expected<const Nvrtc*> Nvrtc::open() {
  static std::mutex mutex;
  static std::unique_ptr<Nvrtc> instance;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!instance) {
    auto made = std::make_unique<Nvrtc>();
    if (Status loaded = made->load(); !loaded)
      return loaded.error();
    instance = std::move(made);
  }
  return static_cast<const Nvrtc*>(instance.get());
}

Status Nvrtc::load() {
  Expected<void*> library = openCudaLibrary(sonames, package);
  if (!library)
    return library.error();
  void* l = *library;
  const bool complete =
      find(l, "nvrtcVersion", getVersion) && find(l, "nvrtcGetErrorString", getErrorString) &&
      find(l, "nvrtcCreateProgram", createProgram) && find(l, "nvrtcDestroyProgram", destroyProgram) &&
      find(l, "nvrtcCompileProgram", compileProgram) &&
      find(l, "nvrtcAddNameExpression", addNameExpression) &&
      find(l, "nvrtcGetLoweredName", getLoweredName) && find(l, "nvrtcGetProgramLogSize", getLogSize) &&
      find(l, "nvrtcGetProgramLog", getLog) && find(l, "nvrtcGetPTXSize", getPtxSize) &&
      find(l, "nvrtcGetPTX", getPtx);
  if (!complete)
    return Error{"libnvrtc lacks a function", std::string("install ") + package, ExitCode::Environment};
  find(l, "nvrtcGetCUBINSize", getCubinSize) && find(l, "nvrtcGetCUBIN", getCubin);
  openBuiltins(reinterpret_cast<void*>(createProgram));
  int major = 0, minor = 0, count = 0;
  getVersion(&major, &minor);
  versionText = std::to_string(major) + "." + std::to_string(minor);
  if (find(l, "nvrtcGetNumSupportedArchs", getNumSupportedArchs) &&
      find(l, "nvrtcGetSupportedArchs", getSupportedArchs) && getNumSupportedArchs(&count) == 0) {
    supported.resize(static_cast<std::size_t>(count));
    getSupportedArchs(supported.data());
  }
  return {};
}

NvrtcResult Nvrtc::compile(const NvrtcJob& job) const {
  NvrtcResult result;
  std::vector<const char*> texts, names, options;
  for (const auto& [name, text] : job.headers)
    names.push_back(name.c_str()), texts.push_back(text.c_str());
  for (const std::string& option : job.options)
    options.push_back(option.c_str());
  Program program = nullptr;
  int failed = createProgram(&program, job.source.c_str(), job.name.c_str(), static_cast<int>(names.size()),
                             texts.data(), names.data());
  for (const std::string& name : job.names)
    if (failed == 0)
      failed = addNameExpression(program, name.c_str());
  if (failed == 0)
    failed = compileProgram(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  if (program && getLogSize(program, &size) == 0 && size > 1) {
    result.log.resize(size);
    getLog(program, result.log.data());
    result.log.resize(size - 1);
  }
  for (const std::string& name : job.names) {
    const char* lowered = nullptr;
    if (failed == 0)
      failed = getLoweredName(program, name.c_str(), &lowered);
    if (failed == 0)
      result.lowered.push_back(lowered);
  }
  if (failed == 0) {
    const bool cubin = !job.ptx && getCubinSize;
    failed = cubin ? getCubinSize(program, &size) : getPtxSize(program, &size);
    result.image.resize(size);
    if (failed == 0)
      failed = cubin ? getCubin(program, result.image.data()) : getPtx(program, result.image.data());
  }
  if (failed != 0 && result.log.empty())
    result.log = std::string("error: ") + getErrorString(failed);
  if (program)
    destroyProgram(&program);
  result.ok = failed == 0;
  return result;
}

} // namespace retile::backend
