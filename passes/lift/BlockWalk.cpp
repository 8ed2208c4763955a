// Before: the statements of one thread. After: every access to global memory that a thread makes, over block
// indices, thread indices and loops, as an affine map that covers it.
//
//   for (i = begin + threadIdx.x; i < min(end, n); i += blockDim.x) s += x[i];   ->   x[i] for begin <= i < n
//
// A loop whose steps are not counted becomes a dimension bounded by its condition; a subscript that nothing
// bounds is noted.
#include "BlockLifter.h"
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

std::optional<Polynomial> BlockLifter::builtin(const std::string& name) {
  size_t dot = name.find('.');
  int a = dot != std::string::npos && dot + 1 < name.size() ? name[dot + 1] - 'x' : -1;
  if (a < 0 || a > 2)
    return name == "warpSize" ? std::optional<Polynomial>(32) : std::nullopt;
  std::string kind = name.substr(0, dot);
  if (kind == "blockDim")
    return out.axisKnown[a] || axes[a].blockSize ? out.block[a] : axes[a].threads;
  if (kind == "gridDim")
    return out.axisKnown[a] ? out.grid[a] : Polynomial::symbol(axes[a].gridSymbol);
  if (kind == "blockIdx")
    return out.axisKnown[a] && out.grid[a].constant() == 1 ? Polynomial(0)
                                                           : Polynomial::symbol(axes[a].block);
  if (kind == "threadIdx")
    return threadNames[a].empty() ? Polynomial(0) : Polynomial::symbol(threadNames[a]);
  return std::nullopt;
}

static bool isOnChip(const Variable& variable) {
  return variable.kind == Variable::LocalArray || variable.kind == Variable::SharedArray || variable.kind == Variable::DynamicShared;
}

/// Smallest terms of a value that isl can read and that are above it: min(a, b) is below both.
static void piecesAbove(const Polynomial& value, std::vector<Polynomial>& pieces) {
  for (const auto& [monomial, coefficient] : value.monomials()) {
    if (monomial.size() != 1 || coefficient != 1)
      continue;
    auto atom = value.atom(monomial[0]);
    if (atom->kind != poly::Atom::Min)
      continue;
    Polynomial rest = value - Polynomial::of(atom);
    for (const Polynomial& operand : atom->operands)
      piecesAbove(rest + operand, pieces);
    return;
  }
  pieces.push_back(value);
}

void BlockLifter::addConstraint(const std::string& left, const char* relation, const Polynomial& right) {
  std::vector<Polynomial> pieces{right};
  if (relation[0] == '<') {
    pieces.clear();
    piecesAbove(right, pieces);
  }
  for (const Polynomial& piece : pieces)
    if (auto text = piece.toIsl(dimNames()))
      pathConditions.push_back(left + " " + relation + " " + *text);
}

void BlockLifter::enterBlocks() {
  for (int a = 2; a >= 0; --a) {
    if (out.axisKnown[a] && out.grid[a].constant() == 1)
      continue;
    Dim dim;
    dim.axis = a;
    dim.isBlockIndex = true;
    dim.name = axes[a].block;
    dim.type = axes[a].blockType;
    dim.end = out.grid[a];
    dim.endKnown = out.axisKnown[a];
    axes[a].blockOffset = 0;
    out.parallel.push_back(dim);
  }
}

void BlockLifter::enterThreads() {
  for (int a = 2; a >= 0; --a) {
    Polynomial size = out.block[a];
    if (size.constant() == 1)
      continue;
    Dim dim;
    dim.name = std::string("thread") + "XYZ"[a];
    while (out.isSize(dim.name) || dimNames().count(dim.name))
      dim.name += "_";
    dim.type.kind = Type::Int;
    dim.type.bits = 32;
    dim.type.name = "int";
    dim.axis = a;
    dim.kind = Dim::Parallel;
    dim.from = Polynomial(0);
    // A block whose size nobody says: the most that hardware allows.
    dim.to = out.axisKnown[a] || axes[a].blockSize ? size : Polynomial(out.kernel.maxThreads.value_or(1024));
    dim.step = Polynomial(1);
    threadNames[a] = dim.name;
    openLoops.push_back(out.loops.size());
    out.loops.push_back(dim);
  }
}

void BlockLifter::set(int variable, const Value& value) {
  const Variable& declared = out.kernel.variables[variable];
  bool tracked = declared.extents.empty() && (declared.type.kind == Type::Pointer ||
                                              (declared.type.kind == Type::Int && declared.type.bits >= 32));
  environment[variable] = tracked ? value : Value{};
}

