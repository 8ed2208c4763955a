// Flags and file in, clang once over it, models out:
//
//   Options -> CompileFlags + Toolkit -> CompilerInvocation -> AST, DiagnosticList, MacroLog
//           -> Collected (kernels, launches) -> per kernel: Broken? body, call sites, slice -> Result

#include "retile/Frontend/Frontend.h"

#include "Broken.h"
#include "CallSites.h"
#include "Collect.h"
#include "CompileFlags.h"
#include "Diagnostics.h"
#include "KernelBody.h"
#include "KernelText.h"
#include "Macros.h"
#include "Shim.h"
#include "Slice.h"
#include "Toolkit.h"
#include "Types.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"

namespace retile::frontend {
namespace {

/// "ns::k<float, 4>", with canonical types and without unnamed namespaces.
std::string instanceName(const clang::FunctionDecl* kernel, bool withArguments) {
  clang::PrintingPolicy policy(kernel->getASTContext().getLangOpts());
  policy.PrintAsCanonical = true;
  policy.SuppressUnwrittenScope = true;
  policy.FullyQualifiedName = true;
  std::string text;
  llvm::raw_string_ostream out(text);
  if (withArguments)
    kernel->getNameForDiagnostic(out, policy, true);
  else
    kernel->printQualifiedName(out, policy);
  return text;
}

/// Makes the models while the AST is alive.
class Models {
public:
  Models(clang::CompilerInstance& compiler, const Options& options, const DiagnosticList& diagnostics,
         const MacroLog& log, Result& result)
      : compiler(compiler), context(compiler.getASTContext()), options(options), diagnostics(diagnostics),
        log(log), result(result) {}

  void run() {
    const Collected found = collect(context);
    header = found.header;
    const TunableMacros macros(context, log, found.functions);
    Slicer slicer(context, compiler.getPreprocessor(), log, macros);
    for (const clang::FunctionDecl* kernel : found.kernels)
      if (selected(kernel))
        add(kernel, found, macros, slicer);
    for (const clang::FunctionDecl* pattern : found.patterns)
      if (selected(pattern))
        addPattern(pattern);
    std::vector<const ParseError*> rest;
    for (const ParseError& error : diagnostics.errors)
      if (!blamed.contains(&error))
        rest.push_back(&error);
    result.messages = forgiven(rest, options.strict);
  }

  std::vector<std::string> notSelected;
  std::optional<std::string> header;

private:
  clang::CompilerInstance& compiler;
  clang::ASTContext& context;
  const Options& options;
  const DiagnosticList& diagnostics;
  const MacroLog& log;
  Result& result;
  std::set<const ParseError*> blamed;

  bool selected(const clang::FunctionDecl* kernel) {
    const std::string name = kernel->getNameAsString(), qualified = instanceName(kernel, false);
    auto glob = llvm::GlobPattern::create(options.kernelGlob);
    if (!glob) {
      llvm::consumeError(glob.takeError());
      return name == options.kernelGlob;
    }
    if (glob->match(name) || glob->match(qualified) || glob->match(instanceName(kernel, true)))
      return true;
    if (!llvm::is_contained(notSelected, qualified))
      notSelected.push_back(qualified);
    return false;
  }

  model::Kernel named(const clang::FunctionDecl* kernel) {
    model::Kernel out;
    out.name = kernel->getNameAsString();
    out.qualifiedName = instanceName(kernel, false);
    out.instance = out.qualifiedName;
    out.location = location(context.getSourceManager(), kernel->getLocation());
    return out;
  }

  void add(const clang::FunctionDecl* kernel, const Collected& found, const TunableMacros& macros,
           Slicer& slicer) {
    model::Kernel out = named(kernel);
    out.instance = instanceName(kernel, true);
    out.broken = brokenReasons(context, kernel, diagnostics.errors, blamed);
    for (const Launch& launch : found.launches)
      if (launch.kernel && launch.kernel->getCanonicalDecl() == kernel->getCanonicalDecl())
        out.callSites.push_back(callSite(context, launch, macros, out.macroSizes));
    if (out.broken.empty()) {
      buildBody(context, kernel, macros, out);
      SliceText text = slicer.slice(kernel);
      out.reference = std::move(text.reference);
      out.source = std::move(text.source);
      if (kernel->getDefinition() && kernel->getDefinition()->getBody()) out.text = kernelText(context, kernel);
    }
    result.kernels.push_back(std::move(out));
  }

