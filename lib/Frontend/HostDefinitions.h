// Where the variables of a host function get their values, and which of those values a place in it sees.
#pragma once

#include "Collect.h"

namespace retile::frontend {

/// One write to a variable, with where it stands. `order` counts statements from the start of the function,
/// in the order of the source.
struct Write {
  unsigned order = 0;
  const clang::Expr* value = nullptr; ///< null: unknown
  int member = -1;                    ///< 0, 1, 2: only .x, .y, .z of a dim3
  bool isDefault = false;             ///< a declaration without initialiser
  const clang::CompoundStmt* block =
      nullptr;                        ///< the block that it is a statement of; null: nested in something else
  const clang::Stmt* child = nullptr; ///< which statement of `block`
  const clang::Expr* allocatedBytes = nullptr; ///< written by cudaMalloc and its kin
  const clang::Stmt* lambda = nullptr;         ///< the innermost lambda around it
  std::vector<const clang::Stmt*> loops;       ///< loops around it
};

/// The writes of one host function, with the launch from whose place they are looked at.
class HostDefinitions {
public:
  HostDefinitions(const clang::FunctionDecl* host, const Launch& launch);

  /// Adds the body of a helper function that is inlined.
  void include(const clang::FunctionDecl* helper);

  /// The order of a statement; that of the launch for one never seen.
  unsigned orderOf(const clang::Stmt* at) const;
  unsigned launchOrder() const { return launchAt; }

  /// The write whose value a read at `order` sees, for all of the variable or the given member of a dim3.
  /// Null: it is the value that a parameter came with. No optional: several writes reach the read, or unknown
  /// ones.
  std::optional<const Write*> reaching(const clang::VarDecl* variable, unsigned order, int member = -1) const;

  /// Whether the variable still has at the launch the value it has at `order`.
  bool unchanged(const clang::VarDecl* variable, unsigned order) const;

  /// The only cudaMalloc of a pointer before `order`; null: none, or several.
  const Write* allocation(const clang::VarDecl* variable, unsigned order) const;

  /// Whether nothing but an allocation, or a null pointer, is ever put into a pointer variable.
  bool onlyAllocated(const clang::VarDecl* variable) const;

  bool isHostParameter(const clang::VarDecl* variable) const;

private:
  const Launch& launch;
  unsigned counter = 0, launchAt = 0;
  bool hasGoto = false; ///< any place may then come after any other
  llvm::DenseMap<const clang::Stmt*, unsigned> orders;
  llvm::DenseMap<const clang::Stmt*, std::pair<unsigned, unsigned>> loopExtents;
  llvm::DenseMap<const clang::VarDecl*, std::vector<Write>> writes;
  std::set<const clang::FunctionDecl*> included;

  struct Scan;
  bool dominates(const Write& write, unsigned order) const;
  bool inLoopWithout(const clang::Stmt* loop, unsigned inside, unsigned outside) const;
  const std::vector<Write>* of(const clang::VarDecl* variable) const;
};

/// The statements under `at`; of a lambda its body, of a generic one those of its instantiations.
std::vector<const clang::Stmt*> hostChildren(const clang::Stmt* at);

} // namespace retile::frontend
