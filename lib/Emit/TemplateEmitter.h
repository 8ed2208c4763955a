// Writes the text of one template: Prologue.cpp (head comment, signature, coordinates, tiles), Segments.cpp (the point
// program for all items of a thread), VectorSegments.cpp (where they move runs of neighbours), Accesses.cpp (loads, stores and numbers as text).
#pragma once

#include "PolynomialText.h"
#include "retile/KernelModel/Print.h"
#include "retile/Transform/Plan.h"

namespace retile::emit {

using transform::Access;
using transform::Dim;
using transform::DimPlan;
using transform::Lifted;
using transform::TransformPlan;

/// A kernel argument that the original does not have.
struct ExtraArgument {
  std::string name, type;
  Polynomial value;
};

class TemplateEmitter {
public:
  TemplateEmitter(const Lifted& lifted, const TransformPlan& plan, std::string name);
  std::string run();

  std::vector<ExtraArgument> extras;
  std::vector<std::string> templateParameters;

private:
  const Lifted& lifted;
  const TransformPlan& plan;
  std::string name;
  std::string body;                      ///< of the kernel, built first: it finds out what the signature needs
  int depth = 1;
  std::set<std::string> taken;           ///< identifiers in use
  std::set<std::string> jammed;

  /// Identifiers of one parallel dimension.
  struct Names {
    std::string origin, local, thread, item, run;
  };
  std::map<std::string, Names> names;
  std::map<int, bool> carried;           ///< scalars that live across segments: an element an item
  bool threadsLeave = false;             ///< ALL_INSIDE is declared
  bool guarded;                          ///< whole points are tested, rather than coordinates clamped

  // What the current segment knows.
  struct Segment {
    bool vector = false;                 ///< runs are loaded and stored as vectors
    std::map<std::int64_t, std::string> runs; ///< access to the array that holds its run
    std::string slot = "0";
    std::map<std::string, std::string> tileLocal; ///< tiled loop to the name of the step within the tile
  };
  Segment segment;

  // Prologue.cpp
  std::string headComment() const;
  std::string signature();
  void coordinates();
  std::string leave() const;
  void skipOutside();
  void closeTileLoops();
  void tiles();
  std::string upperValue(const Dim& dim) const;
  std::string lowerValue(const Dim& dim) const;
  std::string upperBound(const Dim& dim) const;
  std::string lowerBound(const Dim& dim) const;
  std::string orAllInside(const std::string& test) const;
  std::string clamped(const Dim& dim, const std::string& value) const;
  std::string inBounds(const Dim& dim, const std::string& value) const;
  bool needsLower(const Dim& dim) const;
  bool mayBeEmpty(const Dim& dim) const;
  bool isExact(const Dim& dim) const;
  void fill(const transform::StagePlan& stage, const std::string& slot);

  // Segments.cpp
  void findCarried();
  void nodes(const std::vector<model::StmtRef>& stmts);
  void loopNode(const model::Stmt& stmt);
  std::string loopTest(const Dim& dim, const char* op, const Polynomial& bound);
  void loopHeader(const model::Stmt& stmt);
  void points(const std::vector<model::StmtRef>& stmts);
  void itemLoops(const std::function<void()>& inner, bool runs);
  void itemCoordinates(const std::string& text);
  void statements(const std::vector<model::StmtRef>& stmts);
  void pointProgram(const std::vector<model::StmtRef>& stmts);
  void spelledLoop(const model::Stmt& stmt);
  std::string setText(const model::Stmt& stmt);
  void statement(const model::Stmt& stmt);
  void keptValues(bool load);
  void skipIdle();
  std::string residualText() const;

  // VectorSegments.cpp
  struct Runs {
    std::vector<std::int64_t> loads, stores; ///< accesses
  };
  bool hasVectorAccess(const model::Stmt& stmt) const;
  void vectorPoints(const std::vector<model::StmtRef>& stmts);
  Runs assignRuns(const std::vector<model::StmtRef>& stmts);
  void moveRun(std::int64_t access, const std::string& start, bool load);
  std::string outerCoordinates();

  // Accesses.cpp
  std::string expr(const model::ExprRef& expr);
  std::string leaf(const model::Expr& expr);
  std::string accessText(std::int64_t index);
  std::string globalText(const Access& access, const std::map<std::string, std::string>& rename = {});
  std::string tileText(const transform::StagePlan& stage, const Access& access);
  bool isUnsigned(const std::string& symbol, int mostBits = 32) const;
  std::string number(const Polynomial& value, const std::map<std::string, std::string>& rename = {}, bool modulo = false);
  std::string sizeName(const std::string& symbol);
  std::string itemIndices() const;

  std::string unique(const std::string& wanted);
  void line(const std::string& text);
  std::string capture(const std::function<void()>& work);
};

/// Pieces of the comment at the head of a template: whose it is, its parameters, its assumptions.
std::string titleComment(const model::Kernel& kernel, const std::string& how);
std::string parameterComment(const TransformPlan& plan);
std::string assumptionComment(const Lifted& lifted);

/// The namespaces around a kernel, as "a::b"; "" for none.
std::string scopeOf(const model::Kernel& kernel);

/// A template that is the kernel's own text with parameters in it; `name` is its unqualified name.
std::string keptText(const Lifted& lifted, const TransformPlan& plan, const std::string& name);

/// Whether an identifier stands in a piece of text.
bool mentionsName(const std::string& text, const std::string& name);

} // namespace retile::emit
