#include "HostValues.h"

#include "Types.h"

namespace retile::frontend {

using model::ExprKind;
using model::ExprRef;

namespace {

/// Functions whose value depends on nothing but their arguments: kept as calls, by their plain name.
bool isPureMath(llvm::StringRef name) {
  static constexpr const char* names[] = {
      "min",   "max",  "fmin",  "fmax", "fminf", "fmaxf", "ceil",   "ceilf", "floor", "floorf", "sqrt",
      "sqrtf", "log2", "log2f", "pow",  "powf",  "abs",   "labs",   "fabs",  "fabsf", "round",  "roundf",
      "exp",   "expf", "log",   "logf", "exp2",  "exp2f", "lround", "rint",  "trunc", "truncf"};
  return llvm::is_contained(names, name);
}

/// Parentheses and what only the compiler sees.
const clang::Expr* skipWrapping(const clang::Expr* expr) {
  while (true) {
    const clang::Expr* inner = expr;
    if (const auto* paren = llvm::dyn_cast<clang::ParenExpr>(expr))
      inner = paren->getSubExpr();
    else if (const auto* full = llvm::dyn_cast<clang::FullExpr>(expr))
      inner = full->getSubExpr();
    else if (const auto* temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(expr))
      inner = temporary->getSubExpr();
    else if (const auto* bind = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(expr))
      inner = bind->getSubExpr();
    else if (const auto* given = llvm::dyn_cast<clang::SubstNonTypeTemplateParmExpr>(expr))
      inner = given->getReplacement();
    else if (const auto* fallback = llvm::dyn_cast<clang::CXXDefaultArgExpr>(expr))
      inner = fallback->getExpr();
    else if (const auto* opaque = llvm::dyn_cast<clang::OpaqueValueExpr>(expr);
             opaque && opaque->getSourceExpr())
      inner = opaque->getSourceExpr();
    else if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(expr);
             list && list->getNumInits() == 1 && !list->getType()->isRecordType())
      inner = list->getInit(0);
    if (inner == expr)
      return expr;
    expr = inner;
  }
}

bool isDim3(clang::QualType type) {
  const auto* record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->getIdentifier() && (record->getName() == "dim3" || record->getName() == "uint3");
}

int dimIndex(const clang::MemberExpr* at) {
  const llvm::StringRef name = at->getMemberDecl()->getIdentifier() ? at->getMemberDecl()->getName() : "";
  return name == "x" ? 0 : name == "y" ? 1 : name == "z" ? 2 : -1;
}

bool isInteger(const ExprRef& expr) { return expr->kind == ExprKind::IntLiteral; }

/// The number as a value of the type: wrapped to its width.
std::int64_t wrapped(std::int64_t number, const model::Type& type) {
  if (type.kind == model::Type::Bool)
    return number != 0;
  if (type.kind != model::Type::Int || type.bits >= 64 || type.bits <= 0)
    return number;
  const std::uint64_t mask = (std::uint64_t(1) << type.bits) - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(number) & mask;
  const bool negative = type.isSigned && (low >> (type.bits - 1));
  return static_cast<std::int64_t>(negative ? low | ~mask : low);
}

/// a op b for operators that cannot fail on these operands.
std::optional<std::int64_t> folded(clang::BinaryOperatorKind op, std::int64_t a, std::int64_t b,
                                   bool isUnsigned) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (op) {
  case clang::BO_Add:
    return static_cast<std::int64_t>(ua + ub);
  case clang::BO_Sub:
    return static_cast<std::int64_t>(ua - ub);
  case clang::BO_Mul:
    return static_cast<std::int64_t>(ua * ub);
  case clang::BO_Div:
    if (!b || (b == -1 && !isUnsigned))
      return std::nullopt;
    return isUnsigned ? static_cast<std::int64_t>(ua / ub) : a / b;
  case clang::BO_Rem:
    if (!b || (b == -1 && !isUnsigned))
      return std::nullopt;
    return isUnsigned ? static_cast<std::int64_t>(ua % ub) : a % b;
  case clang::BO_Shl:
    return b < 0 || b > 62 ? std::nullopt : std::optional(static_cast<std::int64_t>(ua << b));
  case clang::BO_Shr:
    if (b < 0 || b > 62)
      return std::nullopt;
    return isUnsigned ? static_cast<std::int64_t>(ua >> b) : a >> b;
  case clang::BO_And:
    return a & b;
  case clang::BO_Or:
    return a | b;
  case clang::BO_Xor:
    return a ^ b;
  case clang::BO_LT:
    return isUnsigned ? ua < ub : a < b;
  case clang::BO_GT:
    return isUnsigned ? ua > ub : a > b;
  case clang::BO_LE:
    return isUnsigned ? ua <= ub : a <= b;
  case clang::BO_GE:
    return isUnsigned ? ua >= ub : a >= b;
  case clang::BO_EQ:
    return a == b;
  case clang::BO_NE:
    return a != b;
  case clang::BO_LAnd:
    return a && b;
  case clang::BO_LOr:
    return a || b;
  default:
    return std::nullopt;
  }
}

