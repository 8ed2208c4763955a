#include "Collect.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace retile::frontend {

bool isUserCode(const clang::SourceManager& sources, clang::SourceLocation where) {
  if (where.isInvalid())
    return false;
  const clang::SourceLocation at = sources.getExpansionLoc(where);
  return !sources.isInSystemHeader(at) && !sources.isWrittenInBuiltinFile(at) &&
         !sources.isWrittenInCommandLineFile(at) && sources.getFileEntryForID(sources.getFileID(at));
}

namespace {

bool isKernel(const clang::FunctionDecl* function) { return function->hasAttr<clang::CUDAGlobalAttr>(); }

/// Finds function definitions, and instantiations where there are templates.
class FunctionWalk {
public:
  FunctionWalk(const clang::SourceManager& sources, std::vector<const clang::FunctionDecl*>& out)
      : sources(sources), out(out) {}

  void context(const clang::DeclContext* within) {
    for (const clang::Decl* decl : within->decls())
      declaration(decl);
  }

private:
  const clang::SourceManager& sources;
  std::vector<const clang::FunctionDecl*>& out;

  void declaration(const clang::Decl* decl) {
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl, clang::ExportDecl>(decl)) {
      if (isUserCode(sources, decl->getLocation()) || llvm::isa<clang::LinkageSpecDecl>(decl))
        context(llvm::cast<clang::DeclContext>(decl));
      return;
    }
    if (!isUserCode(sources, decl->getLocation()))
      return;
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl))
      return add(function);
    if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(decl))
      return context(record);
    if (const auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      add(pattern->getTemplatedDecl());
      if (pattern->isCanonicalDecl())
        for (const clang::FunctionDecl* instance : pattern->specializations()) {
          const auto kind = instance->getTemplateSpecializationKind();
          if (kind != clang::TSK_ExplicitSpecialization)
            add(instance);
        }
    } else if (const auto* pattern = llvm::dyn_cast<clang::ClassTemplateDecl>(decl)) {
      context(pattern->getTemplatedDecl());
      if (pattern->isCanonicalDecl())
        for (const auto* instance : pattern->specializations())
          if (instance->getSpecializationKind() != clang::TSK_ExplicitSpecialization)
            context(instance);
    }
  }

  void add(const clang::FunctionDecl* function) {
    if (const clang::FunctionDecl* defined = function->getDefinition())
      if (defined->hasBody() && (defined == function || function->isTemplateInstantiation()))
        out.push_back(defined);
  }
};

/// The function that a callee expression names, also through a local `auto kernel = k<4>;`.
const clang::FunctionDecl* calledKernel(const clang::Expr* callee, int depth = 0) {
  callee = callee->IgnoreParenImpCasts();
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(callee))
    callee = unary->getSubExpr()->IgnoreParenImpCasts();
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(callee);
  if (!reference)
    return nullptr;
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl())) {
    const clang::FunctionDecl* defined = function->getDefinition();
    return defined ? defined : function;
  }
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
  return variable && variable->getInit() && depth < 4 ? calledKernel(variable->getInit(), depth + 1)
                                                      : nullptr;
}

/// Finds launches below a statement and remembers the way to them.
class LaunchWalk {
public:
  LaunchWalk(const clang::SourceManager& sources, const clang::FunctionDecl* host, std::vector<Launch>& out)
      : sources(sources), host(host), out(out) {}

  void statement(const clang::Stmt* at) {
    if (!at)
      return;
    path.push_back(at);
    if (const auto* call = llvm::dyn_cast<clang::CUDAKernelCallExpr>(at))
      launch(call);
    if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(at))
      lambdaBody(lambda);
    else
      for (const clang::Stmt* child : at->children())
        statement(child);
    path.pop_back();
  }

private:
  const clang::SourceManager& sources;
  const clang::FunctionDecl* host;
  std::vector<Launch>& out;
  std::vector<const clang::Stmt*> path;

  void launch(const clang::CUDAKernelCallExpr* call) {
    if (call->isTypeDependent() || !call->getConfig())
      return;
    if (sources.getFileID(sources.getExpansionLoc(call->getBeginLoc())) != sources.getMainFileID())
      return;
    const clang::FunctionDecl* kernel = calledKernel(call->getCallee());
    out.push_back({call, kernel && !kernel->isDependentContext() ? kernel : nullptr, host, path});
  }

  /// A generic lambda exists in its instantiations.
  void lambdaBody(const clang::LambdaExpr* lambda) {
    if (const clang::FunctionTemplateDecl* generic = lambda->getDependentCallOperator())
      for (const clang::FunctionDecl* instance : generic->specializations())
        statement(instance->getBody());
    else
      statement(lambda->getBody());
  }
};

} // namespace

Collected collect(clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  Collected out;
  FunctionWalk(sources, out.functions).context(context.getTranslationUnitDecl());
  llvm::SmallPtrSet<const clang::FunctionDecl*, 16> launched, instantiatedFrom;
  for (const clang::FunctionDecl* host : out.functions)
    if (!host->isDependentContext() && !isKernel(host))
      LaunchWalk(sources, host, out.launches).statement(host->getBody());
  for (const Launch& launch : out.launches)
    if (launch.kernel)
      launched.insert(launch.kernel);
  const auto inMainFile = [&](const clang::FunctionDecl* function) {
    return sources.getFileID(sources.getExpansionLoc(function->getLocation())) == sources.getMainFileID();
  };
  for (const clang::FunctionDecl* function : out.functions) {
    if (!isKernel(function))
      continue;
    if (!inMainFile(function) && !launched.contains(function) && !out.header)
      out.header = sources.getFilename(sources.getExpansionLoc(function->getLocation())).str();
    if (function->isDependentContext() || (!inMainFile(function) && !launched.contains(function)))
      continue;
    out.kernels.push_back(function);
    if (const clang::FunctionDecl* pattern = function->getTemplateInstantiationPattern())
      instantiatedFrom.insert(pattern);
  }
  for (const clang::FunctionDecl* function : out.functions)
    if (isKernel(function) && function->isDependentContext() && inMainFile(function) &&
        !instantiatedFrom.contains(function))
      out.patterns.push_back(function);
  const auto before = [&](const clang::FunctionDecl* a, const clang::FunctionDecl* b) {
    return sources.isBeforeInTranslationUnit(a->getLocation(), b->getLocation());
  };
  std::stable_sort(out.kernels.begin(), out.kernels.end(), before);
  return out;
}

} // namespace retile::frontend
