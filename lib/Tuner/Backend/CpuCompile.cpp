#include "CpuCompile.h"

#include "CandidateText.h"
#include "CpuSource.h"
#include "Subprocess.h"
#include "Toolkit.h"

#include "retile/Device/Files.h"
#include "retile/Support/File.h"
#include "retile/Support/Text.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace retile::backend {

namespace fs = std::filesystem;

namespace {

constexpr double compileSeconds = 120;

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> parts;
  for (std::string& part : split(text, '\n'))
    if (!part.empty())
      parts.push_back(std::move(part));
  return parts;
}

/// The SIMT headers as files; the folder is named by their hash.
Expected<std::string> writeSimtFiles(const ArtifactCache& cache, std::string& hash) {
  std::string all;
  for (const device::File& file : device::files())
    all += std::string(file.path) + "\n" + std::string(file.text);
  hash = manifest::sha256(all);
  const std::string root = cache.directory() + "/device-" + hash.substr(0, 16);
  for (const device::File& file : device::files()) {
    const std::string path = root + "/" + std::string(file.path);
    if (Status made = makeDirectory(fs::path(path).parent_path().string()); !made)
      return made.error();
    Expected<std::string> existing = readFile(path);
    if (existing && *existing == file.text)
      continue;
    if (Status written = writeFileAtomically(path, std::string(file.text)); !written)
      return written.error();
  }
  utimensat(AT_FDCWD, root.c_str(), nullptr, 0);
  return root;
}

/// The functions by which the runner finds the kernel and its module's variables.
std::string entryPoints(const manifest::Kernel& kernel, const std::string& entry, std::size_t arguments) {
  std::string text = "#line 1 \"retile-entry\"\n";
  text += fmt::format(
      "RETILE_SIMT_EXPORT void retile_entry(void* const* a) {{ ::retile::simt::invoke<{}>(&{}, a); }}\n",
      arguments, entry);
  for (std::size_t i = 0; i < kernel.tensors.size(); ++i)
    if (const auto& symbol = kernel.tensors[i].symbol)
      text += fmt::format(
          "RETILE_SIMT_EXPORT void* retile_symbol_{}(unsigned long long* bytes) {{ *bytes = sizeof({}); "
          "return (void*)&{}; }}\n",
          i, *symbol, *symbol);
  return text;
}

} // namespace

Expected<std::unique_ptr<CpuCompiler>> CpuCompiler::open(const std::string& directory,
                                                         const manifest::CompileFlags& flags) {
  Expected<ArtifactCache> cache = ArtifactCache::open("cpu");
  if (!cache)
    return cache.error();
  std::unique_ptr<CpuCompiler> compiler(new CpuCompiler(*cache, directory, flags));
  if (Status found = compiler->findCompiler(); !found)
    return found.error();
  Expected<std::string> folder = writeSimtFiles(*cache, compiler->sourcesHash);
  if (!folder)
    return folder.error();
  compiler->simtFolder = *folder;
  return compiler;
}

Status CpuCompiler::findCompiler() {
  const char* chosen = std::getenv("CXX");
  for (const std::string& name :
       {std::string(chosen ? chosen : ""), std::string("g++"), std::string("clang++"), std::string("c++")}) {
    if (name.empty())
      continue;
    compiler = findProgram(name);
    if (compiler.empty())
      continue;
    Expected<ProcessResult> version = runProcess({compiler, "--version"}, 20);
    if (!version || version->exitCode != 0)
      continue;
    compilerVersion = version->output.substr(0, version->output.find('\n'));
    return {};
  }
  return Error{"no C++ compiler for the cpu device", "install g++ or set CXX", ExitCode::Environment};
}

Expected<std::string> CpuCompiler::options(const std::string& text) {
  const std::string standard =
      flags.standard.find("20") != std::string::npos || flags.standard.find("23") != std::string::npos ? "20"
                                                                                                       : "17";
  std::string list = "-x\nc++\n-std=gnu++" + standard +
                     "\n-O1\n-w\n-fPIC\n-fvisibility=hidden\n-ffp-contract=off\n-fno-math-errno\n-fno-strict-aliasing\n-fno-"
                     "delete-null-pointer-checks\n-fwrapv\n";
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma"))
    list += "-mfma\n";
#endif
  list += "-I" + simtFolder + "/simt/include\n";
  const NumberFormats formats = numberFormats(text);
  if (formats.any()) {
    const std::vector<std::string> folders = cudaIncludeFolders("cuda_fp16.h");
    if (folders.empty())
      return Error{"half and fp8 types need the CUDA headers, and cuda_fp16.h was not found",
                   "they come with the CUDA toolkit or the package nvidia-cuda-runtime",
                   ExitCode::Environment};
    const auto add = [&](bool used, const char* macro, const char* file) {
      if (used)
        list += fmt::format("-DRETILE_SIMT_{}=\"{}/{}\"\n", macro, folders.front(), file);
    };
    add(formats.fp16, "FP16", "cuda_fp16.h");
    add(formats.bf16, "BF16", "cuda_bf16.h");
    add(formats.fp8, "FP8", "cuda_fp8.h");
    add(true, "VECTOR_FUNCTIONS", "vector_functions.h");
    for (const std::string& folder : folders)
      list += "-isystem\n" + folder + "\n";
  }
  return list;
}