/// The only value a helper returns: its body is declarations and one return.
const clang::Expr* onlyReturn(const clang::FunctionDecl* callee) {
  const auto* body = llvm::dyn_cast_or_null<clang::CompoundStmt>(callee->getBody());
  if (!body || body->body_empty())
    return nullptr;
  for (const clang::Stmt* statement : body->body())
    if (statement != body->body_back() && !llvm::isa<clang::DeclStmt, clang::NullStmt>(statement))
      return nullptr;
  const auto* result = llvm::dyn_cast<clang::ReturnStmt>(body->body_back());
  return result ? result->getRetValue() : nullptr;
}

} // namespace

bool hasOpaque(const ExprRef& expr) {
  if (!expr)
    return false;
  return expr->kind == ExprKind::Opaque || llvm::any_of(expr->operands, hasOpaque);
}

model::Expr HostValues::node(ExprKind kind, const clang::Expr* at, std::vector<ExprRef> operands,
                             std::string text) {
  model::Expr made;
  made.kind = kind;
  made.type = convertType(context, at->getType());
  made.text = std::move(text);
  made.operands = std::move(operands);
  made.location = location(context.getSourceManager(), at->getExprLoc());
  return made;
}

ExprRef HostValues::make(model::Expr made) {
  unsigned size = 1;
  for (const ExprRef& operand : made.operands)
    if (auto found = sizes.find(operand.get()); found != sizes.end())
      size += found->second;
  auto out = std::make_shared<const model::Expr>(std::move(made));
  sizes[out.get()] = size;
  kept.push_back(out);
  return out;
}

/// The text of the expression as the file has it; of one that comes out of a macro, printed from the AST.
std::string HostValues::spelled(const clang::Expr* expr) const {
  const clang::SourceManager& sources = context.getSourceManager();
  const clang::CharSourceRange range = clang::Lexer::makeFileCharRange(
      clang::CharSourceRange::getTokenRange(expr->getSourceRange()), sources, context.getLangOpts());
  if (range.isValid())
    return clang::Lexer::getSourceText(range, sources, context.getLangOpts()).str();
  std::string text;
  llvm::raw_string_ostream out(text);
  expr->printPretty(out, nullptr, clang::PrintingPolicy(context.getLangOpts()));
  return text;
}

ExprRef HostValues::opaque(const clang::Expr* at) { return opaque(at, spelled(at)); }
ExprRef HostValues::opaque(const clang::Expr* at, std::string text) {
  return make(node(ExprKind::Opaque, at, {}, std::move(text)));
}

ExprRef HostValues::literal(const clang::Expr* at, std::int64_t number, std::string text) {
  model::Expr made = node(ExprKind::IntLiteral, at);
  made.value = wrapped(number, made.type);
  made.text = text.empty() ? std::to_string(made.value) : std::move(text);
  return make(std::move(made));
}

/// Whether a constant may stand for the expression: nothing in it is an overridable macro.
bool HostValues::foldable(const clang::Expr* expr) const {
  if (const auto* literal = llvm::dyn_cast<clang::IntegerLiteral>(expr))
    return !macros.nameFor(literal, context.getSourceManager());
  return llvm::all_of(expr->children(), [&](const clang::Stmt* child) {
    const auto* part = llvm::dyn_cast_or_null<clang::Expr>(child);
    return !part || foldable(part);
  });
}

/// What clang could not make sense of may have no type at all: `dim3 g(ambiguous(n), 2)`.
static bool isBroken(const clang::Expr* expr) { return expr->getType().isNull() || expr->containsErrors(); }

ExprRef HostValues::broken(const clang::Expr* at) {
  model::Expr made;
  made.kind = ExprKind::Opaque;
  made.text = spelled(at);
  return make(std::move(made));
}

HostValues::Dims HostValues::dims(const clang::Expr* expr, unsigned order) {
  return isBroken(expr) ? members(expr, broken(expr)) : soundDims(expr, order);
}

