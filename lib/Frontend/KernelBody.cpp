#include "KernelBody.h"
#include "KernelBodyBuilder.h"
#include "Types.h"

namespace retile::frontend {

using namespace clang;

void BodyBuilder::note(SourceLocation at, std::string why) {
  out.opaque.emplace_back(location(sources, at), std::move(why));
}

std::string BodyBuilder::text(const Stmt* stmt) const {
  // Tokens of a macro body have no file range: print those from the AST.
  if (!stmt->getBeginLoc().isMacroID() && !stmt->getEndLoc().isMacroID()) {
    auto range = CharSourceRange::getTokenRange(stmt->getSourceRange());
    return Lexer::getSourceText(range, sources, context.getLangOpts()).str();
  }
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  stmt->printPretty(stream, nullptr, PrintingPolicy(context.getLangOpts()));
  return printed;
}

model::ExprRef BodyBuilder::make(model::ExprKind kind, QualType type, const Expr* at, std::string text,
                                 std::vector<model::ExprRef> operands) const {
  auto expr = std::make_shared<model::Expr>();
  expr->kind = kind;
  expr->type = convertType(context, type);
  expr->text = std::move(text);
  expr->operands = std::move(operands);
  if (at) expr->location = location(sources, at->getExprLoc());
  return expr;
}

model::ExprRef BodyBuilder::variableExpr(int variable) const {
  auto expr = std::make_shared<model::Expr>();
  const model::Variable& declared = out.variables[variable];
  bool isArray = declared.kind == model::Variable::LocalArray || declared.kind == model::Variable::SharedArray ||
                 declared.kind == model::Variable::DynamicShared ||
                 (declared.kind == model::Variable::Global && !declared.extents.empty());
  expr->kind = isArray ? model::ExprKind::Array : model::ExprKind::Variable;
  expr->type = declared.type;
  expr->text = declared.name;
  expr->variable = variable;
  expr->location = declared.location;
  return expr;
}

int BodyBuilder::newVariable(model::Variable variable) {
  variable.sourceName = variable.sourceName.empty() ? variable.name : variable.sourceName;
  std::string base = variable.name.empty() ? "value" : variable.name;
  variable.name = base;
  for (int n = 2; !names.insert(variable.name).second; ++n)
    variable.name = base + std::to_string(n);
  out.variables.push_back(std::move(variable));
  return static_cast<int>(out.variables.size()) - 1;
}

static std::vector<std::int64_t> arrayExtents(ASTContext& context, QualType type, QualType& element) {
  std::vector<std::int64_t> extents;
  while (const auto* array = context.getAsConstantArrayType(type)) {
    extents.push_back(static_cast<std::int64_t>(array->getSize().getZExtValue()));
    type = array->getElementType();
  }
  element = type;
  return extents;
}

int BodyBuilder::declareVariable(const VarDecl* decl) {
  model::Variable variable;
  variable.name = decl->getNameAsString();
  variable.location = location(sources, decl->getLocation());
  QualType element = decl->getType();
  bool isShared = decl->hasAttr<CUDASharedAttr>();
  bool isGlobal = decl->hasGlobalStorage() && !decl->isStaticLocal() && !isShared;
  if (decl->getType()->isArrayType()) variable.extents = arrayExtents(context, decl->getType(), element);
  variable.type = convertType(context, element);
  variable.type.isVolatile = variable.type.isVolatile || element.isVolatileQualified();
  if (isShared && decl->getType()->isIncompleteArrayType()) {
    variable.kind = model::Variable::DynamicShared;
    variable.type = convertType(context, decl->getType()->getAsArrayTypeUnsafe()->getElementType());
  } else if (isShared) {
    variable.kind = model::Variable::SharedArray;
    if (variable.extents.empty()) variable.extents = {1};
  } else if (isGlobal) {
    variable.kind = model::Variable::Global;
    variable.sourceName = decl->getQualifiedNameAsString();
    variable.isConstantMemory = decl->hasAttr<CUDAConstantAttr>();
  } else {
    variable.kind = variable.extents.empty() ? model::Variable::Scalar : model::Variable::LocalArray;
  }
  int index = newVariable(std::move(variable));
  variableOf[decl] = index;
  return index;
}

void BodyBuilder::addParameter(const ParmVarDecl* parameter) {
  int index = declareVariable(parameter);
  out.variables[index].kind = model::Variable::Parameter;
  out.parameters.push_back(index);
}

void buildBody(ASTContext& context, const FunctionDecl* kernel, const TunableMacros& macros, model::Kernel& out) {
  kernel = kernel->getDefinition();
  if (!kernel || !kernel->getBody()) {
    out.broken.emplace_back(out.location, "kernel without a body in view");
    return;
  }
  BodyBuilder builder(context, macros, out);
  for (const ParmVarDecl* parameter : kernel->parameters())
    builder.addParameter(parameter);
  const auto constant = [&](const Expr* expr) -> std::optional<int> {
    Expr::EvalResult result;
    if (!expr || expr->isValueDependent() || !expr->EvaluateAsInt(result, context)) return std::nullopt;
    return static_cast<int>(result.Val.getInt().getExtValue());
  };
  if (const auto* bounds = kernel->getAttr<CUDALaunchBoundsAttr>()) {
    out.maxThreads = constant(bounds->getMaxThreads());
    out.minBlocks = constant(bounds->getMinBlocks());
  }
  out.body = builder.convertBody(kernel->getBody());
}

} // namespace retile::frontend
