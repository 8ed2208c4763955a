// The point program for all items of a thread. Statements between uniform loops form a segment, which runs for every item
// before the next one begins; the uniform loops run once for all items (unroll and jam).
#include "TemplateEmitter.h"
#include "retile/KernelModel/Visit.h"

namespace retile::emit {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;
using model::Type;
using model::Variable;

static std::set<int> variablesOf(const StmtRef& whole) {
  std::set<int> variables;
  auto note = [&](const Expr& node) {
    if (node.kind == ExprKind::Variable && node.variable >= 0) variables.insert(node.variable);
  };
  model::forEachStmt({whole}, [&](const Stmt& stmt) {
    if (stmt.kind == StmtKind::Declare || stmt.kind == StmtKind::Assign) variables.insert(stmt.variable);
    model::forEachExpr(stmt.value, note);
    if (stmt.target) model::forEachExpr(stmt.target, note);
    for (const auto* header : {&stmt.init, &stmt.step})
      for (const StmtRef& set : *header) {
        variables.insert(set->variable);
        model::forEachExpr(set->value, note);
      }
  });
  return variables;
}

void TemplateEmitter::findCarried() {
  std::map<int, std::set<int>> segmentsOf;
  int current = 0;
  auto visit = [&](auto&& self, const std::vector<StmtRef>& stmts) -> void {
    ++current;
    for (const StmtRef& stmt : stmts) {
      if (stmt->kind == StmtKind::For && jammed.count(lifted.loops[stmt->variable].name)) {
        self(self, stmt->body);
        ++current;
        continue;
      }
      for (int variable : variablesOf(stmt))
        segmentsOf[variable].insert(current);
    }
  };
  visit(visit, lifted.body);
  for (const auto& [variable, segments] : segmentsOf) {
    const Variable& declared = lifted.kernel.variables[variable];
    bool isLoop = false;
    for (const Dim& loop : lifted.loops)
      isLoop = isLoop || loop.variable == variable;
    for (const Dim& dim : lifted.parallel)
      isLoop = isLoop || dim.variable == variable || dim.name == declared.name;
    if (segments.size() > 1 && declared.kind == Variable::Scalar && !isLoop) carried[variable] = true;
  }
}

void TemplateEmitter::nodes(const std::vector<StmtRef>& stmts) {
  std::vector<StmtRef> run;
  auto flush = [&] {
    if (!run.empty()) points(run);
    run.clear();
  };
  for (const StmtRef& stmt : stmts) {
    if (stmt->kind == StmtKind::For && jammed.count(lifted.loops[stmt->variable].name)) {
      flush();
      loopNode(*stmt);
    } else {
      run.push_back(stmt);
    }
  }
  flush();
}

/// `counter op bound` as numbers, whatever the types: C compares -1 with an unsigned number as the largest one.
std::string TemplateEmitter::loopTest(const Dim& dim, const char* op, const Polynomial& bound) {
  bool mayBeNegative = false, mixes = false;
  for (const auto& [monomial, coefficient] : bound.monomials()) {
    mayBeNegative = mayBeNegative || coefficient < 0 || (!monomial.empty() && bound.atom(monomial[0])->kind != poly::Atom::Symbol);
    for (const auto& part : monomial)
      mixes = mixes || isUnsigned(part, 64);
  }
  if (dim.type.isSigned) return dim.name + op + (mixes ? "(" + dim.type.name + ")(" + number(bound) + ")" : number(bound));
  if (!mayBeNegative) return dim.name + op + number(bound);
  return "(long long)" + dim.name + op + "(long long)(" + number(bound) + ")";
}

void TemplateEmitter::loopHeader(const Stmt& stmt) {
  const Dim& dim = lifted.loops[stmt.variable];
  const std::string& name = dim.name;
  auto step = dim.step.constant();
  if (!stmt.pragma.empty()) line("RETILE_UNROLL");
  if (step && *step < 0)
    line("for (" + dim.type.name + " " + name + " = " + number(dim.to - Polynomial(1)) + "; " + loopTest(dim, " >= ", dim.from) + "; --" + name + ") {");
  else
    line("for (" + dim.type.name + " " + name + " = " + number(dim.from) + "; " + loopTest(dim, " < ", dim.to) + "; " + name +
         " += " + number(dim.step) + ") {");
}

void TemplateEmitter::loopNode(const Stmt& stmt) {
  const Dim& dim = lifted.loops[stmt.variable];
  const auto* tiled = plan.loop(dim.name);
  std::string type = dim.type.name;
  if (!tiled) {
    loopHeader(stmt);
    ++depth;
    nodes(stmt.body);
    --depth;
    line("}");
    return;
  }
  std::string start = unique(dim.name + "0"), step = unique("n" + dim.name), any, upper = tiled->upper;
  for (const auto& stage : plan.stages)
    if (stage.loop == dim.name) any += (any.empty() ? "" : " + ") + ("STAGE_" + stage.upper);
  std::string tile = tiled->staged ? "TILE_" + upper : "1", stages = tiled->staged ? "STAGES_" + upper : "1";
  line("retile::forTiles<" + tile + ", " + stages + ", UNROLL_" + upper + ", (" + (any.empty() ? "false" : any + " > 0") + ")>(");
  ++depth;
  // No steps below the first: as an unsigned number, a bound below zero would be many.
  std::string from = number(dim.from), to = number(dim.to);
  if (!dim.type.isSigned && !lifted.neverNegative(dim.to)) to = "retile::larger(" + from + ", " + to + ")";
  line("(" + type + ")(" + from + "), (" + type + ")(" + to + "),");
  line("[&](int slot, " + type + " " + start + ") {");
  ++depth;
  names[dim.name].origin = start;
  bool fills = false;
  for (const auto& stage : plan.stages)
    if (stage.loop == dim.name) fill(stage, "slot"), fills = true;
  if (!fills) line("(void)slot, (void)" + start + ";");
  --depth;
  line("},");
  line("[&](int slot, " + type + " " + start + ", int " + step + ") {");
  ++depth;
  line("const " + type + " " + dim.name + " = " + start + " + " + step + ";");
  line("(void)slot, (void)" + dim.name + ";");
  segment.slot = "slot";
  segment.tileLocal[dim.name] = step;
  nodes(stmt.body);
  segment.tileLocal.erase(dim.name);
  segment.slot = "0";
  --depth;
  line("});");
  --depth;
}

void TemplateEmitter::itemLoops(const std::function<void()>& inner, bool runs) {
  // Braces everywhere: a pragma is no part of the statement behind an `if` or `else`.
  std::vector<const DimPlan*> tiled;
  for (const DimPlan& dim : plan.dims)
    if (dim.tiled) tiled.push_back(&dim);
  for (const DimPlan* dim : tiled) {
    const std::string& item = names.at(dim->name).item;
    bool stride = runs && dim == tiled.back();
    line("RETILE_UNROLL for (int " + item + " = 0; " + item + " < ITEMS_" + dim->upper + "; " +
         (stride ? item + " += RUN_" + dim->upper : "++" + item) + ") {");
    ++depth;
  }
  inner();
  for (size_t n = 0; n < tiled.size(); ++n) {
    --depth;
    line("}");
  }
}

bool mentionsName(const std::string& text, const std::string& name) {
  auto isWord = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    bool before = at > 0 && isWord(text[at - 1]), after = at + name.size() < text.size() && isWord(text[at + name.size()]);
    if (!before && !after) return true;
  }
  return false;
}

