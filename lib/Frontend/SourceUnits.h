// The user's declarations as pieces of text: whole top-level declarations, in source order, with the names
// they give.
#pragma once

#include "Collect.h"

#include <string>

namespace retile::frontend {

/// One or more declarations that share their text: `struct S {...} s;`, `int a, b;`, one macro that makes
/// several.
struct SourceUnit {
  clang::FileID file;
  unsigned begin = 0, end = 0; ///< characters of the file, the semicolon included
  clang::SourceLocation start;
  bool isExpansion = false; ///< the text is the use of a macro that makes whole declarations
  std::vector<const clang::Decl*> decls;
  std::vector<const clang::DeclContext*>
      contexts; ///< namespaces and extern "C" blocks around it, outermost first
};

class SourceUnits {
public:
  explicit SourceUnits(clang::ASTContext& context);

  const std::vector<SourceUnit>& all() const { return units; }

  /// The unit that has the declaration in it; -1: none, it is not the user's.
  int unitOf(const clang::Decl* decl) const;

  llvm::StringRef text(const SourceUnit& unit) const;

  /// The characters of the file that a declaration takes, the semicolon included.
  std::optional<std::pair<unsigned, unsigned>> extentOf(const clang::Decl* decl) const;

private:
  const clang::SourceManager& sources;
  const clang::LangOptions& language;
  std::vector<SourceUnit> units;
  llvm::DenseMap<const clang::Decl*, int> byDecl;

  void gather(const clang::DeclContext* within, std::vector<const clang::DeclContext*>& contexts);
  std::optional<SourceUnit> made(const clang::Decl* decl) const;
  void add(const clang::Decl* decl, const std::vector<const clang::DeclContext*>& contexts);
  void closeWithSemicolon(SourceUnit& unit) const;
  void merge();
};

/// One identifier of a text, in order.
struct Identifier {
  llvm::StringRef name;
  bool afterDot = false; ///< behind . or ->
};

/// The identifiers of `text`, lexed without preprocessing; comments and strings have none.
std::vector<Identifier> identifiers(llvm::StringRef text, const clang::LangOptions& language);

} // namespace retile::frontend
