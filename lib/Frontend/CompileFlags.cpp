#include "CompileFlags.h"
#include "ClangHeaders.h"

#include "llvm/Support/StringSaver.h"

namespace retile::frontend {
namespace {

enum class Action {
  Include,  ///< a directory: kept, made absolute
  System,   ///< the same, as -isystem
  Quote,    ///< the same, as -iquote
  Define,   ///< kept
  Undefine, ///< kept
  ForceInclude,
  Standard,
  CudaPath,
  Sysroot,  ///< kept with its value joined by =
  Host,     ///< flags for the host compiler, separated by commas: translated again
  Response, ///< a file with more flags
  Forget,   ///< about inputs, outputs, dependency files: of no interest
  ForgetValue,
  Other,      ///< noted for the manifest
  OtherValue, ///< the same with a value
};

struct Rule {
  const char* name;
  Action action;
};

/// Whole names; a value follows as the next word or after '='.
constexpr Rule exactRules[] = {
    {"-I", Action::Include},
    {"--include-path", Action::Include},
    {"-isystem", Action::System},
    {"--system-include", Action::System},
    {"-idirafter", Action::System},
    {"-iquote", Action::Quote},
    {"-D", Action::Define},
    {"--define-macro", Action::Define},
    {"-U", Action::Undefine},
    {"--undefine-macro", Action::Undefine},
    {"-include", Action::ForceInclude},
    {"--pre-include", Action::ForceInclude},
    {"-std", Action::Standard},
    {"--std", Action::Standard},
    {"--cuda-path", Action::CudaPath},
    {"--sysroot", Action::Sysroot},
    {"--gcc-toolchain", Action::Sysroot},
    {"-Xcompiler", Action::Host},
    {"--compiler-options", Action::Host},
    {"--options-file", Action::Response},
    {"-optf", Action::Response},
    {"-o", Action::ForgetValue},
    {"--output-file", Action::ForgetValue},
    {"-odir", Action::ForgetValue},
    {"-x", Action::ForgetValue},
    {"--x", Action::ForgetValue},
    {"-MF", Action::ForgetValue},
    {"-MT", Action::ForgetValue},
    {"-MQ", Action::ForgetValue},
    {"-L", Action::ForgetValue},
    {"-l", Action::ForgetValue},
    {"--library", Action::ForgetValue},
    {"--library-path", Action::ForgetValue},
    {"-Xlinker", Action::ForgetValue},
    {"-ccbin", Action::ForgetValue},
    {"--compiler-bindir", Action::ForgetValue},
    {"-forward-unknown-to-host-compiler", Action::Forget},
    {"--forward-unknown-to-host-compiler", Action::Forget},
    {"-t", Action::ForgetValue},
    {"--threads", Action::ForgetValue},
    {"-diag-suppress", Action::ForgetValue},
    {"--diag-suppress", Action::ForgetValue},
    {"-Xcudafe", Action::ForgetValue},
    {"--Werror", Action::ForgetValue},
    {"-target", Action::ForgetValue},
    {"-Xclang", Action::ForgetValue},
    {"-mllvm", Action::ForgetValue},
    {"-resource-dir", Action::ForgetValue},
    {"-gencode", Action::OtherValue},
    {"--generate-code", Action::OtherValue},
    {"-arch", Action::OtherValue},
    {"--gpu-architecture", Action::OtherValue},
    {"-code", Action::OtherValue},
    {"--gpu-code", Action::OtherValue},
    {"-maxrregcount", Action::OtherValue},
    {"--maxrregcount", Action::OtherValue},
    {"-Xptxas", Action::OtherValue},
    {"--ptxas-options", Action::OtherValue},
    {"-Xnvlink", Action::OtherValue},
    {"-ftz", Action::OtherValue},
    {"--ftz", Action::OtherValue},
    {"-prec-div", Action::OtherValue},
    {"--prec-div", Action::OtherValue},
    {"-prec-sqrt", Action::OtherValue},
    {"--prec-sqrt", Action::OtherValue},
    {"-fmad", Action::OtherValue},
    {"--fmad", Action::OtherValue},
    {"-rdc", Action::OtherValue},
    {"--relocatable-device-code", Action::OtherValue},
    {"-default-stream", Action::OtherValue},
    {"--default-stream", Action::OtherValue},
    {"--optimize", Action::OtherValue},
};

/// Beginnings with the value right behind.
constexpr Rule prefixRules[] = {
    {"-I", Action::Include},      {"-D", Action::Define}, {"-U", Action::Undefine},
    {"-isystem", Action::System}, {"-L", Action::Forget}, {"-l", Action::Forget},
    {"-MF", Action::Forget},      {"-M", Action::Forget}, {"-W", Action::Forget},
    {"-fPIC", Action::Forget},    {"-g", Action::Other},  {"-O", Action::Other},
    {"-m", Action::Other},        {"-f", Action::Other},
};

/// Whole names without a value that say what to produce or how to talk.
constexpr const char* silent[] = {"-c",
                                  "-dc",
                                  "-dw",
                                  "-dlink",
                                  "-ptx",
                                  "-cubin",
                                  "-fatbin",
                                  "-E",
                                  "-S",
                                  "-v",
                                  "-w",
                                  "-pg",
                                  "--verbose",
                                  "--keep",
                                  "-keep",
                                  "-MD",
                                  "-MMD",
                                  "-MP",
                                  "-M",
                                  "-MM",
                                  "-pthread",
                                  "--compile",
                                  "--device-c",
                                  "--ptx",
                                  "--cubin",
                                  "-lineinfo",
                                  "--generate-line-info",
                                  "-fsyntax-only",
                                  "--cuda-device-only",
                                  "--cuda-host-only"};

/// Walks the words of a command line once.
class Translator {
public:
  Translator(std::string directory, CompileFlags& out) : directory(std::move(directory)), out(out) {}

