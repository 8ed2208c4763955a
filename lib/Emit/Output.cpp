// The output directory: staged beside its place, then renamed file by file, the manifest last.
#include "retile/Device/Files.h"
#include "retile/Emit/Emit.h"
#include "retile/Support/File.h"

#include <filesystem>
#include <unistd.h>

namespace retile::emit {

namespace fs = std::filesystem;

/// Files that somebody has changed since the manifest in `directory` was written.
static std::optional<std::string> editedFile(const std::string& directory, const std::map<std::string, std::string>& files) {
  auto before = manifest::load(directory);
  for (const auto& [name, contents] : files) {
    std::string path = directory + "/" + name;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    auto present = readFile(path);
    if (!present) return name;
    if (*present == contents) continue;
    if (!before) return name;
    auto known = before->files.find(name);
    if (known == before->files.end() || known->second != manifest::sha256(*present)) return name;
  }
  return std::nullopt;
}

Status writeOutput(const std::string& directory, manifest::Manifest manifest, const std::vector<Emitted>& kernels, bool force) {
  std::map<std::string, std::string> files;
  files["retile.cuh"] = std::string(device::retileHeader());
  for (const Emitted& kernel : kernels) {
    files[kernel.entry.templateFile] = kernel.templateText;
    files[kernel.entry.referenceFile] = kernel.referenceText;
    manifest.kernels.push_back(kernel.entry);
  }
  for (const auto& [name, contents] : files)
    manifest.files[name] = manifest::sha256(contents);
  std::error_code failure;
  bool existed = fs::exists(directory, failure);
  if (existed && !force)
    if (auto edited = editedFile(directory, files))
      return Error{"'" + directory + "/" + *edited + "' was edited or is not ours", "use --force to replace it, or -o for another directory", ExitCode::Input};
  // A new directory appears as a whole; an existing one is updated file by file, the manifest last.
  std::string target = existed ? directory : directory + ".new-" + std::to_string(getpid());
  // People know the directory, not what it is called while it is being made.
  auto named = [&](Error error) {
    for (size_t at = error.message.find(target); !existed && at != std::string::npos; at = error.message.find(target, at + directory.size()))
      error.message.replace(at, target.size(), directory);
    return error;
  };
  if (Status made = makeDirectory(target); !made) return named(made.error());
  auto write = [&](const std::string& name, const std::string& contents) { return writeFileAtomically(target + "/" + name, contents); };
  auto undo = [&] {
    if (!existed) fs::remove_all(target, failure);
  };
  for (const auto& [name, contents] : files)
    if (Status written = write(name, contents); !written) return undo(), named(written.error());
  if (Status written = write("manifest.json", manifest::print(manifest)); !written) return undo(), named(written.error());
  if (!existed) {
    fs::rename(target, directory, failure);
    if (failure) return undo(), Error{"cannot write '" + directory + "': " + failure.message(), "", ExitCode::Environment};
  }
  return {};
}

} // namespace retile::emit