ExprRef HostValues::value(const clang::Expr* expr, unsigned order) {
  if (isBroken(expr))
    return broken(expr);
  expr = skipWrapping(expr);
  if (depth > 60)
    return opaque(expr);
  ++depth;
  ExprRef made = dispatch(expr, order);
  --depth;
  return made;
}

ExprRef HostValues::dispatch(const clang::Expr* expr, unsigned order) {
  if (const auto* number = llvm::dyn_cast<clang::IntegerLiteral>(expr))
    return integer(number);
  if (!expr->isValueDependent() && expr->getType()->isIntegralOrEnumerationType() && foldable(expr)) {
    clang::Expr::EvalResult result;
    if (expr->EvaluateAsInt(result, context))
      return literal(expr, result.Val.getInt().getExtValue());
  }
  if (const auto* casted = llvm::dyn_cast<clang::CastExpr>(expr))
    return cast(casted, order);
  if (const auto* one = llvm::dyn_cast<clang::UnaryOperator>(expr))
    return unary(one, order);
  if (const auto* two = llvm::dyn_cast<clang::BinaryOperator>(expr))
    return binary(two, order);
  if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(expr))
    return select(choice, order);
  if (const auto* field = llvm::dyn_cast<clang::MemberExpr>(expr))
    return member(field, order);
  if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(expr))
    return reference(named, order);
  if (const auto* called = llvm::dyn_cast<clang::CallExpr>(expr))
    return call(called, order);
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(expr); made && made->getNumArgs() == 1)
    return made->getConstructor()->isCopyOrMoveConstructor() ? value(made->getArg(0), order) : opaque(expr);
  if (llvm::isa<clang::FloatingLiteral, clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr>(expr))
    return make(node(ExprKind::Literal, expr, {}, spelled(expr)));
  return opaque(expr);
}

ExprRef HostValues::integer(const clang::IntegerLiteral* at) {
  const std::int64_t number = at->getValue().getSExtValue();
  if (auto name = macros.nameFor(at, context.getSourceManager())) {
    model::Expr made = node(ExprKind::MacroSize, at, {}, *name);
    made.value = macros.values().at(*name);
    macrosUsed[*name] = made.value;
    return make(std::move(made));
  }
  return literal(at, at->getValue().isSingleWord() ? static_cast<std::int64_t>(at->getValue().getZExtValue())
                                                   : number);
}

ExprRef HostValues::cast(const clang::CastExpr* at, unsigned order) {
  switch (at->getCastKind()) {
  case clang::CK_LValueToRValue:
  case clang::CK_NoOp:
  case clang::CK_FunctionToPointerDecay:
  case clang::CK_ArrayToPointerDecay:
  case clang::CK_UserDefinedConversion:
  case clang::CK_ConstructorConversion:
    return value(at->getSubExpr(), order);
  case clang::CK_NullToPointer:
    return make(node(ExprKind::Literal, at, {}, "nullptr"));
  default:
    break;
  }
  ExprRef operand = value(at->getSubExpr(), order);
  // Clang writes `(float)n` as an explicit cast that does nothing around an implicit one that converts.
  const auto* hidden = llvm::dyn_cast<clang::ImplicitCastExpr>(at);
  const bool isImplicit = hidden && !hidden->isPartOfExplicitCast();
  model::Expr made = node(ExprKind::Cast, at, {operand});
  if (made.type.kind == model::Type::Int && isInteger(operand))
    return literal(at, operand->value);
  if (isImplicit && operand->kind == ExprKind::Opaque)
    return operand;
  made.implicit = isImplicit;
  return make(std::move(made));
}

ExprRef HostValues::unary(const clang::UnaryOperator* at, unsigned order) {
  switch (at->getOpcode()) {
  case clang::UO_Plus:
  case clang::UO_Extension:
    return value(at->getSubExpr(), order);
  case clang::UO_Minus:
  case clang::UO_Not:
  case clang::UO_LNot: {
    ExprRef operand = value(at->getSubExpr(), order);
    if (isInteger(operand)) {
      const std::int64_t number = operand->value;
      return literal(at, at->getOpcode() == clang::UO_Minus ? -number
                         : at->getOpcode() == clang::UO_Not ? ~number
                                                            : !number);
    }
    if (operand->kind == ExprKind::Opaque)
      return opaque(at);
    return make(
        node(ExprKind::Unary, at, {operand}, clang::UnaryOperator::getOpcodeStr(at->getOpcode()).str()));
  }
  case clang::UO_AddrOf:
    if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(skipWrapping(at->getSubExpr())))
      return pointerSum(at, value(element->getBase(), order), value(element->getIdx(), order), false);
    return opaque(at);
  default:
    return opaque(at);
  }
}

