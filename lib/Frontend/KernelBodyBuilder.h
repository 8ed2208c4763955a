// The walk from AST to model, split by subject: KernelBodyExprs.cpp (values and places), KernelBodyStmts.cpp (control),
// KernelBodyCalls.cpp (intrinsics and inlining). Side effects inside an expression become statements in front of it.
#pragma once

#include "ClangHeaders.h"
#include "Macros.h"
#include "retile/KernelModel/Model.h"

namespace retile::frontend {

class BodyBuilder {
public:
  BodyBuilder(clang::ASTContext& context, const TunableMacros& macros, model::Kernel& out)
      : context(context), sources(context.getSourceManager()), macros(macros), out(out) {}

  using Stmts = std::vector<model::StmtRef>;

  void addParameter(const clang::ParmVarDecl* parameter);
  Stmts convertBody(const clang::Stmt* body);

private:
  clang::ASTContext& context;
  const clang::SourceManager& sources;
  const TunableMacros& macros;
  model::Kernel& out;
  Stmts* sink = nullptr;                 ///< where statements in front of the current expression go
  std::map<const clang::ValueDecl*, int> variableOf;
  std::map<const clang::ValueDecl*, model::ExprRef> placeOf; ///< reference parameters and variables of inlined functions
  std::set<std::string> names;
  std::vector<const clang::FunctionDecl*> inlining;
  int resultVariable = -1;               ///< of the function being inlined; -1: none or void
  std::vector<model::ExprRef> thisPlaces; ///< objects of the methods being inlined, innermost last
  const clang::Expr* discarded = nullptr; ///< a call whose value nobody uses

  // Exprs
  model::ExprRef value(const clang::Expr* expr);
  model::ExprRef place(const clang::Expr* expr);
  model::ExprRef dereference(const model::ExprRef& pointer, clang::QualType type, const clang::Expr* at) const;
  model::ExprRef reference(const clang::DeclRefExpr* expr);
  model::ExprRef placeExpr(int variable, const clang::DeclRefExpr* use) const;
  model::ExprRef cast(const clang::CastExpr* expr);
  model::ExprRef unary(const clang::UnaryOperator* expr);
  model::ExprRef binary(const clang::BinaryOperator* expr);
  model::ExprRef subscript(const clang::ArraySubscriptExpr* expr);
  model::ExprRef property(const clang::PseudoObjectExpr* expr);
  model::ExprRef construct(const clang::CXXConstructExpr* expr);
  model::ExprRef overloaded(const clang::CXXOperatorCallExpr* expr);
  model::ExprRef assignment(const clang::Expr* target, llvm::StringRef op, const clang::Expr* source, const clang::Expr* whole);
  model::ExprRef increment(const clang::UnaryOperator* expr);
  void advance(const clang::UnaryOperator* expr, const model::ExprRef& target);
  model::ExprRef conditional(const clang::Expr* expr, std::string op, std::vector<const clang::Expr*> operands);
  model::ExprRef opaque(const clang::Expr* expr, const std::string& why);
  std::optional<std::int64_t> constant(const clang::Expr* expr) const;

  // Stmts
  void convert(const clang::Stmt* stmt);
  void discard(const clang::Expr* expr);
  Stmts nested(const clang::Stmt* stmt);
  Stmts inSink(const std::function<void()>& work);
  void declare(const clang::VarDecl* variable);
  void convertFor(const clang::ForStmt* stmt, const std::string& pragma);
  void convertWhile(const clang::Stmt* stmt, const clang::Expr* condition, const clang::Stmt* body, bool isDo);
  std::string unrollPragma(const clang::AttributedStmt* stmt);
  void emit(model::Stmt stmt, clang::SourceLocation at);
  void opaqueStmt(const clang::Stmt* stmt, const std::string& why);

  // Calls
  model::ExprRef call(const clang::CallExpr* expr);
  model::ExprRef inlineCall(const clang::CallExpr* expr, const clang::FunctionDecl* callee, model::ExprRef object = nullptr);
  model::ExprRef method(const clang::CXXMemberCallExpr* expr);
  model::ExprRef list(const clang::InitListExpr* expr);
  std::optional<model::ExprRef> builtin(const clang::CallExpr* expr, const clang::FunctionDecl* callee);
  std::optional<model::ExprRef> intrinsic(const clang::CallExpr* expr, const clang::FunctionDecl* callee);
  bool isPure(const clang::FunctionDecl* function) const;
  bool isUserCode(const clang::FunctionDecl* function) const;

  // Shared helpers
  int newVariable(model::Variable variable);
  int declareVariable(const clang::VarDecl* decl);
  model::ExprRef make(model::ExprKind kind, clang::QualType type, const clang::Expr* at, std::string text = "",
                      std::vector<model::ExprRef> operands = {}) const;
  model::ExprRef variableExpr(int variable) const;
  std::string text(const clang::Stmt* stmt) const;
  void note(clang::SourceLocation at, std::string why);
};

} // namespace retile::frontend
