// A segment whose points load or store runs of neighbours with one access:
//
//   load the runs; for each point of the run { the segment's program on registers }; store the runs
//
// A run that sticks out of the domain is loaded and stored element by element.
#include "TemplateEmitter.h"
#include "retile/KernelModel/Visit.h"

namespace retile::emit {

using model::Expr;
using model::ExprKind;
using model::ExprRef;
using model::Stmt;
using model::StmtKind;
using model::StmtRef;

bool TemplateEmitter::hasVectorAccess(const Stmt& stmt) const {
  auto isVector = [&](const Expr& node) { return node.kind == ExprKind::Access && plan.vectorAccesses.count(node.value) != 0; };
  return model::anyExpr(stmt.value, isVector) || (stmt.kind == StmtKind::Store && model::anyExpr(stmt.target, isVector));
}

/// Gives every vector access of the segment an array of registers; accesses to the same elements share one.
TemplateEmitter::Runs TemplateEmitter::assignRuns(const std::vector<StmtRef>& stmts) {
  Runs runs;
  std::map<std::string, std::string> shared;
  auto assign = [&](std::int64_t n) {
    if (!plan.vectorAccesses.count(n)) return;
    const Access& access = lifted.accesses[static_cast<size_t>(n)];
    auto key = access.array + (access.isWrite ? "#out" : "#in") + access.flat.toText();
    if (!shared.count(key)) {
      shared[key] = unique(access.array + (access.isWrite ? "Out" : "In"));
      (access.isWrite ? runs.stores : runs.loads).push_back(n);
    }
    segment.runs[n] = shared[key];
  };
  auto assignAll = [&](const ExprRef& expr) {
    model::forEachExpr(expr, [&](const Expr& node) {
      if (node.kind == ExprKind::Access) assign(node.value);
    });
  };
  for (const StmtRef& stmt : stmts) {
    bool isStore = stmt->kind == StmtKind::Store, updates = isStore && stmt->text != "=" && stmt->target->kind == ExprKind::Access;
    std::int64_t write = updates ? stmt->target->value : 0;
    // An update reads and writes one array of registers.
    if (updates && plan.vectorAccesses.count(write) && plan.vectorAccesses.count(write - 1)) {
      assign(write);
      segment.runs[write - 1] = segment.runs[write];
      runs.loads.push_back(write - 1);
    }
    assignAll(stmt->value);
    if (isStore && !updates) assignAll(stmt->target);
  }
  return runs;
}

/// One run between memory and registers: whole where it fits, else what lies in the domain.
void TemplateEmitter::moveRun(std::int64_t n, const std::string& start, bool load) {
  const Access& access = lifted.accesses[static_cast<size_t>(n)];
  const Dim& dim = lifted.parallel.back();
  const std::string &run = names.at(dim.name).run, registers = segment.runs.at(n), RUN = "RUN_" + plan.dims.back().upper;
  std::string whole = globalText(access, {{dim.name, start}}), single = globalText(access, {{dim.name, "(" + start + " + " + run + ")"}});
  std::string element = registers + "[" + run + "]";
  if (load) line("if (whole) retile::loadVector<" + RUN + ">(" + registers + ", &" + whole + ");");
  else line("if (whole && !outside) retile::storeVector<" + RUN + ">(&" + whole + ", " + registers + ");");
  line(load ? "else {" : "else if (!outside) {");
  line("  RETILE_UNROLL for (int " + run + " = 0; " + run + " < " + RUN + "; ++" + run + ")");
  line("    if (" + inBounds(dim, start + " + " + run) + ") " + (load ? element + " = " + single : single + " = " + element) + ";");
  line("}");
}

/// `[di]` as `[diRun]`: an item that is carried across segments is counted from the run's first.
static std::string countedFromRun(const std::string& text, const std::string& item) {
  std::string renamed, from = "[" + item + "]";
  for (size_t at = 0; at < text.size();) {
    size_t found = std::min(text.find(from, at), text.size());
    renamed += text.substr(at, found - at);
    if (found < text.size()) renamed += "[" + item + "Run]";
    at = found + from.size();
  }
  return renamed;
}

/// Declares the coordinates that all points of a run share; returns the test that they lie outside.
std::string TemplateEmitter::outerCoordinates() {
  std::string outside;
  for (size_t n = 0; n + 1 < plan.dims.size(); ++n) {
    const DimPlan& outer = plan.dims[n];
    const Dim& dim = lifted.parallel[n];
    if (!outer.tiled) continue;
    const Names& own = names.at(outer.name);
    std::string at = "(" + dim.type.name + ")(" + own.origin + " + " + own.local + ")";
    line("const int " + own.local + " = retile::itemOffset<THREADS_" + outer.upper + ", 1>(" + own.thread + ", " + own.item + ");");
    line("const " + dim.type.name + " " + dim.name + " = " + clamped(dim, at) + ";");
    outside += (outside.empty() ? "" : " || ") + (dim.name + " != " + at);
  }
  return outside.empty() ? "false" : outside;
}

void TemplateEmitter::vectorPoints(const std::vector<StmtRef>& stmts) {
  const DimPlan& one = plan.dims.back();
  const Dim& dim = lifted.parallel.back();
  const Names& own = names.at(one.name);
  std::string start = unique(one.name + "Run"), run = own.run, RUN = "RUN_" + one.upper, type = dim.type.name;
  auto runOfPoints = [&] {
    Runs runs = assignRuns(stmts);
    ++depth;
    std::string text = capture([&] { pointProgram(stmts); });
    --depth;
    std::string loadText = capture([&] {
      std::set<std::string> declared;
      auto declareRun = [&](std::int64_t n) {
        const Access& access = lifted.accesses[static_cast<size_t>(n)];
        if (declared.insert(segment.runs[n]).second) line("alignas(" + RUN + " * sizeof(" + access.element.name + ")) " + access.element.name + " " + segment.runs[n] + "[" + RUN + "];");
      };
      for (std::int64_t n : runs.loads) {
        declareRun(n);
        moveRun(n, start, true);
      }
      for (std::int64_t n : runs.stores)
        declareRun(n);
    });
    std::string storeText = capture([&] {
      for (std::int64_t n : runs.stores)
        moveRun(n, start, false);
    });
    std::string outside = outerCoordinates();
    bool usesInside = mentionsName(text, "inside"), usesItem = mentionsName(text, own.item);
    line("const " + type + " " + start + " = " + own.origin + " + retile::itemOffset<THREADS_" + one.upper + ", " + RUN + ">(" + own.thread + ", " +
         own.item + ");");
    std::string fits = start + " + (" + RUN + " - 1) <= " + upperBound(dim) + (needsLower(dim) ? " && " + start + " >= " + lowerBound(dim) : "");
    line("const bool whole = " + orAllInside(fits) + ";");
    if (mentionsName(storeText, "outside") || usesInside)
      line("const bool outside = " + std::string(threadsLeave && outside != "false" ? "!ALL_INSIDE && (" + outside + ")" : outside) + ";");
    body += loadText;
    line("RETILE_UNROLL for (int " + run + " = 0; " + run + " < " + RUN + "; ++" + run + ") {");
    ++depth;
    if (mentionsName(text, own.local) || usesItem) {
      line("const int " + own.local + " = static_cast<int>(" + start + " - " + own.origin + ") + " + run + ";");
      line("(void)" + own.local + ";");
    }
    if (mentionsName(text, dim.name) || usesInside) {
      std::string at = "(" + type + ")(" + start + " + " + run + ")";
      line("const " + type + " " + dim.name + " = " + clamped(dim, at) + ";");
      if (usesInside) line("const bool inside = !outside && " + dim.name + " == " + at + ";");
    }
    if (usesItem) {
      line("const int " + own.item + "Run = " + own.item + " + " + run + ";");
      text = countedFromRun(text, own.item);
    }
    body += text;
    --depth;
    line("}");
    body += storeText;
    segment.runs.clear();
  };
  itemLoops(runOfPoints, true);
}

} // namespace retile::emit