std::string TemplateEmitter::residualText() const {
  auto& self = const_cast<TemplateEmitter&>(*this);
  std::string all;
  for (const auto& conjunction : plan.residual) {
    std::string one;
    for (const auto& constraint : conjunction) {
      Polynomial positive, negative;
      for (const auto& [monomial, coefficient] : constraint.value.monomials()) {
        Polynomial term(coefficient > 0 ? coefficient : -coefficient);
        for (const auto& text : monomial)
          term = term * Polynomial::of(constraint.value.atom(text));
        (coefficient > 0 ? positive : negative) = (coefficient > 0 ? positive : negative) + term;
      }
      one += (one.empty() ? "" : " && ") + ("(long long)(" + self.number(positive) + ")") + (constraint.isEquality ? " == " : " >= ") +
             "(long long)(" + self.number(negative) + ")";
    }
    if (one.empty()) return "";
    all += (all.empty() ? "" : " || ") + (plan.residual.size() > 1 ? "(" + one + ")" : one);
  }
  return plan.residual.size() > 1 ? "(" + all + ")" : all;
}

/// Declares what `text`, the segment's body, uses of the item's coordinates.
void TemplateEmitter::itemCoordinates(const std::string& text) {
  bool needsInside = mentionsName(text, "inside") || guarded;
  std::string inside;
  for (size_t n = 0; n < plan.dims.size(); ++n) {
    const DimPlan& one = plan.dims[n];
    const Dim& dim = lifted.parallel[n];
    if (!one.tiled) continue;
    const Names& own = names.at(one.name);
    bool usesCoordinate = mentionsName(text, dim.name) || needsInside, usesLocal = mentionsName(text, own.local) || usesCoordinate;
    if (!usesLocal) continue;
    line("const int " + own.local + " = retile::itemOffset<THREADS_" + one.upper + ", " + (one.hasRun ? "RUN_" + one.upper : "1") + ">(" +
         own.thread + ", " + own.item + ");");
    if (!usesCoordinate) continue;
    std::string at = "(" + dim.type.name + ")(" + own.origin + " + " + own.local + ")";
    line("const " + dim.type.name + " " + dim.name + " = " + (guarded ? at : clamped(dim, at)) + ";");
    inside += (inside.empty() ? "" : " && ") + (guarded ? inBounds(dim, dim.name) : dim.name + " == " + at);
  }
  if (guarded) {
    std::string residual = residualText();
    if (!residual.empty()) inside += (inside.empty() ? "" : " && ") + residual;
  }
  if (needsInside) line("const bool inside = " + (inside.empty() ? "true" : orAllInside(inside)) + ";");
}

