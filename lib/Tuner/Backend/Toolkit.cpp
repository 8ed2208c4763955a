#include "Toolkit.h"

#include "Subprocess.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>
#include <sstream>

namespace retile::backend {

namespace fs = std::filesystem;

namespace {

using Folders = std::vector<std::string>;

void addFolder(Folders& folders, const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored) && std::find(folders.begin(), folders.end(), folder) == folders.end())
    folders.push_back(folder.string());
}

/// Entries of `parent` in descending order, so that cuda-13.0 comes before cuda-12.4.
std::vector<fs::path> entries(const fs::path& parent) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator it(parent, failed), end; !failed && it != end; it.increment(failed))
    found.push_back(it->path());
  std::sort(found.rbegin(), found.rend());
  return found;
}

Folders toolkitRoots() {
  Folders roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = std::getenv(variable))
      addFolder(roots, value);
  std::error_code failed;
  const fs::path nvcc = fs::canonical(findProgram("nvcc"), failed);
  if (!failed)
    addFolder(roots, nvcc.parent_path().parent_path());
  addFolder(roots, "/usr/local/cuda");
  for (const fs::path& entry : entries("/usr/local"))
    if (entry.filename().string().rfind("cuda-", 0) == 0)
      addFolder(roots, entry);
  addFolder(roots, "/opt/cuda");
  return roots;
}

/// nvidia/* of every folder that Python imports from.
Folders wheelRoots() {
  static std::once_flag once;
  static Folders roots;
  std::call_once(once, [] {
    const Expected<ProcessResult> python =
        runProcess({"python3", "-c", "import sys; print('\\n'.join(sys.path))"}, 10);
    if (!python || python->exitCode != 0)
      return;
    std::istringstream lines(python->output);
    for (std::string line; std::getline(lines, line);)
      if (!line.empty())
        for (const fs::path& entry : entries(fs::path(line) / "nvidia"))
          addFolder(roots, entry);
  });
  return roots;
}

void* tryOpen(const std::vector<std::string>& sonames, const std::string& folder) {
  for (const std::string& soname : sonames)
    if (void* library =
            dlopen((folder.empty() ? soname : folder + "/" + soname).c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  return nullptr;
}

bool hasFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

} // namespace

std::vector<std::string> cudaLibraryFolders(bool withWheels) {
  Folders folders;
  for (const std::string& root : toolkitRoots())
    for (const char* part : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
      addFolder(folders, fs::path(root) / part);
  if (withWheels)
    for (const std::string& root : wheelRoots())
      addFolder(folders, fs::path(root) / "lib");
  return folders;
}

std::vector<std::string> cudaIncludeFolders(const std::string& header) {
  for (const bool wheels : {false, true}) {
    Folders all, found;
    for (const std::string& root : wheels ? wheelRoots() : toolkitRoots()) {
      addFolder(all, fs::path(root) / "include");
      addFolder(all, fs::path(root) / "targets/x86_64-linux/include");
    }
    if (!wheels)
      addFolder(all, "/usr/include");
    const auto owner = std::find_if(all.begin(), all.end(),
                                    [&](const std::string& f) { return hasFile(fs::path(f) / header); });
    if (owner == all.end())
      continue;
    found.push_back(*owner);
    for (const std::string& folder : all)
      if (wheels || folder == *owner) {
        addFolder(found, folder);
        addFolder(found, fs::path(folder) / "cccl");
      }
    return found;
  }
  return {};
}

Expected<void*> openCudaLibrary(const std::vector<std::string>& sonames, const std::string& package) {
  if (void* library = tryOpen(sonames, ""))
    return library;
  for (const bool wheels : {false, true})
    for (const std::string& folder : cudaLibraryFolders(wheels))
      if (void* library = tryOpen(sonames, folder))
        return library;
  return Error{sonames.front() + " was not found", "it comes with " + package, ExitCode::Environment};
}

} // namespace retile::backend