ExprRef HostValues::pointerSum(const clang::Expr* at, ExprRef pointer, ExprRef index, bool minus) {
  if (isInteger(index) && index->value == 0)
    return pointer;
  if (minus) {
    model::Expr negated;
    negated.kind = ExprKind::Unary;
    negated.type = index->type;
    negated.text = "-";
    negated.operands = {index};
    index = make(std::move(negated));
  }
  return make(node(ExprKind::PointerAdd, at, {std::move(pointer), std::move(index)}));
}

ExprRef HostValues::binary(const clang::BinaryOperator* at, unsigned order) {
  if (at->isAssignmentOp() || at->isCommaOp() || at->isPtrMemOp())
    return opaque(at);
  ExprRef left = value(at->getLHS(), order), right = value(at->getRHS(), order);
  if (at->getType()->isPointerType() && at->isAdditiveOp()) {
    const bool swapped = at->getRHS()->getType()->isPointerType();
    return pointerSum(at, swapped ? right : left, swapped ? left : right, at->getOpcode() == clang::BO_Sub);
  }
  if (isInteger(left) && isInteger(right)) {
    const bool isUnsigned = at->getLHS()->getType()->isUnsignedIntegerOrEnumerationType();
    if (auto number = folded(at->getOpcode(), left->value, right->value, isUnsigned))
      return literal(at, *number);
  }
  return make(node(ExprKind::Binary, at, {left, right}, at->getOpcodeStr().str()));
}

ExprRef HostValues::select(const clang::ConditionalOperator* at, unsigned order) {
  ExprRef condition = value(at->getCond(), order);
  if (isInteger(condition))
    return value(condition->value ? at->getTrueExpr() : at->getFalseExpr(), order);
  return make(node(ExprKind::Select, at,
                   {condition, value(at->getTrueExpr(), order), value(at->getFalseExpr(), order)}));
}

/// x, y or z of a dim3; a field of a structure that a parameter passes.
ExprRef HostValues::member(const clang::MemberExpr* at, unsigned order) {
  const int index = dimIndex(at);
  if (isDim3(at->getBase()->getType()) && index >= 0 && !at->isArrow())
    return dims(at->getBase(), order)[index];
  if (at->isArrow() || llvm::isa<clang::CXXThisExpr>(skipWrapping(at->getBase())))
    return opaque(at);
  ExprRef base = value(at->getBase(), order);
  if (base->kind != ExprKind::Variable && base->kind != ExprKind::Member)
    return opaque(at);
  return make(node(ExprKind::Member, at, {base}, at->getMemberDecl()->getNameAsString()));
}

ExprRef HostValues::reference(const clang::DeclRefExpr* at, unsigned order) {
  const auto* named = llvm::dyn_cast<clang::VarDecl>(at->getDecl());
  if (!named)
    return opaque(at);
  return variable(named, at, order);
}

ExprRef HostValues::variable(const clang::VarDecl* named, const clang::Expr* at, unsigned order) {
  if (auto found = bound.find(named); found != bound.end())
    return found->second;
  const std::string name = named->getNameAsString();
  if (named->hasGlobalStorage() && !named->isStaticLocal())
    return opaque(at, name);
  const bool isPointer = named->getType().getNonReferenceType()->isPointerType();
  if (isPointer && definitions.onlyAllocated(named))
    return make(node(ExprKind::Variable, at, {}, name));
  const auto known = definitions.reaching(named, order);
  if (!known)
    return opaque(at, name);
  const Write* write = *known;
  const auto itself = [&] { return make(node(ExprKind::Variable, at, {}, name)); };
  // The parameters of a lambda are not the host function's.
  if (!write)
    return definitions.isHostParameter(named) ? itself() : opaque(at, name);
  if (write->allocatedBytes)
    return itself();
  if (write->member >= 0 || !write->value)
    return isPointer && write->isDefault ? itself() : opaque(at, name);
  // Without a memory, locals that each use another one twice would take exponential time, and without a limit
  // be as long.
  const auto key = std::pair(named, write->order);
  if (auto found = resolved.find(key); found != resolved.end())
    return found->second;
  return resolved[key] = definedBy(*write, named, at);
}

