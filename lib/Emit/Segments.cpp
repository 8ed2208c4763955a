// The point program for all items of a thread. Statements between uniform loops form a segment, which runs for every item
// before the next one begins; the uniform loops run once for all items (unroll and jam).
#include "TemplateEmitter.h"

namespace retile::emit {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;
using model::Type;
using model::Variable;

static void variablesOf(const ExprRef& expr, std::set<int>& into) {
  if (!expr) return;
  if (expr->kind == ExprKind::Variable && expr->variable >= 0) into.insert(expr->variable);
  for (const ExprRef& operand : expr->operands)
    variablesOf(operand, into);
}

static void variablesOf(const Stmt& stmt, std::set<int>& into) {
  bool sets = stmt.kind == StmtKind::Declare || stmt.kind == StmtKind::Assign;
  if (sets) into.insert(stmt.variable);
  variablesOf(stmt.value, into);
  if (stmt.kind == StmtKind::Store) variablesOf(stmt.target, into);
  for (const auto* list : {&stmt.body, &stmt.otherwise})
    for (const StmtRef& inner : *list)
      variablesOf(*inner, into);
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
      std::set<int> used;
      variablesOf(*stmt, used);
      for (int variable : used)
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

void TemplateEmitter::loopNode(const Stmt& stmt) {
  const Dim& dim = lifted.loops[stmt.variable];
  const auto* tiled = plan.loop(dim.name);
  std::string type = dim.type.name;
  if (!tiled) {
    if (!stmt.pragma.empty()) body += std::string(static_cast<size_t>(depth) * 2, ' ') + "RETILE_UNROLL\n";
    line("for (" + type + " " + dim.name + " = " + number(dim.from) + "; " + dim.name + " < " + number(dim.to) + "; " + dim.name +
         " += " + number(dim.step) + ") {");
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
  line("(" + type + ")(" + number(dim.from) + "), (" + type + ")(" + number(dim.to) + "),");
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

static bool mentionsName(const std::string& text, const std::string& name) {
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
        for (const auto& text : monomial) {
          auto atom = constraint.value.atom(text);
          term = term * (atom->kind == poly::Atom::Symbol ? Polynomial::symbol(text)
                                                          : Polynomial::floorDiv(atom->operands[0], atom->operands[1]));
        }
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
    std::string type = dim.type.name, at = "(" + type + ")(" + own.origin + " + " + own.local + ")";
    std::string lo = lowerBound(dim), hi = upperBound(dim);
    if (guarded) {
      line("const " + type + " " + dim.name + " = " + at + ";");
      inside += (inside.empty() ? "" : " && ") + (dim.name + " <= " + hi) + (needsLower(dim) ? " && " + dim.name + " >= " + lo : "");
    } else {
      line("const " + type + " " + dim.name + " = " +
           (needsLower(dim) ? "retile::within<" + type + ">(" + at + ", " + lo + ", " + hi + ")" : "retile::atMost<" + type + ">(" + at + ", " + hi + ")") +
           ";");
      inside += (inside.empty() ? "" : " && ") + (dim.name + " == " + at);
    }
  }
  if (guarded) {
    std::string residual = residualText();
    if (!residual.empty()) inside += (inside.empty() ? "" : " && ") + residual;
  }
  if (needsInside) line("const bool inside = " + (inside.empty() ? "true" : inside) + ";");
}

std::string TemplateEmitter::capture(const std::function<void()>& work) {
  std::string outer = std::move(body);
  body.clear();
  work();
  std::string text = std::move(body);
  body = std::move(outer);
  return text;
}

static bool hasAccess(const Stmt& stmt, const std::function<bool(std::int64_t)>& test) {
  bool found = false;
  auto look = [&](auto&& self, const ExprRef& expr) -> void {
    if (!expr) return;
    if (expr->kind == ExprKind::Access && test(expr->value)) found = true;
    for (const ExprRef& operand : expr->operands)
      self(self, operand);
  };
  look(look, stmt.value);
  if (stmt.kind == StmtKind::Store) look(look, stmt.target);
  return found;
}

static Stmt valueOnly(const Stmt& stmt) {
  Stmt copy;
  copy.kind = StmtKind::Assign;
  copy.value = stmt.value;
  return copy;
}

void TemplateEmitter::points(const std::vector<StmtRef>& stmts) {
  for (const StmtRef& stmt : stmts)
    if (!guarded && hasAccess(*stmt, [&](std::int64_t n) { return plan.vectorAccesses.count(n) != 0; })) return vectorPoints(stmts);
  itemLoops(
      [&] {
        if (guarded) ++depth;
        std::string text = capture([&] { statements(stmts); });
        if (guarded) --depth;
        itemCoordinates(text);
        if (guarded) line("if (inside) {");
        body += text;
        if (guarded) line("}");
      },
      false);
}

/// A segment with vector accesses: loads of whole runs, the points of the run, stores of whole runs.
void TemplateEmitter::vectorPoints(const std::vector<StmtRef>& stmts) {
  const DimPlan& one = plan.dims.back();
  const Dim& dim = lifted.parallel.back();
  Names& own = names.at(one.name);
  std::string start = unique(one.name + "Run"), run = own.run, RUN = "RUN_" + one.upper, type = dim.type.name;
  itemLoops(
      [&] {
        // Which runs: accesses of this segment, by array and direction.
        std::vector<std::int64_t> loads, stores;
        std::map<std::string, std::string> shared;
        for (const StmtRef& stmt : stmts) {
          auto consider = [&](std::int64_t n, bool) {
            if (!plan.vectorAccesses.count(n)) return false;
            const Access& access = lifted.accesses[static_cast<size_t>(n)];
            auto key = access.array + (access.isWrite ? "#out" : "#in") + access.flat.toText();
            if (!shared.count(key)) {
              shared[key] = unique(access.array + (access.isWrite ? "Out" : "In"));
              (access.isWrite ? stores : loads).push_back(n);
            }
            segment.runs[n] = shared[key];
            return false;
          };
          bool updates = stmt->kind == StmtKind::Store && stmt->text != "=";
          // An update reads and writes one array of registers.
          if (updates && plan.vectorAccesses.count(stmt->target->value) && plan.vectorAccesses.count(stmt->target->value - 1)) {
            consider(stmt->target->value, true);
            segment.runs[stmt->target->value - 1] = segment.runs[stmt->target->value];
            loads.push_back(stmt->target->value - 1);
            hasAccess(valueOnly(*stmt), [&](std::int64_t n) { return consider(n, true); });
          } else if (updates) {
            hasAccess(valueOnly(*stmt), [&](std::int64_t n) { return consider(n, true); });
          } else {
            hasAccess(*stmt, [&](std::int64_t n) { return consider(n, true); });
          }
        }
        ++depth;
        std::string text = capture([&] { statements(stmts); });
        --depth;
        std::string loadText = capture([&] {
          std::set<std::string> declared;
          auto declareRun = [&](std::int64_t n) {
            const Access& access = lifted.accesses[static_cast<size_t>(n)];
            if (declared.insert(segment.runs[n]).second) line(access.element.name + " " + segment.runs[n] + "[" + RUN + "];");
          };
          for (std::int64_t n : loads) {
            declareRun(n);
            const Access& access = lifted.accesses[static_cast<size_t>(n)];
            std::string whole = globalText(access, {{dim.name, start}}), single = globalText(access, {{dim.name, "(" + start + " + " + run + ")"}});
            line("if (whole) retile::loadVector<" + RUN + ">(" + segment.runs[n] + ", &" + whole + ");");
            line("else {");
            line("  RETILE_UNROLL for (int " + run + " = 0; " + run + " < " + RUN + "; ++" + run + ")");
            line("    if (" + start + " + " + run + " <= " + upperBound(dim) + (needsLower(dim) ? " && " + start + " + " + run + " >= " + lowerBound(dim) : "") +
                 ") " + segment.runs[n] + "[" + run + "] = " + single + ";");
            line("}");
          }
          for (std::int64_t n : stores)
            declareRun(n);
        });
        std::string storeText = capture([&] {
          for (std::int64_t n : stores) {
            const Access& access = lifted.accesses[static_cast<size_t>(n)];
            std::string whole = globalText(access, {{dim.name, start}}), single = globalText(access, {{dim.name, "(" + start + " + " + run + ")"}});
            line("if (whole && outside == 0) retile::storeVector<" + RUN + ">(&" + whole + ", " + segment.runs[n] + ");");
            line("else if (outside == 0) {");
            line("  RETILE_UNROLL for (int " + run + " = 0; " + run + " < " + RUN + "; ++" + run + ")");
            line("    if (" + start + " + " + run + " <= " + upperBound(dim) + (needsLower(dim) ? " && " + start + " + " + run + " >= " + lowerBound(dim) : "") +
                 ") " + single + " = " + segment.runs[n] + "[" + run + "];");
            line("}");
          }
        });
        // Outer coordinates once for the run.
        std::string outside;
        std::string all = loadText + text + storeText;
        for (size_t n = 0; n + 1 < plan.dims.size(); ++n) {
          const DimPlan& outer = plan.dims[n];
          const Dim& outerDim = lifted.parallel[n];
          if (!outer.tiled) continue;
          const Names& its = names.at(outer.name);
          std::string at = "(" + outerDim.type.name + ")(" + its.origin + " + " + its.local + ")";
          line("const int " + its.local + " = retile::itemOffset<THREADS_" + outer.upper + ", 1>(" + its.thread + ", " + its.item + ");");
          line("const " + outerDim.type.name + " " + outerDim.name + " = " +
               (needsLower(outerDim) ? "retile::within<" + outerDim.type.name + ">(" + at + ", " + lowerBound(outerDim) + ", "
                                     : "retile::atMost<" + outerDim.type.name + ">(" + at + ", ") +
               upperBound(outerDim) + ");");
          outside += (outside.empty() ? "" : " + ") + ("(" + outerDim.name + " != " + at + ")");
        }
        line("const " + type + " " + start + " = " + own.origin + " + retile::itemOffset<THREADS_" + one.upper + ", " + RUN + ">(" + own.thread + ", " +
             own.item + ");");
        line("const bool whole = " + start + " + (" + RUN + " - 1) <= " + upperBound(dim) + (needsLower(dim) ? " && " + start + " >= " + lowerBound(dim) : "") +
             ";");
        if (mentionsName(storeText, "outside") || mentionsName(text, "inside"))
          line("const int outside = " + (outside.empty() ? "0" : outside) + ";");
        body += loadText;
        line("RETILE_UNROLL for (int " + run + " = 0; " + run + " < " + RUN + "; ++" + run + ") {");
        ++depth;
        if (mentionsName(text, own.local) || mentionsName(text, own.item)) {
          line("const int " + own.local + " = static_cast<int>(" + start + " - " + own.origin + ") + " + run + ";");
          line("(void)" + own.local + ";");
        }
        if (mentionsName(text, dim.name) || mentionsName(text, "inside")) {
          std::string at = "(" + type + ")(" + start + " + " + run + ")";
          line("const " + type + " " + dim.name + " = " +
               (needsLower(dim) ? "retile::within<" + type + ">(" + at + ", " + lowerBound(dim) + ", " : "retile::atMost<" + type + ">(" + at + ", ") +
               upperBound(dim) + ");");
          if (mentionsName(text, "inside")) line("const bool inside = outside == 0 && " + dim.name + " == " + at + ";");
        }
        // An item that is carried across segments is counted from the run's first.
        std::string itemInRun = "const int " + own.item + "Run = " + own.item + " + " + run + ";";
        if (mentionsName(text, own.item)) {
          line(itemInRun);
          std::string renamed;
          for (size_t at = 0; at < text.size();) {
            size_t found = text.find("[" + own.item + "]", at);
            if (found == std::string::npos) found = text.size();
            renamed += text.substr(at, found - at);
            if (found < text.size()) renamed += "[" + own.item + "Run]";
            at = found + own.item.size() + 2;
          }
          text = renamed;
        }
        body += text;
        --depth;
        line("}");
        body += storeText;
        segment.runs.clear();
      },
      true);
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

void TemplateEmitter::statement(const Stmt& stmt) {
  switch (stmt.kind) {
  case StmtKind::Declare: {
    const Variable& variable = lifted.kernel.variables[stmt.variable];
    for (const Dim& dim : lifted.parallel)
      if (dim.name == variable.name) return;
    if (carried.count(stmt.variable)) {
      if (stmt.value) line(variable.name + "Of" + itemIndices() + " = " + expr(stmt.value) + ";");
      return;
    }
    std::string extents;
    for (auto extent : variable.extents)
      extents += "[" + std::to_string(extent) + "]";
    std::string init = stmt.value ? " = " + expr(stmt.value) : variable.initialisedToZero ? " = {}" : "";
    return line(variable.type.name + " " + variable.name + extents + init + ";");
  }
  case StmtKind::Assign: {
    auto target = std::make_shared<Expr>();
    target->kind = ExprKind::Variable;
    target->variable = stmt.variable;
    return line(expr(target) + " " + stmt.text + " " + expr(stmt.value) + ";");
  }
  case StmtKind::Store: {
    bool toMemory = stmt.target->kind == ExprKind::Access;
    std::string value = expr(stmt.value), target = expr(stmt.target);
    bool kept = toMemory && plan.keeps(lifted.accesses[static_cast<size_t>(stmt.target->value)].array);
    if (kept && stmt.text == "=" && isFloatProduct(stmt.value)) {
      ExprRef product = stmt.value;
      while (product->kind == ExprKind::Cast)
        product = product->operands[0];
      value = std::string(product->type.bits == 32 ? "__fmul_rn(" : "__dmul_rn(") + expr(product->operands[0]) + ", " + expr(product->operands[1]) + ")";
    }
    bool isUpdatingProduct = kept && stmt.text == "*=" && stmt.target->type.kind == Type::Float && stmt.value->type.kind == Type::Float &&
                             stmt.value->type.bits == stmt.target->type.bits && (stmt.target->type.bits == 32 || stmt.target->type.bits == 64);
    std::string op = stmt.text;
    if (isUpdatingProduct) {
      value = std::string(stmt.target->type.bits == 32 ? "__fmul_rn(" : "__dmul_rn(") + target + ", " + value + ")";
      op = "=";
    }
    bool inRun = toMemory && segment.runs.count(stmt.target->value);
    std::string guard;
    if (toMemory && !guarded && !inRun) {
      guard = "if (inside) ";
      if (kept) guard = "if (KEEP_" + transform::upperName(lifted.accesses[static_cast<size_t>(stmt.target->value)].array) + " != 0 || inside) ";
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
  case StmtKind::For: {
    const Dim& dim = lifted.loops[stmt.variable];
    auto step = dim.step.constant();
    if (!stmt.pragma.empty()) line("RETILE_UNROLL");
    if (step && *step < 0)
      line("for (" + dim.type.name + " " + dim.name + " = " + number(dim.to - Polynomial(1)) + "; " + dim.name + " >= " + number(dim.from) + "; --" +
           dim.name + ") {");
    else
      line("for (" + dim.type.name + " " + dim.name + " = " + number(dim.from) + "; " + dim.name + " < " + number(dim.to) + "; " + dim.name + " += " +
           number(dim.step) + ") {");
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
  line(plan.stages.empty() ? "if (!any) return;" : "if (!__syncthreads_or(any)) return;");
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