/// Precompiles simt.h once per set of options; the plain header serves when that fails.
std::string CpuCompiler::prelude(const std::string& formatOptions) {
  const std::lock_guard<std::mutex> lock(preludeMutex);
  const std::string key = manifest::sha256(compilerVersion + formatOptions + sourcesHash).substr(0, 16);
  const std::string folder = simtFolder + "/prelude-" + key, header = folder + "/prelude.h";
  const bool isClang = compilerVersion.find("clang") != std::string::npos;
  const std::string compiled = header + (isClang ? ".pch" : ".gch");
  if (fs::exists(compiled))
    return header;
  if (!makeDirectory(folder))
    return simtFolder + "/simt/simt.h";
  if (!writeFileAtomically(header, "#include \"" + simtFolder + "/simt/simt.h\"\n"))
    return simtFolder + "/simt/simt.h";
  std::vector<std::string> command{compiler};
  for (const std::string& option : words(formatOptions))
    command.push_back(option == "c++" ? "c++-header" : option);
  const std::string temporary = fmt::format("{}.{}", compiled, getpid());
  command.insert(command.end(), {header, "-o", temporary});
  const Expected<ProcessResult> result = runProcess(command, compileSeconds);
  std::error_code failed;
  if (result && result->exitCode == 0)
    fs::rename(temporary, compiled, failed);
  else
    fs::remove(temporary, failed);
  return header;
}

std::string CpuCompiler::unitText(const tuner::Candidate& candidate, const CandidateSources& sources) const {
  const manifest::Kernel& kernel = *candidate.kernel;
  const std::size_t arguments =
      kernel.arguments.size() + (candidate.config ? kernel.extraArguments.size() : 0);
  return candidateUnit(candidate, flags.defines, {prepareForCpu(sources.reference), prepareForCpu(sources.candidate)}) +
         entryPoints(kernel, candidateEntry(candidate), arguments);
}

tuner::Compiled CpuCompiler::compile(const tuner::Candidate& candidate) {
  const auto start = std::chrono::steady_clock::now();
  tuner::Compiled result;
  Expected<CandidateSources> sources = readSources(directory, candidate);
  if (!sources) {
    result.log = sources.error().message;
    return result;
  }
  std::optional<std::string> unsupported = unsupportedOnCpu(sources->reference);
  if (!unsupported)
    unsupported = unsupportedOnCpu(sources->candidate);
  Expected<std::string> list = options(sources->reference + sources->candidate);
  if (!unsupported && !list)
    unsupported = list.error().message;
  if (unsupported) {
    result.ok = true;
    result.key = manifest::sha256(sources->reference + sources->candidate);
    result.binary = std::make_shared<CpuBinary>(CpuBinary{"", "the cpu device does not run " + *unsupported});
    return result;
  }
  Expected<std::string> header = readFile(directory + "/retile.cuh");
  const std::string helpers = header ? "-iquote\n" + directory + "\n" : "";
  std::string unitOptions = *list + helpers + "-iquote\n" + simtFolder + "\n";
  for (const std::string& include : flags.includes)
    unitOptions += "-I" + include + "\n";
  const std::string text = unitText(candidate, *sources);
  const std::string key = manifest::sha256(compilerVersion + "\n" + unitOptions + "\n" + sourcesHash + "\n" +
                                           (header ? *header : "") + "\n" + text);
  result = compileUnit(text, key, unitOptions + "-include\n" + prelude(*list) + "\n");
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

tuner::Compiled CpuCompiler::compileUnit(const std::string& text, const std::string& key,
                                         const std::string& options) {
  tuner::Compiled result;
  result.key = key;
  const std::string object = cache.path(key, ".so");
  if (!cache.has(key, ".so")) {
    const std::string stem = fmt::format("{}.{}.{}", object, getpid(), fmt::ptr(&result));
    const std::string source = stem + ".cpp", temporary = stem + ".tmp";
    if (!(std::ofstream(source) << text << std::flush)) {
      result.log = "cannot write " + source;
      return result;
    }
    std::vector<std::string> command{compiler};
    for (const std::string& option : words(options))
      command.push_back(option);
    command.insert(command.end(), {"-shared", source, "-o", temporary});
    const Expected<ProcessResult> run = runProcess(command, compileSeconds);
    std::error_code failed;
    fs::remove(source, failed);
    if (!run || run->exitCode != 0) {
      result.log = !run            ? run.error().message
                   : run->timedOut ? fmt::format("the compiler was stopped after {} s", compileSeconds)
                                   : run->output;
      fs::remove(temporary, failed);
      return result;
    }
    fs::rename(temporary, object, failed);
  }
  result.ok = true;
  result.binary = std::make_shared<CpuBinary>(CpuBinary{object, ""});
  return result;
}

} // namespace retile::backend