bool BlockLifter::neverNegativeHere(const Polynomial& value) {
  // Sums and products of what is never negative, and their quotients; the rest is isl's.
  bool plain = true;
  for (const auto& [monomial, coefficient] : value.monomials()) {
    plain = plain && coefficient > 0;
    for (const auto& part : monomial) {
      auto atom = value.atom(part);
      bool quotient = atom->kind == poly::Atom::FloorDiv || atom->kind == poly::Atom::Mod;
      
      bool isBlock = std::any_of(out.parallel.begin(), out.parallel.end(),
                                 [&](const Dim& dim) { return dim.name == part; });
      bool positive = atom->kind == poly::Atom::Symbol &&
                      (isThread(part) || isBlock || out.isSize(part) || part.find("Dim_") != std::string::npos);
      if (quotient)
        positive = neverNegativeHere(atom->operands[0]) && neverNegativeHere(atom->operands[1]);
      plain = plain && positive;
    }
  }
  return plain || proveNonNegative(value);
}



/// Notes what an access may touch. Nothing is said about shared and local memory here.
void BlockLifter::touch(const Expr& load, bool isWrite, bool isRead, bool isAtomic) {
  reads(load.operands[0]);
  reads(load.operands[1]);
  Value pointer = evaluator().evaluate(load.operands[0]);
  if (pointer.kind != Value::Pointer) {
    // The offset into a shared or local array does not matter here, but that it is one does.
    ExprRef base = load.operands[0];
    while (base->kind == ExprKind::PointerAdd ||
           (base->kind == ExprKind::Cast && base->type.kind == Type::Pointer))
      base = base->operands[0];
    pointer = evaluator().evaluate(base);
    bool isOwn = pointer.kind == Value::Pointer && isOnChip(out.kernel.variables[pointer.base]);
    if (isOwn)
      return;
    unknown.push_back({load.location, "a pointer whose base is not known", -1, isWrite});
    return;
  }
  const Variable& base = out.kernel.variables[pointer.base];
  if (isOnChip(base))
    return;
  auto index = evaluator().integer(load.operands[1]);
  Access made;
  made.array = base.name;
  made.variable = pointer.base;
  made.isMay = mayDepth > 0;
  made.isAtomic = isAtomic;
  made.statement = "S" + std::to_string(statements);
  made.element = base.type.element ? *base.type.element : base.type;
  made.location = load.location;
  if (!index || !(pointer.value + *index).isValid()) {
    unknown.push_back({load.location, "a subscript of '" + base.name + "' that is not affine: " + print(out.kernel, load.operands[1]),
                       pointer.base, isWrite});
    return;
  }
  made.flat = pointer.value + *index;
  const Expr* width = load.operands[1].get();
  made.indexBits = width->kind == ExprKind::IntLiteral ? 64 : width->type.bits;
  for (size_t loop : openLoops)
    made.loops.push_back(out.loops[loop].name);
  for (const auto& condition : pathConditions)
    made.conditions += (made.conditions.empty() ? "" : " and ") + condition;
  for (bool write : {false, true})
    if (write ? isWrite : isRead) {
      made.isWrite = write;
      out.accesses.push_back(made);
    }
}

void BlockLifter::reads(const ExprRef& expr) {
  if (!expr)
    return;
  if (expr->kind == ExprKind::Load) return touch(*expr, false, true, false);
  // The frontend leaves this where the old value of an atomic update is used.
  if (expr->kind == ExprKind::Opaque && expr->text.empty()) usesAtomicResult = true;
  if (expr->kind == ExprKind::Variable && expr->variable >= 0 &&
      out.kernel.variables[expr->variable].kind == Variable::Global) {
    Expr load = *expr;
    load.kind = ExprKind::Load;
    auto base = std::make_shared<Expr>(*expr), zero = std::make_shared<Expr>();
    base->kind = ExprKind::Array;
    zero->kind = ExprKind::IntLiteral;
    load.operands = {base, zero};
    return touch(load, false, true, false);
  }
  bool isLogical = expr->kind == ExprKind::Binary && (expr->text == "&&" || expr->text == "||");
  if (expr->kind != ExprKind::Select && !isLogical) {
    for (const ExprRef& operand : expr->operands)
      reads(operand);
    return;
  }
  reads(expr->operands[0]);
  for (size_t n = 1; n < expr->operands.size(); ++n) {
    auto test = evaluator().condition(expr->operands[0], isLogical ? expr->text == "||" : n == 2);
    if (test)
      pathConditions.push_back(*test);
    else
      ++mayDepth;
    reads(expr->operands[n]);
    if (test)
      pathConditions.pop_back();
    else
      --mayDepth;
  }
}

/// Conjuncts that are affine bound what runs behind them, whatever the others say.
static void conjuncts(const ExprRef& expr, std::vector<ExprRef>& list) {
  ExprRef inner = expr;
  while (inner->kind == ExprKind::Cast && inner->operands[0]->type.kind == Type::Bool)
    inner = inner->operands[0];
  if (inner->kind == ExprKind::Binary && inner->text == "&&") {
    conjuncts(inner->operands[0], list);
    conjuncts(inner->operands[1], list);
  } else {
    list.push_back(inner);
  }
}

