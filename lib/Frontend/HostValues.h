// Expressions of host code over the host function's parameters, overridable macros and literals: locals are
// replaced by their values, helper functions of one return are inlined, constants are folded.
#pragma once

#include "retile/KernelModel/Model.h"

#include "HostDefinitions.h"
#include "Macros.h"

#include <array>

namespace retile::frontend {

class HostValues {
public:
  using Dims = std::array<model::ExprRef, 3>;

  HostValues(clang::ASTContext& context, HostDefinitions& definitions, const TunableMacros& macros,
             std::map<std::string, std::int64_t>& macrosUsed)
      : context(context), definitions(definitions), macros(macros), macrosUsed(macrosUsed) {}

  /// The value of a scalar or pointer expression that is evaluated at `order`. Never null; an Opaque
  /// expression is one that could not be resolved.
  model::ExprRef value(const clang::Expr* expr, unsigned order);

  /// The three components of a dim3 expression.
  Dims dims(const clang::Expr* expr, unsigned order);
  Dims soundDims(const clang::Expr* expr, unsigned order);

  /// The host pointer variable that an expression starts from, through casts and copies, without offsets.
  /// Null: none.
  const clang::VarDecl* rootPointer(const clang::Expr* expr, unsigned order);

private:
  clang::ASTContext& context;
  HostDefinitions& definitions;
  const TunableMacros& macros;
  std::map<std::string, std::int64_t>& macrosUsed;
  std::map<const clang::VarDecl*, model::ExprRef> bound; ///< parameters of inlined helpers
  std::map<const clang::VarDecl*, Dims> boundDims;
  std::map<std::pair<const clang::VarDecl*, unsigned>, model::ExprRef> resolved; ///< by variable and write
  llvm::DenseMap<const model::Expr*, unsigned> sizes; ///< in nodes, of what was made here
  std::vector<model::ExprRef> kept;                   ///< so that no address is used twice
  int depth = 0;

  model::Expr node(model::ExprKind kind, const clang::Expr* at, std::vector<model::ExprRef> operands = {},
                   std::string text = "");
  model::ExprRef make(model::Expr made);
  model::ExprRef broken(const clang::Expr* at);
  model::ExprRef opaque(const clang::Expr* at);
  model::ExprRef opaque(const clang::Expr* at, std::string text);
  model::ExprRef literal(const clang::Expr* at, std::int64_t number, std::string text = "");

  model::ExprRef dispatch(const clang::Expr* expr, unsigned order);
  model::ExprRef integer(const clang::IntegerLiteral* at);
  model::ExprRef cast(const clang::CastExpr* at, unsigned order);
  model::ExprRef unary(const clang::UnaryOperator* at, unsigned order);
  model::ExprRef binary(const clang::BinaryOperator* at, unsigned order);
  model::ExprRef select(const clang::ConditionalOperator* at, unsigned order);
  model::ExprRef member(const clang::MemberExpr* at, unsigned order);
  model::ExprRef reference(const clang::DeclRefExpr* at, unsigned order);
  model::ExprRef variable(const clang::VarDecl* variable, const clang::Expr* at, unsigned order);
  model::ExprRef definedBy(const Write& write, const clang::VarDecl* variable, const clang::Expr* at);
  model::ExprRef call(const clang::CallExpr* at, unsigned order);
  model::ExprRef pointerSum(const clang::Expr* at, model::ExprRef pointer, model::ExprRef index, bool minus);

  bool bindParameters(const clang::FunctionDecl* callee, const clang::CallExpr* at, unsigned order);
  const clang::Expr* inlined(const clang::FunctionDecl* callee, const clang::CallExpr* at, unsigned order);
  Dims variableDims(const clang::VarDecl* variable, const clang::Expr* at, unsigned order);
  Dims constructed(const clang::CXXConstructExpr* at, unsigned order);
  Dims members(const clang::Expr* at, const model::ExprRef& base);
  model::ExprRef component(const clang::Expr* at, const clang::VarDecl* variable, int index, unsigned order);
  bool foldable(const clang::Expr* expr) const;
  std::string spelled(const clang::Expr* expr) const;
  bool stillCurrent(const model::ExprRef& value, const clang::Expr* source, unsigned order);
};

/// Whether the expression or any part of it is Opaque.
bool hasOpaque(const model::ExprRef& expr);

} // namespace retile::frontend