std::string TemplateEmitter::capture(const std::function<void()>& work) {
  std::string outer = std::move(body);
  body.clear();
  work();
  std::string text = std::move(body);
  body = std::move(outer);
  return text;
}

void TemplateEmitter::points(const std::vector<StmtRef>& stmts) {
  for (const StmtRef& stmt : stmts)
    if (!guarded && hasVectorAccess(*stmt)) return vectorPoints(stmts);
  itemLoops(
      [&] {
        if (guarded) ++depth;
        std::string text = capture([&] { pointProgram(stmts); });
        if (guarded) --depth;
        itemCoordinates(text);
        if (guarded) line("if (inside) {");
        body += text;
        if (guarded) line("}");
      },
      false);
}

/// The statements of one point; a return in it ends the point, not the thread.
void TemplateEmitter::pointProgram(const std::vector<StmtRef>& stmts) {
  if (!lifted.returnsEarly) return statements(stmts);
  line("[&] {");
  ++depth;
  statements(stmts);
  --depth;
  line("}();");
}

void TemplateEmitter::statements(const std::vector<StmtRef>& stmts) {
  for (const StmtRef& stmt : stmts)
    statement(*stmt);
}

/// A product that the original rounds because it stores it: kept from merging into a later sum.
static bool isFloatProduct(const ExprRef& value) {
  ExprRef inner = value;
  while (inner->kind == ExprKind::Cast && inner->implicit && inner->operands[0]->type.kind == Type::Float &&
         inner->operands[0]->type.bits == inner->type.bits)
    inner = inner->operands[0];
  return inner->kind == ExprKind::Binary && inner->text == "*" && inner->type.kind == Type::Float &&
         (inner->type.bits == 32 || inner->type.bits == 64);
}

/// A declaration or assignment without its semicolon; "" where it has nothing to say here.
std::string TemplateEmitter::setText(const Stmt& stmt) {
  if (stmt.kind == StmtKind::Assign) {
    auto target = std::make_shared<Expr>();
    target->kind = ExprKind::Variable;
    target->variable = stmt.variable;
    bool isPart = stmt.target && stmt.target->kind != ExprKind::Variable;
    return expr(isPart ? stmt.target : target) + " " + stmt.text + " " + expr(stmt.value);
  }
  const Variable& variable = lifted.kernel.variables[stmt.variable];
  for (const Dim& dim : lifted.parallel)
    if (dim.name == variable.name) return "";
  if (carried.count(stmt.variable)) return stmt.value ? variable.name + "Of" + itemIndices() + " = " + expr(stmt.value) : "";
  std::string extents;
  for (auto extent : variable.extents)
    extents += "[" + std::to_string(extent) + "]";
  return variable.type.name + " " + variable.name + extents + (stmt.value ? " = " + expr(stmt.value) : variable.initialisedToZero ? " = {}" : "");
}

/// A loop that only the data bound, as the source has it.
void TemplateEmitter::spelledLoop(const Stmt& stmt) {
  auto header = [&](const std::vector<StmtRef>& stmts) {
    std::string text;
    for (const StmtRef& set : stmts)
      text += (text.empty() ? "" : ", ") + setText(*set);
    return text;
  };
  std::string condition = stmt.value ? expr(stmt.value) : "";
  if (!stmt.pragma.empty()) line(stmt.pragma);
  if (stmt.kind == StmtKind::For) line("for (" + header(stmt.init) + "; " + condition + "; " + header(stmt.step) + ") {");
  else line(stmt.isDo ? "do {" : "while (" + condition + ") {");
  ++depth;
  statements(stmt.body);
  --depth;
  line(stmt.isDo ? "} while (" + condition + ");" : "}");
}

