// The user's compiler flags, as nvcc or clang take them, sorted into what the parse needs and what only the
// manifest does.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace retile::frontend {

struct CompileFlags {
  std::vector<std::string> clang;    ///< for the parse: -I, -isystem, -D, -U, -include, --sysroot, ...
  std::vector<std::string> defines;  ///< "NAME=VALUE"; a bare -DNAME is "NAME=1"
  std::vector<std::string> includes; ///< absolute
  std::vector<std::string> other;    ///< neither above nor about inputs and outputs, as the user wrote them
  std::string standard = "c++17";    ///< at least that: the toolkit's headers need it
  std::string cudaPath;              ///< of --cuda-path
};

/// `directory` is what relative paths are relative to. Example:
///   {"-gencode", "arch=compute_80,code=sm_80", "-Iinc", "-DN=4", "--use_fast_math"}
///   -> clang {-I/dir/inc, -DN=4}, other {-gencode, arch=compute_80,code=sm_80, --use_fast_math}
CompileFlags translateFlags(const std::vector<std::string>& flags, const std::string& directory);

struct DatabaseEntry {
  std::vector<std::string> flags; ///< without the compiler's name
  std::string directory;
};

/// The entry for `file` in the first compile_commands.json found from its folder upwards (also in build/
/// beside it).
std::optional<DatabaseEntry> flagsFromDatabase(const std::string& file);

} // namespace retile::frontend