void BlockLifter::followBranch(const Stmt& stmt) {
  reads(stmt.value);
  Environment before = environment;
  size_t conditions = pathConditions.size();
  std::vector<ExprRef> tests;
  conjuncts(stmt.value, tests);
  int mayBefore = mayDepth;
  for (const ExprRef& test : tests) {
    if (auto condition = evaluator().condition(test))
      pathConditions.push_back(*condition);
    else
      ++mayDepth;
  }
  follow(stmt.body);
  pathConditions.resize(conditions);
  mayDepth = mayBefore;
  Environment taken = environment;
  environment = before;
  auto negation = evaluator().condition(stmt.value, true);
  if (negation)
    pathConditions.push_back(*negation);
  else
    ++mayDepth;
  follow(stmt.otherwise);
  pathConditions.resize(conditions);
  mayDepth = mayBefore;
  for (const auto& [variable, value] : taken) {
    auto other = environment.find(variable);
    bool same = other != environment.end() && other->second.kind == value.kind &&
                other->second.base == value.base && other->second.value == value.value;
    if (!same)
      environment[variable] = Value{};
  }
  for (auto& [variable, value] : environment)
    if (!taken.count(variable))
      value = Value{};
}

void BlockLifter::followLoop(const Stmt& stmt) {
  follow(stmt.init);
  std::string why;
  Environment start = environment;
  std::vector<StmtRef> inside = stmt.body;
  inside.insert(inside.end(), stmt.step.begin(), stmt.step.end());
  bool steps = stmt.step.size() == 1 && stmt.step[0]->kind == StmtKind::Assign && stmt.step[0]->variable >= 0;
  int counter = steps ? stmt.step[0]->variable : -1;
  std::map<int, int> assigned;
  model::collectAssigned(inside, assigned);
  auto found = counted(stmt, why);
  size_t conditions = pathConditions.size();
  int mayBefore = mayDepth;
  bool isDimension = counter >= 0 && assigned[counter] == 1 &&
                     out.kernel.variables[counter].type.kind == Type::Int &&
                     out.kernel.variables[counter].type.bits >= 32;
  if (isDimension) {
    const Variable& variable = out.kernel.variables[counter];
    Dim dim;
    dim.kind = Dim::Sequential;
    dim.type = variable.type;
    dim.variable = counter;
    dim.name = variable.name;
    std::set<std::string> taken = dimNames();
    for (const auto& [name, size] : out.sizes)
      taken.insert(name);
    while (taken.count(dim.name))
      dim.name += "_";
    dim.step = Polynomial(1);
    Value initial = start.count(counter) ? start[counter] : Value{};
    size_t index = out.loops.size();
    const std::string name = dim.name;
        bool isDistributed = found && distribute(*found, dim);
    bool exact = !isDistributed && found && found->step.constant() && found->from.toIsl(dimNames()) && found->to.toIsl(dimNames());
    sourceLoops[name] = &stmt;
    if (isDistributed) {
      // Said by `dim`.
    } else if (exact) {
      dim.from = found->isDown ? found->to : found->from;
      dim.to = found->isDown ? found->from + Polynomial(1) : found->to;
      dim.step = found->isDown ? Polynomial(1) : found->step;
    } else {
      // Bounded by what is known of it: it grows from its first value, or shrinks to what its condition says.
      dim.from = Polynomial::symbol(name);
      dim.to = Polynomial::symbol(name) + Polynomial(1);
      const std::string& op = stmt.step[0]->text;
      bool halves = op == ">>=" || op == "/=";
      auto amount = op == "+=" ? evaluator().integer(stmt.step[0]->value) : std::nullopt;
      bool grows = op == "<<=" || op == "*=" || (amount && neverNegativeHere(*amount));
      if (initial.kind == Value::Integer && grows) {
        auto text = initial.value.toIsl(dimNames());
        if (text)
          pathConditions.push_back(name + " >= " + *text);
        else if (neverNegativeHere(initial.value))
          pathConditions.push_back(name + " >= 0");
      }
      if (initial.kind == Value::Integer && halves && neverNegativeHere(initial.value)) {
        pathConditions.push_back(name + " >= 0");
        addConstraint(name, "<=", initial.value);
      }
    }
    out.loops.push_back(dim);
    openLoops.push_back(index);
    for (const auto& [variableIndex, times] : assigned)
      environment[variableIndex] = Value{};
    if (exact) {
      environment = start;
      enterInductions(stmt, *found);
    }
    Value held;
    held.kind = Value::Integer;
    held.value = Polynomial::symbol(name);
    environment[counter] = held;
        if (!exact && !isDistributed && found) addConstraint(name, "<", found->to);
  } else {
    for (const auto& [variable, times] : assigned)
      environment[variable] = Value{};
    ++mayDepth;
  }
  if (stmt.value && !stmt.isDo) {
    reads(stmt.value);
    std::vector<ExprRef> tests;
    conjuncts(stmt.value, tests);
    for (const ExprRef& test : tests)
      if (auto condition = evaluator().condition(test))
        pathConditions.push_back(*condition);
  }
  follow(stmt.body);
  follow(stmt.step);
  if (stmt.value && stmt.isDo)
    reads(stmt.value);
  if (isDimension)
    openLoops.pop_back();
  pathConditions.resize(conditions);
  mayDepth = mayBefore;
  environment = start;
  for (const auto& [variable, times] : assigned)
    environment[variable] = Value{};
}

