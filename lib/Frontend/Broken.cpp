#include "Broken.h"

#include "Collect.h"
#include "Types.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace retile::frontend {
namespace {

/// A piece of a file.
struct Extent {
  clang::FileID file;
  unsigned begin = 0, end = 0;
  bool contains(const clang::SourceManager& sources, clang::SourceLocation where) const {
    if (where.isInvalid())
      return false;
    const auto [id, offset] = sources.getDecomposedLoc(where);
    return id == file && begin <= offset && offset <= end;
  }
};

/// Follows calls from a kernel and notes what is wrong on the way.
class Judge {
public:
  Judge(clang::ASTContext& context, const std::vector<ParseError>& errors,
        std::set<const ParseError*>& blamed)
      : sources(context.getSourceManager()), errors(errors), blamed(blamed) {}

  Reasons run(const clang::FunctionDecl* kernel) {
    need(kernel);
    while (!open.empty()) {
      const clang::FunctionDecl* next = open.back();
      open.pop_back();
      function(next);
    }
    if (reasons.empty())
      reasons = std::move(vague);
    return std::move(reasons);
  }

private:
  const clang::SourceManager& sources;
  const std::vector<ParseError>& errors;
  std::set<const ParseError*>& blamed;
  Reasons reasons, vague; ///< vague ones only count when no diagnostic says more
  std::vector<const clang::FunctionDecl*> open;
  llvm::SmallPtrSet<const clang::Decl*, 16> seen;

  void need(const clang::FunctionDecl* function) {
    if (const clang::FunctionDecl* defined = function->getDefinition())
      function = defined;
    if (isUserCode(sources, function->getLocation()) && seen.insert(function).second)
      open.push_back(function);
  }

  void function(const clang::FunctionDecl* at) {
    extent(at->getSourceRange());
    if (const clang::FunctionDecl* pattern = at->getTemplateInstantiationPattern())
      extent(pattern->getSourceRange());
    if (at->isInvalidDecl())
      note(at->getLocation(), "the declaration has an error");
    for (const clang::ParmVarDecl* parameter : at->parameters())
      if (parameter->isInvalidDecl())
        note(parameter->getLocation(), "a parameter has an error");
    if (at->hasBody())
      statement(at->getBody());
  }

  void note(clang::SourceLocation where, std::string text) {
    vague.emplace_back(location(sources, where), std::move(text));
  }

  void extent(clang::SourceRange range) {
    if (range.isInvalid())
      return;
    const auto [file, begin] = sources.getDecomposedLoc(sources.getExpansionLoc(range.getBegin()));
    const clang::SourceLocation last = sources.getExpansionRange(range.getEnd()).getEnd();
    const auto [endFile, end] = sources.getDecomposedLoc(last);
    if (file != endFile)
      return;
    const Extent piece{file, begin, end};
    for (const ParseError& error : errors) {
      const bool inside = piece.contains(sources, error.location);
      const bool leadsHere =
          !inside && error.location.isValid() && sources.isInSystemHeader(error.location) &&
          llvm::any_of(error.involved, [&](auto at) { return piece.contains(sources, at); });
      if (!inside && !leadsHere)
        continue;
      blamed.insert(&error);
      if (!known(error))
        reasons.emplace_back(error.message.location, error.message.text);
    }
  }

  bool known(const ParseError& error) const {
    return llvm::any_of(reasons, [&](const auto& reason) { return reason.second == error.message.text; });
  }

  void statement(const clang::Stmt* at) {
    if (!at)
      return;
    if (llvm::isa<clang::RecoveryExpr>(at))
      note(at->getBeginLoc(), "an expression has an error");
    if (const auto* declared = llvm::dyn_cast<clang::DeclStmt>(at))
      for (const clang::Decl* decl : declared->decls())
        if (decl->isInvalidDecl())
          note(decl->getLocation(), "a declaration has an error");
    if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(at)) {
      if (const auto* callee = llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl()))
        need(callee);
    } else if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(at)) {
      if (const auto* method = llvm::dyn_cast<clang::FunctionDecl>(member->getMemberDecl()))
        need(method);
    } else if (const auto* construct = llvm::dyn_cast<clang::CXXConstructExpr>(at)) {
      need(construct->getConstructor());
    }
    for (const clang::Stmt* child : at->children())
      statement(child);
  }
};

} // namespace

Reasons brokenReasons(clang::ASTContext& context, const clang::FunctionDecl* kernel,
                      const std::vector<ParseError>& errors, std::set<const ParseError*>& blamed) {
  return Judge(context, errors, blamed).run(kernel);
}

} // namespace retile::frontend