void TemplateEmitter::statement(const Stmt& stmt) {
  switch (stmt.kind) {
  case StmtKind::Declare:
  case StmtKind::Assign: {
    std::string text = setText(stmt);
    if (!text.empty()) line(text + ";");
    return;
  }
  case StmtKind::Store: {
    const Expr* whole = stmt.target.get();
    while (whole->kind != ExprKind::Access && (whole->kind == ExprKind::Member || whole->kind == ExprKind::Load))
      whole = whole->operands[0].get();
    bool isPart = whole != stmt.target.get(), toMemory = whole->kind == ExprKind::Access;
    std::string value = expr(stmt.value), target = expr(stmt.target);
    bool kept = toMemory && plan.keeps(lifted.accesses[static_cast<size_t>(whole->value)].array);
    std::string op = stmt.text;
    auto rounded = [](int bits) { return std::string(bits == 32 ? "__fmul_rn(" : "__dmul_rn("); };
    if (kept && op == "=" && isFloatProduct(stmt.value)) {
      ExprRef product = stmt.value;
      while (product->kind == ExprKind::Cast)
        product = product->operands[0];
      value = rounded(product->type.bits) + expr(product->operands[0]) + ", " + expr(product->operands[1]) + ")";
    }
    const Type &to = stmt.target->type, &from = stmt.value->type;
    if (kept && op == "*=" && to.kind == Type::Float && from.kind == Type::Float && from.bits == to.bits && (to.bits == 32 || to.bits == 64)) {
      value = rounded(to.bits) + target + ", " + value + ")";
      op = "=";
    }
    bool inRun = toMemory && !isPart && segment.runs.count(stmt.target->value);
    std::string guard;
    if (toMemory && !guarded && !inRun) {
      guard = "if (inside) ";
      if (kept) guard = "if (KEEP_" + transform::upperName(lifted.accesses[static_cast<size_t>(whole->value)].array) + " != 0 || inside) ";
    }
    return line(guard + target + " " + op + " " + value + ";");
  }
  case StmtKind::If: {
    if (stmt.body.empty() && !stmt.otherwise.empty()) {
      line("if (!(" + expr(stmt.value) + ")) {");
      ++depth;
      statements(stmt.otherwise);
      --depth;
      return line("}");
    }
    line("if (" + expr(stmt.value) + ") {");
    ++depth;
    statements(stmt.body);
    --depth;
    if (!stmt.otherwise.empty()) {
      line("} else {");
      ++depth;
      statements(stmt.otherwise);
      --depth;
    }
    return line("}");
  }
  case StmtKind::Atomic: return line(stmt.text + "(&" + expr(stmt.target) + ", " + expr(stmt.value) + ");");
  case StmtKind::Block: {
    line("[&] {");
    ++depth;
    statements(stmt.body);
    --depth;
    return line("}();");
  }
  case StmtKind::While: return spelledLoop(stmt);
  case StmtKind::Return: return line("return;");
  case StmtKind::Break: return line("break;");
  case StmtKind::Continue: return line("continue;");
  case StmtKind::For: {
    if (lifted.loops[stmt.variable].dataBound) return spelledLoop(stmt);
    loopHeader(stmt);
    ++depth;
    statements(stmt.body);
    --depth;
    return line("}");
  }
  default: return;
  }
}

/// Threads without a point of their own leave, where a domain that is no box leaves many of them idle; with tiles in shared
/// memory only the whole block can.
void TemplateEmitter::skipIdle() {
  line("bool any = false;");
  itemLoops(
      [&] {
        std::string text = capture([&] { line("any = any || inside;"); });
        itemCoordinates(text);
        body += text;
      },
      false);
  line((plan.stages.empty() ? "if (!any) " : "if (!__syncthreads_or(any)) ") + leave());
}

/// Loads the kept elements before the program, stores them behind it.
void TemplateEmitter::keptValues(bool load) {
  for (const auto& array : plan.kept) {
    std::string upper = transform::upperName(array);
    const Access* first = nullptr;
    for (const Access& access : lifted.accesses)
      if (access.array == array && !first) first = &access;
    if (load && first->isWrite) continue;
    line("if constexpr (KEEP_" + upper + " != 0) {");
    ++depth;
    itemLoops(
        [&] {
          std::string text = capture([&] {
            std::string kept = "kept" + upper + itemIndices(), memory = globalText(*first);
            if (load) line((guarded ? "if (inside) " : "") + kept + " = " + memory + ";");
            else line("if (inside) " + memory + " = " + kept + ";");
          });
          itemCoordinates(text);
          body += text;
        },
        false);
    --depth;
    line("}");
  }
}

} // namespace retile::emit
