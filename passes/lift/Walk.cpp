// Walks the normalized program once: evaluates integers and pointers, records every access to global memory with its
// conditions, and rewrites loads and stores to Access nodes. Pointers and their arithmetic disappear.
//
//   const float* p = A + m*K;  acc += p[k];   ->   acc += A[m*K + k]
#include "Lifter.h"
#include "retile/KernelModel/Normalize.h"
#include "retile/KernelModel/Visit.h"

namespace retile::lift {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;
using model::Type;
using model::Variable;

void Lifter::fail(const model::Location& at, const std::string& why) {
  failed = true;
  for (const auto& remark : out.remarks)
    if (remark.text == why) return;
  out.remarks.push_back({at, why, true});
}

void Lifter::refuse(const model::Location& at, const std::string& why) {
  fail(at, why);
  out.illDefined = true;
}

std::set<std::string> Lifter::dimNames() const {
  std::set<std::string> names;
  for (const Axis& axis : axes)
    names.insert({axis.global, axis.block});
  for (const Dim& dim : out.parallel)
    names.insert(dim.name);
  for (const Dim& dim : out.loops)
    names.insert(dim.name);
  for (const auto& [name, unknown] : out.unknowns)
    names.insert(name);
  return names;
}

bool Lifter::proveNonNegative(const Polynomial& value) {
  if (auto constant = value.constant()) return *constant >= 0;
  std::set<std::string> dims = dimNames();
  auto text = value.toIsl(dims);
  // Cheap and frequent: every term has a non-negative coefficient, and dimensions and sizes are not negative.
  bool allPositive = true;
  for (const auto& [monomial, coefficient] : value.monomials()) {
    allPositive = allPositive && coefficient > 0;
    for (const auto& part : monomial) {
      auto kind = value.atom(part)->kind;
      bool loop = false;
      for (const Dim& dim : out.loops)
        loop = loop || dim.name == part;
      if (loop || out.unknowns.count(part) || (kind != poly::Atom::Symbol && kind != poly::Atom::Mod)) allPositive = false;
    }
  }
  if (allPositive) return true;
  if (!text) return false;
  std::string tuple, constraints;
  auto add = [&](const std::string& constraint) { constraints += (constraints.empty() ? "" : " and ") + constraint; };
  for (const Axis& axis : axes) {
    for (const auto& [name, offset] : {std::pair{axis.global, axis.globalOffset}, std::pair{axis.block, axis.blockOffset}}) {
      tuple += (tuple.empty() ? "" : ", ") + name;
      add(name + " >= " + std::to_string(offset));
    }
  }
  for (const Dim& dim : out.parallel)
    if (dim.isStrided) {
      tuple += ", " + dim.name;
      auto from = dim.origin.toIsl(dims);
      if (from) add(dim.name + " >= " + *from);
    }
  for (size_t index : openLoops) {
    const Dim& dim = out.loops[index];
    tuple += ", " + dim.name;
    if (!dim.bounded) continue;
    auto from = dim.from.toIsl(dims), to = dim.to.toIsl(dims);
    if (from) add(dim.name + " >= " + *from);
    if (to) add(dim.name + " < " + *to);
  }
  for (const auto& guard : out.guards)
    add(guard);
  for (const auto& condition : pathConditions)
    add(condition);
  std::set<std::string> named = value.symbols();
  for (const auto& condition : pathConditions)
    named.merge(poly::namesIn(condition));
  for (size_t index : openLoops)
    for (const Polynomial* bound : {&out.loops[index].from, &out.loops[index].to})
      named.merge(bound->symbols());
  for (const auto& name : unknownsIn(named)) {
    tuple += ", " + name;
    auto unknown = out.unknowns.find(name);
    if (unknown != out.unknowns.end() && !unknown->second.constraints.empty()) add(unknown->second.constraints);
  }
  add(out.islContext());
  add(*text + " < 0");
  auto counterexample = poly::Set::parse(out.islParameters() + "{ S[" + tuple + "] : " + constraints + " }");
  if (!counterexample) return false;
  auto empty = counterexample->isEmpty();
  return empty && *empty;
}

Value Lifter::valueOf(int variable, bool withUnknowns) const {
  auto found = environment.find(variable);
  if (found != environment.end()) return withUnknowns || !out.mentionsUnknown(found->second.value) ? found->second : Value{};
  const Variable& declared = out.kernel.variables[variable];
  Value value;
  bool isArray = declared.kind == Variable::LocalArray || declared.kind == Variable::SharedArray ||
                 declared.kind == Variable::DynamicShared || declared.kind == Variable::Global;
  if (isArray || (declared.kind == Variable::Parameter && declared.type.kind == Type::Pointer)) {
    value.kind = Value::Pointer;
    value.base = variable;
  } else if (declared.kind == Variable::Parameter && declared.type.kind == Type::Int) {
    value.kind = Value::Integer;
    value.value = out.arguments.at(declared.name);
  }
  return value;
}

Evaluator Lifter::evaluator() {
  Evaluator result;
  result.variable = [this](int variable) { return valueOf(variable, false); };
  result.builtin = [this](const std::string& name) { return builtin(name); };
  result.prove = [this](const Polynomial& value) { return proveNonNegative(value); };
  result.assume = [this](const Polynomial& value, const std::string& why) {
    for (const auto& made : out.assumptions)
      if (made.kind == "size" && made.atLeastZero == value) return;
    out.assumptions.push_back({"size", value, "", {}, why});
  };
  result.isSizesOnly = [this](const Polynomial& value) {
    for (const auto& name : value.symbols())
      if (!out.isSize(name)) return false;
    return true;
  };
  result.dims = dimNames();
  return result;
}

static bool containsBuiltin(const ExprRef& expr) {
  return model::anyExpr(expr, [](const Expr& node) { return node.kind == ExprKind::Builtin; });
}

ExprRef Lifter::access(const Expr& load, bool isWrite, bool isRead) {
  Evaluator evaluate = evaluator();
  Value pointer = evaluate.evaluate(load.operands[0]);
  bool isSpelled = pointer.kind != Value::Pointer;
  if (isSpelled) pointer = dataEvaluator().evaluate(load.operands[0]);
  if (pointer.kind != Value::Pointer) {
    fail(load.location, "a pointer whose base is not known");
    return std::make_shared<Expr>(load);
  }
  const Variable base = out.kernel.variables[pointer.base];
  auto kept = std::make_shared<Expr>(load);
  if (base.kind == Variable::LocalArray) {
    out.hasLocalArrays = true;
    kept->operands[0] = rewrite(load.operands[0]);
    kept->operands[1] = rewrite(load.operands[1]);
    return kept;
  }
  if (base.kind == Variable::SharedArray || base.kind == Variable::DynamicShared) {
    fail(load.location, "shared memory ('" + base.sourceName + "')");
    return kept;
  }
  auto index = evaluate.integer(load.operands[1]);
  if (!index) {
    isSpelled = true;
    index = dataEvaluator().integer(load.operands[1]);
  }
  if (!index) {
    fail(load.location, "a subscript of '" + base.name + "' that is not affine: " + print(out.kernel, load.operands[1]));
    return kept;
  }
  if (base.type.element && base.type.isVolatile) fail(load.location, "a volatile access to '" + base.name + "'");
  Access made;
  made.array = base.name;
  made.variable = pointer.base;
  made.flat = pointer.value + *index;
  made.isSpelled = isSpelled;
  made.element = load.type;
  const Expr* width = load.operands[1].get();
  made.indexBits = width->kind == ExprKind::IntLiteral ? 64 : width->type.bits;
  if (isSpelled)
    for (ExprRef& operand : kept->operands)
      operand = rewrite(operand);
  else
    kept->operands.clear();
  return record(made, *kept, isWrite, isRead);
}

/// Adds the access, as a read in front of a write where it is both.
ExprRef Lifter::record(const Access& access, const Expr& at, bool isWrite, bool isRead) {
  Access made = access;
  made.isMay = mayDepth > 0;
  made.statement = "S" + std::to_string(statements);
  made.location = at.location;
  std::set<std::string> named = made.flat.symbols();
  for (size_t loop : openLoops) {
    const Dim& dim = out.loops[loop];
    made.loops.push_back(dim.name);
    made.isMay = made.isMay || dim.dataBound;
    for (const Polynomial* bound : {&dim.from, &dim.to})
      named.merge(bound->symbols());
  }
  for (const auto& condition : pathConditions) {
    made.conditions += (made.conditions.empty() ? "" : " and ") + condition;
    named.merge(poly::namesIn(condition));
  }
  made.unknowns = unknownsIn(std::move(named));
  made.isMay = made.isMay || !made.unknowns.empty();
  auto node = std::make_shared<Expr>(at);
  node->kind = ExprKind::Access;
  node->variable = made.variable;
  if (isRead) {
    made.isWrite = false;
    node->value = static_cast<std::int64_t>(out.accesses.size());
    out.accesses.push_back(made);
  }
  if (isWrite) {
    made.isWrite = true;
    node->value = static_cast<std::int64_t>(out.accesses.size());
    out.accesses.push_back(made);
  }
  return node;
}

/// A member, or an element of a member that is an array.
static bool isPart(const Expr& place) {
  if (place.kind != ExprKind::Load) return place.kind == ExprKind::Member;
  // A member that is a pointer points elsewhere.
  const Expr& base = *place.operands[0];
  return base.kind == ExprKind::Member && base.type.canonical.find('[') != std::string::npos;
}

/// A part of a record: an access to the record.
ExprRef Lifter::part(const Expr& place, bool isWrite, bool isRead) {
  auto copy = std::make_shared<Expr>(place);
  const Expr& whole = *place.operands[0];
  if (isPart(whole)) copy->operands[0] = part(whole, isWrite, isRead);
  else if (whole.kind == ExprKind::Load) copy->operands[0] = access(whole, isWrite, isRead);
  else copy->operands[0] = rewrite(place.operands[0]);
  if (place.kind == ExprKind::Load) copy->operands[1] = rewrite(place.operands[1]);
  return copy;
}

ExprRef Lifter::rewrite(const ExprRef& expr) {
  if (!expr) return expr;
  if (expr->kind == ExprKind::Load) return isPart(*expr) ? part(*expr, false, true) : access(*expr, false, true);
  if (expr->kind == ExprKind::Opaque && !expr->text.empty()) fail(expr->location, "'" + expr->text + "' is not modelled");
  bool isGlobalScalar = expr->kind == ExprKind::Variable && out.kernel.variables[expr->variable].kind == Variable::Global;
  if (isGlobalScalar) {
    // A __constant__ or __device__ scalar is an array of one element.
    Expr load = *expr;
    load.kind = ExprKind::Load;
    auto base = std::make_shared<Expr>(*expr);
    base->kind = ExprKind::Array;
    auto zero = std::make_shared<Expr>();
    zero->kind = ExprKind::IntLiteral;
    zero->text = "0";
    load.operands = {base, zero};
    return access(load, false, true);
  }
  if (expr->type.kind == Type::Int && containsBuiltin(expr)) {
    auto value = evaluator().integer(expr);
    if (value) {
      auto node = std::make_shared<Expr>(*expr);
      node->kind = ExprKind::Affine;
      node->operands.clear();
      node->value = static_cast<std::int64_t>(out.values.size());
      out.values.push_back(*value);
      return node;
    }
  }
  if (expr->kind == ExprKind::Builtin) fail(expr->location, "a use of " + expr->text + " that is not affine");
  if (expr->operands.empty()) return expr;
  auto copy = std::make_shared<Expr>(*expr);
  bool isLogical = expr->kind == ExprKind::Binary && (expr->text == "&&" || expr->text == "||");
  if (expr->kind == ExprKind::Select || isLogical) {
    // The operands behind the first are evaluated under a condition, and so are their loads.
    copy->operands[0] = rewrite(expr->operands[0]);
    for (size_t n = 1; n < expr->operands.size(); ++n) {
      bool negated = isLogical ? expr->text == "||" : n == 2;
      auto test = evaluator().condition(expr->operands[0], negated);
      bool isExact = test.has_value();
      if (!isExact) test = dataEvaluator().condition(expr->operands[0], negated);
      if (test) pathConditions.push_back(*test);
      if (!isExact) ++mayDepth;
      copy->operands[n] = rewrite(expr->operands[n]);
      if (test) pathConditions.pop_back();
      if (!isExact) --mayDepth;
    }
    return copy;
  }
  for (ExprRef& operand : copy->operands)
    operand = rewrite(operand);
  return copy;
}

void Lifter::declare(const Stmt& stmt, std::vector<StmtRef>& into) {
  const Variable& variable = out.kernel.variables[stmt.variable];
  if (variable.kind == Variable::SharedArray || variable.kind == Variable::DynamicShared) {
    into.push_back(std::make_shared<Stmt>(stmt));
    return;
  }
  if (variable.kind == Variable::LocalArray) out.hasLocalArrays = true;
  environment.erase(stmt.variable);
  bool tracked = variable.extents.empty() && (variable.type.kind == Type::Int || variable.type.kind == Type::Pointer);
  if (tracked) environment[stmt.variable] = stmt.value ? held(variable.type, stmt.value) : Value{};
  Stmt kept = stmt;
  kept.value = rewrite(stmt.value);
  into.push_back(std::make_shared<Stmt>(std::move(kept)));
}

void Lifter::assign(const Stmt& stmt, std::vector<StmtRef>& into) {
  const Variable& variable = out.kernel.variables[stmt.variable];
  bool isPointer = variable.type.kind == Type::Pointer;
  bool tracked = isPointer || variable.type.kind == Type::Int;
  Stmt kept = stmt;
  kept.value = rewrite(stmt.value);
  if (stmt.target && isPart(*stmt.target)) {
    kept.target = part(*stmt.target, false, false);
    return into.push_back(std::make_shared<Stmt>(std::move(kept)));
  }
  if (tracked) {
    Expr combined;
    combined.kind = isPointer ? ExprKind::PointerAdd : ExprKind::Binary;
    combined.type = variable.type;
    combined.text = stmt.text.substr(0, stmt.text.size() - 1);
    auto self = std::make_shared<Expr>();
    self->kind = ExprKind::Variable;
    self->variable = stmt.variable;
    self->type = variable.type;
    ExprRef operand = stmt.value;
    if (isPointer && stmt.text == "-=") {
      auto negated = std::make_shared<Expr>(*stmt.value);
      negated->kind = ExprKind::Unary;
      negated->text = "-";
      negated->operands = {stmt.value};
      operand = negated;
    }
    combined.operands = {self, operand};
    environment[stmt.variable] = held(variable.type, stmt.text == "=" ? stmt.value : std::make_shared<Expr>(combined));
  }
  into.push_back(std::make_shared<Stmt>(std::move(kept)));
}

void Lifter::store(const Stmt& stmt, std::vector<StmtRef>& into) {
  Stmt kept = stmt;
  kept.value = rewrite(stmt.value);
  // Who writes a part of a record keeps the rest of it.
  kept.target = isPart(*stmt.target) ? part(*stmt.target, true, true) : access(*stmt.target, true, stmt.text != "=");
  into.push_back(std::make_shared<Stmt>(std::move(kept)));
  ++statements;
}

static bool isExit(StmtKind kind) { return kind == StmtKind::Return || kind == StmtKind::Break || kind == StmtKind::Continue; }

static bool endsInExit(const std::vector<StmtRef>& stmts) { return !stmts.empty() && isExit(stmts.back()->kind); }

void Lifter::branch(const Stmt& stmt, std::vector<StmtRef>& into) {
  Stmt kept = stmt;
  auto condition = evaluator().condition(stmt.value), negation = evaluator().condition(stmt.value, true);
  bool isExact = condition && negation;
  if (!isExact) {
    condition = dataEvaluator().condition(stmt.value);
    negation = dataEvaluator().condition(stmt.value, true);
  }
  kept.value = rewrite(stmt.value);
  Environment before = environment;
  auto side = [&](const std::vector<StmtRef>& stmts, const std::optional<std::string>& test, std::vector<StmtRef>& result) {
    environment = before;
    result.clear();
    if (test) pathConditions.push_back(*test);
    if (!isExact) ++mayDepth;
    walk(stmts, result);
    if (test) pathConditions.pop_back();
    if (!isExact) --mayDepth;
    return environment;
  };
  Environment a = side(stmt.body, condition, kept.body), b = side(stmt.otherwise, negation, kept.otherwise);
  environment = before;
  std::set<int> touched;
  for (const auto* one : {&a, &b})
    for (const auto& [variable, value] : *one)
      touched.insert(variable);
  Environment after;
  for (int variable : touched) {
    auto at = [&](const Environment& side) {
      environment = side;
      return valueOf(variable, true);
    };
    Value va = at(a), vb = at(b);
    // A side that leaves says nothing about what comes behind.
    bool leavesA = endsInExit(stmt.body), leavesB = endsInExit(stmt.otherwise);
    after[variable] = leavesA ? vb : leavesB ? va : joined(va, vb, condition, negation);
  }
  environment = before;
  for (const auto& [variable, value] : after)
    environment[variable] = value;
  into.push_back(std::make_shared<Stmt>(std::move(kept)));
}

/// An inlined function that returns early; its returns are its own.
void Lifter::scope(const Stmt& stmt, std::vector<StmtRef>& into) {
  bool outer = out.returnsEarly;
  Stmt kept = stmt;
  kept.body.clear();
  walk(stmt.body, kept.body);
  out.returnsEarly = outer;
  // What it sets depends on where it returned.
  std::map<int, int> assigned;
  model::collectAssigned(stmt.body, assigned);
  for (const auto& [variable, times] : assigned) {
    const Type& type = out.kernel.variables[variable].type;
    if (type.kind == Type::Pointer) fail(stmt.location, "a pointer that a function with several returns sets");
    environment[variable] = Value{};
  }
  into.push_back(std::make_shared<Stmt>(std::move(kept)));
}

void Lifter::statement(const StmtRef& stmt, std::vector<StmtRef>& into) {
  stoodIn.clear();
  switch (stmt->kind) {
  case StmtKind::Block: return scope(*stmt, into);
  case StmtKind::Declare: return declare(*stmt, into);
  case StmtKind::Assign: return assign(*stmt, into);
  case StmtKind::Store: return store(*stmt, into);
  case StmtKind::If: return branch(*stmt, into);
  case StmtKind::For: return loop(*stmt, into);
  case StmtKind::Barrier: return fail(stmt->location, "a barrier");
  case StmtKind::Sync: return fail(stmt->location, "a collective operation: " + stmt->text);
  case StmtKind::Atomic: return atomic(*stmt, into);
  case StmtKind::While: return dataLoop(*stmt, into);
  case StmtKind::Return: out.returnsEarly = true; [[fallthrough]];
  case StmtKind::Break:
  case StmtKind::Continue: return into.push_back(stmt);
  case StmtKind::Opaque: return fail(stmt->location, "a statement that is not modelled: " + stmt->text);
  }
}

void Lifter::walk(const std::vector<StmtRef>& stmts, std::vector<StmtRef>& into) {
  int outer = mayDepth;
  size_t conditions = pathConditions.size();
  for (const StmtRef& stmt : stmts) {
    // What comes behind a statement that may leave happens only if it did not.
    bool leaves = model::mayLeave(*stmt);
    std::optional<std::string> stays;
    if (leaves && stmt->kind == StmtKind::If && endsInExit(stmt->body) && stmt->otherwise.empty()) {
      stoodIn.clear();
      stays = dataEvaluator().condition(stmt->value, true);
    }
    statement(stmt, into);
    if (leaves) ++mayDepth;
    if (stays) pathConditions.push_back(*stays);
  }
  mayDepth = outer;
  pathConditions.resize(conditions);
}

} // namespace retile::lift