  void addPattern(const clang::FunctionDecl* pattern) {
    model::Kernel out = named(pattern);
    out.broken = brokenReasons(context, pattern, diagnostics.errors, blamed);
    if (out.broken.empty())
      out.broken.emplace_back(out.location,
                              "template without a call site; launch it in this file, or instantiate it: "
                              "template __global__ void " +
                                  out.name + "<...>(...);");
    result.kernels.push_back(std::move(out));
  }
};

class ModelConsumer : public clang::ASTConsumer {
public:
  explicit ModelConsumer(std::function<void()> finish) : finish(std::move(finish)) {}
  void HandleTranslationUnit(clang::ASTContext&) override { finish(); }

private:
  std::function<void()> finish;
};

class ModelAction : public clang::ASTFrontendAction {
public:
  ModelAction(const Options& options, const DiagnosticList& diagnostics, Result& result)
      : options(options), diagnostics(diagnostics), result(result) {}

  std::vector<std::string> notSelected;
  std::optional<std::string> header;

protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    compiler.getPreprocessor().addPPCallbacks(logMacros(compiler.getPreprocessor(), log));
    return std::make_unique<ModelConsumer>([this, &compiler] {
      Models models(compiler, options, diagnostics, log, result);
      models.run();
      notSelected = std::move(models.notSelected);
      header = std::move(models.header);
    });
  }

private:
  const Options& options;
  const DiagnosticList& diagnostics;
  Result& result;
  MacroLog log;
};

std::vector<std::string> clangArguments(const Options& options, const CompileFlags& flags,
                                        const Toolkit& toolkit) {
  // The driver looks for the host's library relative to where it believes to be installed.
  llvm::SmallString<256> driver(toolkit.resourceDir);
  llvm::sys::path::append(driver, "..", "..", "..", "bin");
  llvm::sys::path::append(driver, "clang++");
  llvm::sys::path::remove_dots(driver, true);
  std::vector<std::string> words = {driver.str().str(),
                                    "-fsyntax-only",
                                    "-fno-spell-checking",
                                    "-x",
                                    "cuda",
                                    "--cuda-device-only",
                                    "--cuda-gpu-arch=" + options.arch,
                                    "-nocudalib",
                                    "-nocudainc",
                                    "-Wno-unknown-cuda-version",
                                    "-w",
                                    "-ferror-limit=0",
                                    "-std=" + flags.standard,
                                    "-resource-dir",
                                    toolkit.resourceDir,
                                    "-Xclang",
                                    "-target-sdk-version=" + toolkit.version,
                                    "-D_CG_CLUSTER_INTRINSICS_AVAILABLE"};
  words.insert(words.end(), flags.clang.begin(), flags.clang.end());
  for (const std::string& folder : toolkit.includes)
    words.insert(words.end(), {"-isystem", folder});
  words.insert(words.end(),
               {"-include", "__clang_cuda_runtime_wrapper.h", "-include", shimPath, options.file});
  return words;
}

/// The real files with our shim among them.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> filesWithShim() {
  auto ours = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  const std::string_view text = shimText();
  ours->addFile(shimPath, 0,
                llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(text.data(), text.size()), shimPath));
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::getRealFileSystem());
  files->pushOverlay(ours);
  return files;
}

struct Parsed {
  Result result;
  std::vector<ParseError> errors;
  std::vector<std::string> notSelected;
  std::optional<std::string> missingHeader, header;
  bool started = false;
};

void runClang(const Options& options, const std::vector<std::string>& words, Parsed& out) {
  DiagnosticList diagnostics;
  auto files = filesWithShim();
  clang::DiagnosticOptions diagnosticOptions;
  auto driverDiagnostics =
      clang::CompilerInstance::createDiagnostics(*files, diagnosticOptions, &diagnostics, false);
  std::vector<const char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(word.c_str());
  clang::CreateInvocationOptions how;
  how.Diags = driverDiagnostics;
  how.VFS = files;
  std::shared_ptr<clang::CompilerInvocation> invocation = clang::createInvocation(arguments, how);
  if (invocation) {
    invocation->getFrontendOpts().DisableFree = false;
    clang::CompilerInstance compiler(invocation);
    compiler.setVirtualFileSystem(files);
    compiler.setVerboseOutputStream(std::make_unique<llvm::raw_null_ostream>());
    compiler.createDiagnostics(&diagnostics, false);
    compiler.getDiagnostics().setFatalsAsError(true);
    compiler.getDiagnostics().setErrorLimit(0);
    ModelAction action(options, diagnostics, out.result);
    compiler.ExecuteAction(action);
    out.notSelected = std::move(action.notSelected);
    out.header = std::move(action.header);
    out.started = true;
  }
  out.errors = std::move(diagnostics.errors);
  out.missingHeader = std::move(diagnostics.missingHeader);
}