void BlockLifter::followAtomic(const Stmt& stmt) {
  reads(stmt.value);
  ++statements;
  if (stmt.variable >= 0) {
    usesAtomicResult = true;
    environment[stmt.variable] = Value{};
  }
  if (!stmt.target || stmt.target->kind != ExprKind::Load) {
    unknown.push_back({stmt.location, "an atomic update that is not modelled", -1, true});
    return;
  }
  touch(*stmt.target, true, true, true);
  Value pointer = evaluator().evaluate(stmt.target->operands[0]);
  if (pointer.kind != Value::Pointer || isOnChip(out.kernel.variables[pointer.base])) return;
  static const std::set<std::string> commutative{"atomicAdd", "atomicSub", "atomicMax", "atomicMin",
                                                 "atomicAnd", "atomicOr",  "atomicXor"};
  // Sums and differences commute, two different operations do not.
  std::string function = stmt.text == "atomicSub" ? "atomicAdd" : stmt.text;
  std::string& before = atomicOf.try_emplace(pointer.base, function).first->second;
  mixesAtomics = mixesAtomics || !commutative.count(stmt.text) || before != function;
  sumsFloatsAtomically = sumsFloatsAtomically || (function == "atomicAdd" && stmt.target->type.kind != Type::Int);
}

void BlockLifter::followStatement(const Stmt& stmt) {
  switch (stmt.kind) {
  case StmtKind::Block:
    return follow(stmt.body);
  case StmtKind::Declare:
    reads(stmt.value);
    environment.erase(stmt.variable);
        if (stmt.value) {
      set(stmt.variable, evaluator().evaluate(stmt.value));
      nameUnit(stmt.variable);
    } else if (out.kernel.variables[stmt.variable].extents.empty() &&
             out.kernel.variables[stmt.variable].kind == Variable::Scalar)
      environment[stmt.variable] = Value{};
    return;
  case StmtKind::Assign: {
    reads(stmt.value);
    if (stmt.text == "=")
      return set(stmt.variable, evaluator().evaluate(stmt.value));
    Expr combined;
    const Type& type = out.kernel.variables[stmt.variable].type;
    bool isPointer = type.kind == Type::Pointer;
    combined.kind = isPointer ? ExprKind::PointerAdd : ExprKind::Binary;
    combined.type = type;
    combined.text = stmt.text.substr(0, stmt.text.size() - 1);
    auto self = std::make_shared<Expr>();
    self->kind = ExprKind::Variable;
    self->variable = stmt.variable;
    self->type = type;
    combined.operands = {self, stmt.value};
    bool backwards = isPointer && stmt.text != "+=";
    return set(stmt.variable, backwards ? Value{} : evaluator().evaluate(std::make_shared<Expr>(combined)));
  }
  case StmtKind::Store:
    reads(stmt.value);
    if (stmt.target->kind == ExprKind::Load)
      touch(*stmt.target, true, stmt.text != "=", false);
    else if (stmt.target->kind != ExprKind::Member) unknown.push_back({stmt.location, "a store that is not modelled", -1, true});
    ++statements;
    return;
  case StmtKind::Atomic:
        return followAtomic(stmt);
  case StmtKind::Sync:
    reads(stmt.value);
    if (stmt.variable >= 0)
      environment[stmt.variable] = Value{};
    return;
  case StmtKind::If:
    return followBranch(stmt);
  case StmtKind::For:
  case StmtKind::While:
    return followLoop(stmt);
  case StmtKind::Opaque:
    // Kernel::opaque has it, with its reason.
    return;
  case StmtKind::Barrier:
  case StmtKind::Return:
  case StmtKind::Break:
  case StmtKind::Continue:
    return;
  }
}

void BlockLifter::follow(const std::vector<StmtRef>& stmts) {
  for (const StmtRef& stmt : stmts)
    followStatement(*stmt);
}

} // namespace retile::lift