  void run(const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size(); ++i)
      word(words, i);
  }

private:
  std::string directory;
  CompileFlags& out;
  int depth = 0;

  std::string absolute(llvm::StringRef path) const {
    llvm::SmallString<256> full(path);
    if (!llvm::sys::path::is_absolute(full)) {
      full = directory;
      llvm::sys::path::append(full, path);
    }
    llvm::sys::path::remove_dots(full, true);
    return full.str().str();
  }

  void word(const std::vector<std::string>& words, size_t& i) {
    const llvm::StringRef flag = words[i];
    if (flag.starts_with("@"))
      return apply(Action::Response, flag, flag.drop_front());
    if (!flag.starts_with("-"))
      return;
    if (llvm::is_contained(silent, flag))
      return;
    const auto [name, value] = flag.split('=');
    for (const Rule& rule : exactRules) {
      if (name != rule.name)
        continue;
      if (flag.contains('=') || rule.action == Action::Forget)
        return apply(rule.action, flag, value);
      if (i + 1 < words.size())
        apply(rule.action, flag, words[++i], true);
      return;
    }
    for (const Rule& rule : prefixRules)
      if (flag.starts_with(rule.name))
        return apply(rule.action, flag, flag.drop_front(llvm::StringRef(rule.name).size()));
    out.other.push_back(flag.str());
  }

  void apply(Action action, llvm::StringRef flag, llvm::StringRef value, bool separate = false) {
    switch (action) {
    case Action::Include:
      return directoryFlag("-I", value, true);
    case Action::System:
      return directoryFlag("-isystem", value, true);
    case Action::Quote:
      return directoryFlag("-iquote", value, false);
    case Action::Define:
      out.clang.push_back("-D" + value.str());
      out.defines.push_back(value.contains('=') ? value.str() : value.str() + "=1");
      return;
    case Action::Undefine:
      out.clang.push_back("-U" + value.str());
      return;
    case Action::ForceInclude:
      out.clang.insert(out.clang.end(), {"-include", value.str()});
      return;
    case Action::Standard:
      return standard(value);
    case Action::CudaPath:
      out.cudaPath = value.str();
      return;
    case Action::Sysroot:
      out.clang.push_back(flag.split('=').first.str() + "=" + value.str());
      return;
    case Action::Host:
      return hostFlags(value);
    case Action::Response:
      return response(value);
    case Action::Forget:
    case Action::ForgetValue:
      return;
    case Action::Other:
    case Action::OtherValue:
      out.other.push_back(flag.str());
      if (separate)
        out.other.push_back(value.str());
    }
  }

  void directoryFlag(const char* flag, llvm::StringRef value, bool searched) {
    const std::string folder = absolute(value);
    out.clang.insert(out.clang.end(), {flag, folder});
    if (searched)
      out.includes.push_back(folder);
  }

  void standard(llvm::StringRef value) {
    static constexpr const char* known[] = {"c++20", "c++2a",   "gnu++20", "c++23",
                                            "c++2b", "gnu++23", "gnu++17"};
    out.standard = llvm::is_contained(known, value) ? value.str() : "c++17";
  }

  void hostFlags(llvm::StringRef value) {
    llvm::SmallVector<llvm::StringRef> parts;
    value.trim("\"'").split(parts, ',', -1, false);
    std::vector<std::string> words;
    for (llvm::StringRef part : parts)
      words.push_back(part.str());
    std::vector<std::string> keep = std::move(out.other);
    run(words);
    out.other = std::move(keep);
  }

  void response(llvm::StringRef path) {
    auto buffer = llvm::MemoryBuffer::getFile(absolute(path.trim("\"")));
    if (!buffer || depth > 4)
      return;
    llvm::BumpPtrAllocator memory;
    llvm::StringSaver saver(memory);
    llvm::SmallVector<const char*> words;
    llvm::cl::TokenizeGNUCommandLine((*buffer)->getBuffer(), saver, words);
    ++depth;
    run(std::vector<std::string>(words.begin(), words.end()));
    --depth;
  }
};

} // namespace

CompileFlags translateFlags(const std::vector<std::string>& flags, const std::string& directory) {
  CompileFlags out;
  Translator(directory, out).run(flags);
  return out;
}

} // namespace retile::frontend