/// The value that a write gave the variable, or its name when that says more.
ExprRef HostValues::definedBy(const Write& write, const clang::VarDecl* named, const clang::Expr* at) {
  constexpr unsigned longest = 400;
  const std::string name = named->getNameAsString();
  const bool isPointer = named->getType().getNonReferenceType()->isPointerType();
  ExprRef made = value(write.value, write.order);
  // A pointer whose value has no name of its own is known by the variable that holds it.
  if (isPointer && (made->kind == ExprKind::Opaque || made->kind == ExprKind::Cast) && hasOpaque(made))
    return make(node(ExprKind::Variable, at, {}, name));
  if (made->kind == ExprKind::Opaque || sizes[made.get()] > longest ||
      !stillCurrent(made, write.value, write.order))
    return opaque(at, name);
  return made;
}

/// Whether every variable that the resolved value still names has kept its value from `order` to the launch.
bool HostValues::stillCurrent(const ExprRef& value, const clang::Expr* source, unsigned order) {
  if (!hasOpaque(value))
    return true;
  if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(source))
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(named->getDecl()))
      return variable->hasGlobalStorage() || definitions.unchanged(variable, order);
  return llvm::all_of(source->children(), [&](const clang::Stmt* child) {
    const auto* part = llvm::dyn_cast_or_null<clang::Expr>(child);
    return !part || stillCurrent(value, part, order);
  });
}

/// Binds the callee's parameters to the values of the arguments; false when the call has a shape that is not
/// inlined.
bool HostValues::bindParameters(const clang::FunctionDecl* callee, const clang::CallExpr* at,
                                unsigned order) {
  const unsigned skip = llvm::isa<clang::CXXOperatorCallExpr>(at) ? 1 : 0;
  if (callee->isVariadic() || at->getNumArgs() != callee->getNumParams() + skip)
    return false;
  std::vector<ExprRef> scalars;
  std::vector<Dims> triples;
  for (unsigned i = 0; i < callee->getNumParams(); ++i) {
    const clang::Expr* argument = at->getArg(i + skip);
    const bool isTriple = isDim3(callee->getParamDecl(i)->getType());
    triples.push_back(isTriple ? dims(argument, order) : Dims{});
    scalars.push_back(isTriple ? nullptr : value(argument, order));
  }
  resolved.clear();
  for (unsigned i = 0; i < callee->getNumParams(); ++i) {
    const clang::VarDecl* parameter = callee->getParamDecl(i);
    if (scalars[i])
      bound[parameter] = scalars[i];
    else
      boundDims[parameter] = triples[i];
  }
  return true;
}

/// The returned expression of a helper with its parameters bound; null when the helper is not of that kind.
const clang::Expr* HostValues::inlined(const clang::FunctionDecl* callee, const clang::CallExpr* at,
                                       unsigned order) {
  const clang::FunctionDecl* defined = callee->getDefinition();
  if (!defined || !isUserCode(context.getSourceManager(), defined->getLocation()))
    return nullptr;
  const clang::Expr* result = onlyReturn(defined);
  if (!result || depth > 30 || !bindParameters(defined, at, order))
    return nullptr;
  definitions.include(defined);
  return result;
}

ExprRef HostValues::call(const clang::CallExpr* at, unsigned order) {
  const clang::FunctionDecl* callee = at->getDirectCallee();
  if (!callee)
    return opaque(at);
  const llvm::StringRef name = callee->getIdentifier() ? callee->getName() : "";
  const bool isUser = isUserCode(context.getSourceManager(), callee->getLocation());
  const bool isExtremum = name == "min" || name == "max";
  if (isPureMath(name) && (!isUser || (isExtremum && at->getNumArgs() == 2))) {
    std::vector<ExprRef> operands;
    for (const clang::Expr* argument : at->arguments())
      operands.push_back(value(argument, order));
    return make(node(ExprKind::Call, at, std::move(operands), name.str()));
  }
  const clang::Expr* result = inlined(callee, at, order);
  if (!result)
    return opaque(at);
  ExprRef made = value(result, definitions.orderOf(result));
  return made->kind == ExprKind::Opaque ? opaque(at) : made;
}

const clang::VarDecl* HostValues::rootPointer(const clang::Expr* expr, unsigned order) {
  expr = skipWrapping(expr)->IgnoreParenCasts();
  const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(expr);
  const auto* variable = named ? llvm::dyn_cast<clang::VarDecl>(named->getDecl()) : nullptr;
  if (!variable || variable->hasGlobalStorage())
    return variable;
  if (definitions.allocation(variable, order))
    return variable;
  const auto known = definitions.reaching(variable, order);
  if (!known || !*known || !(*known)->value || (*known)->member >= 0)
    return variable;
  const clang::VarDecl* deeper = rootPointer((*known)->value, (*known)->order);
  return deeper ? deeper : variable;
}

} // namespace retile::frontend