Status checkReadable(const std::string& file) {
  if (llvm::sys::fs::is_directory(file))
    return Error{"'" + file + "' is a folder", "name a .cu file"};
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return Error{"cannot read '" + file + "': " + llvm::StringRef(buffer.getError().message()).lower(), ""};
  if ((*buffer)->getBuffer().trim().empty())
    return Error{"'" + file + "' is empty", "name a file with __global__ functions"};
  return {};
}

std::string place(const model::Location& where) {
  return where.line ? where.file + ":" + std::to_string(where.line) + ": " : "";
}

/// Why there is nothing to work on; only called when that is so.
Error nothingUsable(const Options& options, const Parsed& parsed) {
  const std::string missing = parsed.missingHeader
                                  ? *parsed.missingHeader + "; give its folder behind --, as in: -- -Iinclude"
                                  : "flags that the file needs go behind --, as in: -- -Iinclude -DNAME=1";
  if (parsed.result.kernels.empty() && !parsed.notSelected.empty())
    return {"no kernel matches '" + options.kernelGlob + "'",
            "this file has: " + llvm::join(parsed.notSelected, ", ")};
  if (parsed.result.kernels.empty()) {
    if (parsed.header)
      return {options.file + ": no __global__ function of its own",
              "'" + *parsed.header + "' has some that this file does not launch; name that file"};
    if (parsed.errors.empty())
      return {options.file + ": no __global__ function",
              "only kernels that this file defines or launches are lifted"};
    const Message& first = parsed.errors.front().message;
    const std::string behind = parsed.missingHeader && *parsed.missingHeader != first.text
                                   ? ", and " + *parsed.missingHeader
                                   : "";
    return {options.file + ": no __global__ function could be read: " + place(first.location) + first.text +
                behind,
            missing};
  }
  const model::Kernel& kernel = parsed.result.kernels.front();
  const auto& [where, why] = kernel.broken.front();
  const std::string behind = parsed.missingHeader ? ", and " + *parsed.missingHeader : "";
  return {place(where) + "kernel '" + kernel.name + "' cannot be used: " + why + behind, missing};
}

} // namespace

Expected<Result> parse(const Options& options) {
  if (Status readable = checkReadable(options.file); !readable)
    return readable.error();
  llvm::SmallString<256> directory;
  llvm::sys::fs::current_path(directory);
  std::vector<std::string> words = options.compilerFlags;
  std::string relativeTo = directory.str().str();
  if (words.empty())
    if (auto entry = flagsFromDatabase(options.file)) {
      words = std::move(entry->flags);
      relativeTo = std::move(entry->directory);
    }
  const CompileFlags flags = translateFlags(words, relativeTo);
  Expected<Toolkit> toolkit = findToolkit(flags.cudaPath);
  if (!toolkit)
    return toolkit.error();

  Parsed parsed;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext guard;
  const std::vector<std::string> arguments = clangArguments(options, flags, *toolkit);
  if (!guard.RunSafelyOnThread([&] { runClang(options, arguments, parsed); }, 64u << 20))
    return Error{"clang crashed on '" + options.file + "'", "", ExitCode::Internal};
  if (!parsed.started) {
    const std::string why = parsed.errors.empty() ? "unknown reason" : parsed.errors.front().message.text;
    return Error{"the compiler does not accept these flags: " + why,
                 "check --arch and what stands behind --"};
  }
  const bool usable =
      llvm::any_of(parsed.result.kernels, [](const model::Kernel& k) { return k.broken.empty(); });
  if (!usable)
    return nothingUsable(options, parsed);
  Result result = std::move(parsed.result);
  result.defines = flags.defines;
  result.includes = flags.includes;
  result.otherFlags = flags.other;
  result.standard = flags.standard;
  return result;
}

} // namespace retile::frontend
