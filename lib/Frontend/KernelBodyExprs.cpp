// Values and places: AST expressions as model expressions.
#include "KernelBodyBuilder.h"
#include "Types.h"

namespace retile::frontend {

using namespace clang;
using model::ExprKind;
using model::ExprRef;

static ExprRef intLiteral(std::int64_t value, model::Type type, model::Location at) {
  auto expr = std::make_shared<model::Expr>();
  expr->kind = ExprKind::IntLiteral;
  expr->value = value;
  // The type decides how what it meets is converted: `i - 1u` wraps below zero.
  const char* suffix = type.kind != model::Type::Int || type.bits < 32 ? "" : type.bits > 32 ? (type.isSigned ? "LL" : "ULL") : type.isSigned ? "" : "u";
  expr->text = std::to_string(value) + suffix;
  expr->type = std::move(type);
  expr->location = std::move(at);
  return expr;
}

std::optional<std::int64_t> BodyBuilder::constant(const Expr* expr) const {
  Expr::EvalResult result;
  if (expr->isValueDependent() || !expr->getType()->isIntegralOrEnumerationType() ||
      !expr->EvaluateAsInt(result, context, Expr::SE_NoSideEffects))
    return std::nullopt;
  llvm::APSInt value = result.Val.getInt();
  if (value.isSigned() ? value.getSignificantBits() > 64 : value.getActiveBits() > 63) return std::nullopt;
  return value.getExtValue();
}

ExprRef BodyBuilder::opaque(const Expr* expr, const std::string& why) {
  note(expr->getExprLoc(), why);
  return make(ExprKind::Opaque, expr->getType(), expr, text(expr));
}

/// A variable where the source names it; a __shared__ scalar is an array of one element.
ExprRef BodyBuilder::placeExpr(int variable, const DeclRefExpr* use) const {
  ExprRef named = variableExpr(variable);
  if (out.variables[variable].kind != model::Variable::SharedArray || use->getType()->isArrayType()) return named;
  return dereference(named, use->getType(), use);
}

ExprRef BodyBuilder::reference(const DeclRefExpr* expr) {
  const ValueDecl* decl = expr->getDecl();
  if (auto found = placeOf.find(decl); found != placeOf.end()) return found->second;
  if (auto found = variableOf.find(decl); found != variableOf.end()) return placeExpr(found->second, expr);
  if (const auto* enumerator = dyn_cast<EnumConstantDecl>(decl))
    return intLiteral(enumerator->getInitVal().getExtValue(), convertType(context, expr->getType()),
                      location(sources, expr->getExprLoc()));
  const auto* variable = dyn_cast<VarDecl>(decl);
  // The default width of a shuffle, a number on every device there is.
  if (variable && variable->getDeclName().isIdentifier() && variable->getName() == "warpSize" && variable->isDefinedOutsideFunctionOrMethod())
    return intLiteral(32, convertType(context, expr->getType()), location(sources, expr->getExprLoc()));
  if (!variable) return opaque(expr, "use of '" + decl->getNameAsString() + "'");
  bool isDeviceMemory = variable->hasAttr<CUDAConstantAttr>() || variable->hasAttr<CUDADeviceAttr>() ||
                        variable->hasAttr<CUDASharedAttr>();
  if (!isDeviceMemory || variable->isConstexpr()) {
    // A host-side constant: its value is part of the program text.
    if (auto folded = constant(expr))
      return intLiteral(*folded, convertType(context, expr->getType()), location(sources, expr->getExprLoc()));
    if (variable->getType().isConstQualified() && variable->getType()->isArithmeticType())
      return make(ExprKind::Literal, expr->getType(), expr, variable->getQualifiedNameAsString());
    return opaque(expr, "use of the host variable '" + variable->getNameAsString() + "'");
  }
  return placeExpr(declareVariable(variable), expr);
}

ExprRef BodyBuilder::property(const PseudoObjectExpr* expr) {
  const auto* access = dyn_cast<MSPropertyRefExpr>(expr->getSyntacticForm()->IgnoreParens());
  const Expr* object = access ? access->getBaseExpr()->IgnoreParenImpCasts() : nullptr;
  if (const auto* shared = dyn_cast_or_null<OpaqueValueExpr>(object)) object = shared->getSourceExpr();
  const auto* base = object ? dyn_cast<DeclRefExpr>(object->IgnoreParenImpCasts()) : nullptr;
  if (!base) return opaque(expr, "a property that is not a thread or block index");
  return make(ExprKind::Builtin, expr->getType(), expr,
              base->getDecl()->getNameAsString() + "." + access->getPropertyDecl()->getNameAsString());
}

ExprRef BodyBuilder::subscript(const ArraySubscriptExpr* expr) {
  ExprRef base = value(expr->getBase());
  ExprRef index = value(expr->getIdx());
  if (expr->getType()->isArrayType()) {
    // A row of a multi-dimensional array: address arithmetic in elements of the innermost type.
    std::int64_t row = 1;
    QualType type = expr->getType();
    while (const auto* array = context.getAsConstantArrayType(type)) {
      row *= static_cast<std::int64_t>(array->getSize().getZExtValue());
      type = array->getElementType();
    }
    auto scaled = make(ExprKind::Binary, context.LongTy, expr, "*",
                       {index, intLiteral(row, convertType(context, context.LongTy), {})});
    return make(ExprKind::PointerAdd, expr->getType(), expr, "", {base, scaled});
  }
  return make(ExprKind::Load, expr->getType(), expr, "", {base, index});
}

static ExprRef zeroIndex() {
  model::Type type;
  type.kind = model::Type::Int;
  type.bits = 32;
  type.isSigned = true;
  type.name = "int";
  return intLiteral(0, type, {});
}

/// *(p + i) is p[i]: the index stays where the source has one.
ExprRef BodyBuilder::dereference(const ExprRef& pointer, QualType type, const Expr* at) const {
  if (pointer->kind == ExprKind::PointerAdd) return make(ExprKind::Load, type, at, "", pointer->operands);
  return make(ExprKind::Load, type, at, "", {pointer, zeroIndex()});
}

ExprRef BodyBuilder::place(const Expr* expr) {
  expr = expr->IgnoreParens();
  if (const auto* conversion = dyn_cast<ImplicitCastExpr>(expr);
      conversion && (conversion->getCastKind() == CK_NoOp || conversion->getCastKind() == CK_LValueBitCast))
    return place(conversion->getSubExpr());
  if (const auto* substituted = dyn_cast<SubstNonTypeTemplateParmExpr>(expr)) return place(substituted->getReplacement());
  if (const auto* declared = dyn_cast<DeclRefExpr>(expr)) return reference(declared);
  if (const auto* element = dyn_cast<ArraySubscriptExpr>(expr)) return subscript(element);
  if (const auto* op = dyn_cast<UnaryOperator>(expr)) {
    bool isObject = op->getOpcode() == UO_Deref && isa<CXXThisExpr>(op->getSubExpr()->IgnoreParenImpCasts());
    if (isObject && !thisPlaces.empty()) return thisPlaces.back();
    if (op->getOpcode() == UO_Deref) {
      ExprRef pointer = value(op->getSubExpr());
      return expr->getType()->isArrayType() ? pointer : dereference(pointer, expr->getType(), expr);
    }
    if (op->isIncrementDecrementOp() && op->isPrefix()) return increment(op), place(op->getSubExpr());
  }
  if (const auto* member = dyn_cast<MemberExpr>(expr)) {
    const auto* field = dyn_cast<FieldDecl>(member->getMemberDecl());
    if (!field) {
      if (auto folded = constant(expr))
        return intLiteral(*folded, convertType(context, expr->getType()), location(sources, expr->getExprLoc()));
      return opaque(expr, "a member that is no field");
    }
    if (field->isBitField()) return opaque(expr, "a bit-field");
    const Expr* base = member->getBase();
    ExprRef object;
    if (!member->isArrow()) object = place(base);
    else if (isa<CXXThisExpr>(base->IgnoreParenImpCasts()) && !thisPlaces.empty()) object = thisPlaces.back();
    else object = dereference(value(base), base->getType()->getPointeeType(), expr);
    // Fields of an unnamed struct or union inside are the outer one's.
    if (field->isAnonymousStructOrUnion()) return field->getType()->isUnionType() ? opaque(expr, "an unnamed union") : object;
    return make(ExprKind::Member, expr->getType(), expr, field->getNameAsString(), {object});
  }
  return value(expr);
}

ExprRef BodyBuilder::cast(const CastExpr* expr) {
  const Expr* source = expr->getSubExpr();
  switch (expr->getCastKind()) {
  case CK_LValueToRValue:
  case CK_ArrayToPointerDecay:
    return place(source);
  case CK_NoOp:
    if (isa<ImplicitCastExpr>(expr)) return value(source);
    break;
  case CK_NullToPointer:
    return make(ExprKind::Literal, expr->getType(), expr, "nullptr");
  case CK_BitCast:
  case CK_ReinterpretMemberPointer:
  case CK_LValueBitCast:
  case CK_LValueToRValueBitCast: {
    QualType from = source->getType(), to = expr->getType();
    if (from->isPointerType() && to->isPointerType() &&
        context.hasSameUnqualifiedType(from->getPointeeType(), to->getPointeeType()))
      return value(source);
    return opaque(expr, "a pointer cast from '" + from.getAsString() + "' to '" + to.getAsString() + "'");
  }
  case CK_ToVoid:
    return value(source);
  case CK_FunctionToPointerDecay:
    return opaque(expr, "a function pointer");
  case CK_UserDefinedConversion:
  case CK_ConstructorConversion:
  case CK_IntegralCast:
  case CK_IntegralToBoolean:
  case CK_IntegralToFloating:
  case CK_FloatingToIntegral:
  case CK_FloatingToBoolean:
  case CK_PointerToBoolean:
  case CK_FloatingCast:
  case CK_BooleanToSignedIntegral:
    break;
  default:
    return opaque(expr, std::string("a cast of kind ") + expr->getCastKindName());
  }
  if (expr->getCastKind() == CK_UserDefinedConversion || expr->getCastKind() == CK_ConstructorConversion) {
    // __half to float and the like: the call inside is the conversion itself.
    if (const auto* call = dyn_cast<CXXMemberCallExpr>(source->IgnoreParenImpCasts()))
      source = call->getImplicitObjectArgument();
    else if (const auto* made = dyn_cast<CXXConstructExpr>(source->IgnoreParenImpCasts());
             made && made->getNumArgs() == 1)
      source = made->getArg(0);
  }
  ExprRef operand = value(source);
  auto node = std::make_shared<model::Expr>(*make(ExprKind::Cast, expr->getType(), expr, "", {operand}));
  node->implicit = isa<ImplicitCastExpr>(expr);
  return node;
}

ExprRef BodyBuilder::unary(const UnaryOperator* expr) {
  switch (expr->getOpcode()) {
  case UO_Deref:
    return place(expr);
  case UO_AddrOf: {
    ExprRef target = place(expr->getSubExpr());
    if (target->kind == ExprKind::Load) return make(ExprKind::PointerAdd, expr->getType(), expr, "", target->operands);
    if (target->kind == ExprKind::Array || target->kind == ExprKind::PointerAdd) return target;
    return opaque(expr, "the address of a local variable");
  }
  case UO_Plus:
  case UO_Minus:
  case UO_Not:
  case UO_LNot:
    return make(ExprKind::Unary, expr->getType(), expr, UnaryOperator::getOpcodeStr(expr->getOpcode()).str(),
                {value(expr->getSubExpr())});
  case UO_Extension:
    return value(expr->getSubExpr());
  default:
    if (expr->isIncrementDecrementOp()) return increment(expr);
    return opaque(expr, "an operator that is not modelled");
  }
}

ExprRef BodyBuilder::increment(const UnaryOperator* expr) {
  ExprRef target = place(expr->getSubExpr());
  ExprRef before = target;
  if (expr->isPostfix()) {
    model::Variable saved;
    saved.name = target->kind == ExprKind::Variable ? target->text + "Before" : "before";
    saved.type = convertType(context, expr->getType());
    saved.location = location(sources, expr->getExprLoc());
    int variable = newVariable(std::move(saved));
    model::Stmt declaration;
    declaration.kind = model::StmtKind::Declare;
    declaration.variable = variable;
    declaration.value = target;
    emit(std::move(declaration), expr->getExprLoc());
    before = variableExpr(variable);
  }
  advance(expr, target);
  return before;
}

/// What a member, or an element of a member, is part of: a load or a variable.
static const model::Expr* rootOf(const ExprRef& place) {
  const model::Expr* root = place.get();
  while (true) {
    // A member that is a pointer points elsewhere.
    bool isElement = root->kind == ExprKind::Load && root->operands[0]->kind == ExprKind::Member &&
                     root->operands[0]->type.canonical.find('[') != std::string::npos;
    if (root->kind != ExprKind::Member && !isElement) break;
    root = root->operands[0].get();
  }
  bool isPlace = root->kind == ExprKind::Load || root->kind == ExprKind::Variable;
  return isPlace ? root : nullptr;
}

void BodyBuilder::advance(const UnaryOperator* expr, const ExprRef& target) {
  model::Stmt step;
  bool isMemory = target->kind != ExprKind::Variable;
  const model::Expr* root = rootOf(target);
  bool isPart = isMemory && root && root->kind == ExprKind::Variable;
  step.kind = isMemory && !isPart ? model::StmtKind::Store : model::StmtKind::Assign;
  step.variable = isPart ? root->variable : target->variable;
  step.target = target;
  step.text = expr->isIncrementOp() ? "+=" : "-=";
  step.value = intLiteral(1, zeroIndex()->type, location(sources, expr->getExprLoc()));
  emit(std::move(step), expr->getExprLoc());
}

ExprRef BodyBuilder::assignment(const Expr* target, llvm::StringRef op, const Expr* source, const Expr* whole) {
  // C++17: the right operand of an assignment is sequenced before the left one.
  ExprRef assigned = value(source);
  ExprRef where = place(target);
  model::Stmt stmt;
  stmt.text = op.str();
  stmt.value = assigned;
  stmt.target = where;
  if (where->kind == ExprKind::Variable && out.variables[where->variable].kind != model::Variable::Global) {
    stmt.kind = model::StmtKind::Assign;
    stmt.variable = where->variable;
  } else if (const model::Expr* root = rootOf(where); root && root->kind == ExprKind::Load) {
    stmt.kind = model::StmtKind::Store;
  } else if (root && root->kind == ExprKind::Variable && out.variables[root->variable].kind != model::Variable::Global) {
    // A part of a local record.
    stmt.kind = model::StmtKind::Assign;
    stmt.variable = root->variable;
  } else {
    note(whole->getExprLoc(), "an assignment to a part of a record or to a global variable");
    stmt.kind = model::StmtKind::Opaque;
    stmt.text = text(whole);
  }
  emit(std::move(stmt), whole->getExprLoc());
  return where;
}

ExprRef BodyBuilder::conditional(const Expr* expr, std::string op, std::vector<const Expr*> operands) {
  std::vector<ExprRef> values;
  for (size_t n = 0; n < operands.size(); ++n) {
    Stmts before = inSink([&] { values.push_back(value(operands[n])); });
    if (!before.empty() && n > 0) return opaque(expr, "a side effect in an operand that may not be evaluated");
    for (auto& stmt : before)
      sink->push_back(stmt);
  }
  return make(op == "?:" ? ExprKind::Select : ExprKind::Binary, expr->getType(), expr, op, std::move(values));
}

ExprRef BodyBuilder::binary(const BinaryOperator* expr) {
  if (expr->isCompoundAssignmentOp() || expr->getOpcode() == BO_Assign)
    return assignment(expr->getLHS(), expr->getOpcodeStr(), expr->getRHS(), expr);
  if (expr->getOpcode() == BO_Comma) return value(expr->getLHS()), value(expr->getRHS());
  if (expr->isLogicalOp()) return conditional(expr, expr->getOpcodeStr().str(), {expr->getLHS(), expr->getRHS()});
  bool leftPointer = expr->getLHS()->getType()->isPointerType(), rightPointer = expr->getRHS()->getType()->isPointerType();
  if (expr->isAdditiveOp() && leftPointer != rightPointer) {
    ExprRef pointer = value(leftPointer ? expr->getLHS() : expr->getRHS());
    ExprRef index = value(leftPointer ? expr->getRHS() : expr->getLHS());
    if (expr->getOpcode() == BO_Sub) {
      auto negated = std::make_shared<model::Expr>(*index);
      negated->kind = ExprKind::Unary;
      negated->text = "-";
      negated->operands = {index};
      // -(unsigned) would wrap: the pointer difference is a signed 64-bit number.
      auto wide = make(ExprKind::Cast, context.LongTy, expr, "", {index});
      negated->operands = {wide};
      negated->type = wide->type;
      index = negated;
    }
    return make(ExprKind::PointerAdd, expr->getType(), expr, "", {pointer, index});
  }
  if (leftPointer || rightPointer) return opaque(expr, "a comparison or difference of pointers");
  ExprRef left = value(expr->getLHS());
  ExprRef right = value(expr->getRHS());
  return make(ExprKind::Binary, expr->getType(), expr, expr->getOpcodeStr().str(), {left, right});
}

ExprRef BodyBuilder::construct(const CXXConstructExpr* expr) {
  const CXXConstructorDecl* constructor = expr->getConstructor();
  bool isOwn = isUserCode(constructor) && !constructor->isCopyOrMoveConstructor();
  if (isOwn && constructor->isDefaultConstructor() && constructor->isTrivial())
    return make(ExprKind::Literal, expr->getType(), expr, convertType(context, expr->getType()).name + "()");
  if (isOwn && isPure(constructor)) {
    std::vector<ExprRef> operands;
    for (const Expr* argument : expr->arguments())
      if (!isa<CXXDefaultArgExpr>(argument)) operands.push_back(value(argument));
    return make(ExprKind::Call, expr->getType(), expr, convertType(context, expr->getType()).name, std::move(operands));
  }
  if (expr->getNumArgs() == 1) {
    ExprRef operand = value(expr->getArg(0));
    if (expr->getConstructor()->isCopyOrMoveConstructor()) return operand;
    auto node = std::make_shared<model::Expr>(*make(ExprKind::Cast, expr->getType(), expr, "", {operand}));
    node->implicit = !expr->getParenOrBraceRange().isValid();
    return node;
  }
  return opaque(expr, "a value of class type '" + expr->getType().getAsString() + "'");
}

ExprRef BodyBuilder::overloaded(const CXXOperatorCallExpr* expr) {
  const FunctionDecl* callee = expr->getDirectCallee();
  llvm::StringRef op = getOperatorSpelling(expr->getOperator());
  bool fromToolkit = callee && !isUserCode(callee);
  if (!fromToolkit && callee && expr->isAssignmentOp() && expr->getNumArgs() == 2 && callee->isTrivial())
    return assignment(expr->getArg(0), op, expr->getArg(1), expr);
  if (!fromToolkit) {
    static const std::set<std::string> kept{"+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!=", "!", "%"};
    if (callee && isPure(callee) && kept.count(op.str())) {
      std::vector<ExprRef> operands;
      for (const Expr* argument : expr->arguments())
        operands.push_back(value(argument));
      return make(operands.size() == 1 ? ExprKind::Unary : ExprKind::Binary, expr->getType(), expr, op.str(), std::move(operands));
    }
    const FunctionDecl* definition = callee ? callee->getDefinition() : nullptr;
    if (definition && isUserCode(definition) && definition->getBody() && !llvm::is_contained(inlining, definition) && inlining.size() < 16)
      return inlineCall(expr, definition);
    return opaque(expr, "the overloaded operator" + op.str());
  }
  if (expr->isAssignmentOp() && expr->getNumArgs() == 2) return assignment(expr->getArg(0), op, expr->getArg(1), expr);
  std::vector<ExprRef> operands;
  for (const Expr* argument : expr->arguments())
    operands.push_back(value(argument));
  static const std::set<std::string> known{"+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!=", "!"};
  if (!known.count(op.str())) return opaque(expr, "the overloaded operator" + op.str());
  return make(operands.size() == 1 ? ExprKind::Unary : ExprKind::Binary, expr->getType(), expr, op.str(),
              std::move(operands));
}

ExprRef BodyBuilder::value(const Expr* expr) {
  expr = expr->IgnoreParens();
  if (const auto* node = dyn_cast<CXXFunctionalCastExpr>(expr)) return cast(node);
  if (const auto* node = dyn_cast<CastExpr>(expr)) return cast(node);
  if (const auto* node = dyn_cast<IntegerLiteral>(expr)) {
    auto macro = macros.nameFor(node, sources);
    auto literal = std::make_shared<model::Expr>(
        *intLiteral(static_cast<std::int64_t>(node->getValue().getZExtValue()), convertType(context, expr->getType()),
                    location(sources, expr->getExprLoc())));
    if (macro) {
      literal->kind = ExprKind::MacroSize;
      literal->text = *macro;
      out.macroSizes[*macro] = literal->value;
    }
    return literal;
  }
  if (isa<FloatingLiteral>(expr) || isa<CharacterLiteral>(expr)) {
    SourceLocation at = sources.getSpellingLoc(expr->getBeginLoc());
    unsigned length = Lexer::MeasureTokenLength(at, sources, context.getLangOpts());
    return make(ExprKind::Literal, expr->getType(), expr, std::string(sources.getCharacterData(at), length));
  }
  if (const auto* node = dyn_cast<CXXBoolLiteralExpr>(expr))
    return intLiteral(node->getValue(), convertType(context, expr->getType()), location(sources, expr->getExprLoc()));
  if (const auto* node = dyn_cast<SubstNonTypeTemplateParmExpr>(expr)) return value(node->getReplacement());
  if (isa<DeclRefExpr>(expr) || isa<ArraySubscriptExpr>(expr) || isa<MemberExpr>(expr)) return place(expr);
  if (const auto* node = dyn_cast<UnaryOperator>(expr)) return unary(node);
  if (const auto* node = dyn_cast<BinaryOperator>(expr)) return binary(node);
  if (const auto* node = dyn_cast<ConditionalOperator>(expr))
    return conditional(expr, "?:", {node->getCond(), node->getTrueExpr(), node->getFalseExpr()});
  if (const auto* node = dyn_cast<PseudoObjectExpr>(expr)) return property(node);
  if (const auto* node = dyn_cast<CXXOperatorCallExpr>(expr)) return overloaded(node);
  if (const auto* node = dyn_cast<CXXMemberCallExpr>(expr)) return method(node);
  if (const auto* node = dyn_cast<CallExpr>(expr)) return call(node);
  if (const auto* node = dyn_cast<ExprWithCleanups>(expr)) return value(node->getSubExpr());
  if (const auto* node = dyn_cast<MaterializeTemporaryExpr>(expr)) return value(node->getSubExpr());
  if (const auto* node = dyn_cast<CXXBindTemporaryExpr>(expr)) return value(node->getSubExpr());
  if (const auto* node = dyn_cast<ConstantExpr>(expr)) return value(node->getSubExpr());
  if (const auto* node = dyn_cast<CXXDefaultArgExpr>(expr)) return value(node->getExpr());
  if (const auto* node = dyn_cast<CXXConstructExpr>(expr)) return construct(node);
  if (const auto* node = dyn_cast<InitListExpr>(expr); node && node->getNumInits() == 1 && !node->getType()->isRecordType())
    return value(node->getInit(0));
  if (const auto* node = dyn_cast<InitListExpr>(expr); node && node->getType()->isRecordType()) return list(node);
  if (isa<CXXScalarValueInitExpr>(expr) || isa<ImplicitValueInitExpr>(expr))
    return make(ExprKind::Literal, expr->getType(), expr, convertType(context, expr->getType()).name + "()");
  if (isa<UnaryExprOrTypeTraitExpr>(expr) || isa<CXXNullPtrLiteralExpr>(expr)) {
    if (auto folded = constant(expr))
      return intLiteral(*folded, convertType(context, expr->getType()), location(sources, expr->getExprLoc()));
    return make(ExprKind::Literal, expr->getType(), expr, "nullptr");
  }
  if (auto folded = constant(expr))
    return intLiteral(*folded, convertType(context, expr->getType()), location(sources, expr->getExprLoc()));
  return opaque(expr, std::string("an expression of kind ") + expr->getStmtClassName());
}

} // namespace retile::frontend
