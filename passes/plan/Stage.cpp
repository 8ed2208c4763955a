// Copies the window of a read-only array that a tile reads to shared memory, in the tiles of a loop or once.
//
//   A[i][k] with i in a tile of TILE_I and k in one of TILE_K   ->   window [TILE_I][TILE_K] at (i0, k0)
//   five-point stencil of a TILE_Y x TILE_X tile                ->   window [TILE_Y + 2][TILE_X + 2] at (y0 - 1, x0 - 1)
//
// Legality: the kernel does not write the array (assumed not to overlap what it writes), a barrier stands between the fill
// and the use and before the next fill. Only elements that the original reads are read: the window is clipped to the box
// that the accesses span, and by offset where the corners of that box are not read by anybody.
// Refuses: subscripts that move differently in different accesses, negative coefficients, more than three dimensions.
// It hurts where the cache already holds the window, and where shared memory limits how many blocks are resident.
#include "Passes.h"

#include <algorithm>

namespace retile::transform {

void addLoopParameters(TransformPlan& plan);

namespace {

struct Accesses {
  std::vector<const Access*> all;
  std::string loop;                 ///< common tiled loop, "" for none
  bool ok = true;
};

Accesses gather(const Lifted& lifted, const TransformPlan& plan, const std::string& array) {
  Accesses result;
  bool first = true;
  for (const Access& access : lifted.accesses) {
    if (access.array != array) continue;
    std::string loop = access.loops.empty() ? "" : access.loops[0];
    if (!plan.loop(loop)) loop = "";
    if ((!first && loop != result.loop) || access.isSpelled || access.isAtomic) result.ok = false;
    result.loop = loop;
    first = false;
    result.all.push_back(&access);
  }
  return result;
}

/// One subscript of all accesses as a window dimension; nullopt where they differ by more than constants.
std::optional<WindowDim> window(const Lifted& lifted, const TransformPlan& plan, const Accesses& accesses, size_t k, bool& reuse) {
  WindowDim out;
  std::int64_t low = 0, high = 0;
  for (size_t n = 0; n < accesses.all.size(); ++n) {
    const Access& access = *accesses.all[n];
    Polynomial rest = access.subscripts[k];
    std::vector<std::pair<std::string, std::int64_t>> terms;
    std::int64_t from = 0, to = 0;
    auto take = [&](const std::string& name) -> std::optional<std::int64_t> {
      auto coefficient = rest.coefficient(name);
      auto number = coefficient ? coefficient->constant() : std::nullopt;
      if (number) rest = rest - Polynomial(*number) * Polynomial::symbol(name);
      return number;
    };
    for (const DimPlan& dim : plan.dims) {
      auto coefficient = take(dim.name);
      if (!coefficient || *coefficient < 0) return std::nullopt;
      if (*coefficient > 0) terms.emplace_back(dim.name, *coefficient);
    }
    for (const auto& loop : access.loops) {
      auto coefficient = take(loop);
      if (!coefficient) return std::nullopt;
      if (*coefficient == 0) continue;
      if (loop == accesses.loop) {
        if (*coefficient < 0) return std::nullopt;
        terms.emplace_back(loop, *coefficient);
        continue;
      }
      const Dim* dim = lifted.dim(loop);
      auto first = dim->from.constant(), end = dim->to.constant();
      if (!first || !end || *end - *first > 64 || *end <= *first) return std::nullopt;
      std::int64_t a = *coefficient * *first, b = *coefficient * (*end - 1);
      from += std::min(a, b);
      to += std::max(a, b);
      reuse = true;
    }
    std::int64_t constant = rest.constantTerm();
    rest = rest - Polynomial(constant);
    for (const auto& name : rest.symbols())
      if (!lifted.isSize(name)) return std::nullopt;
    if (n == 0) {
      out.terms = terms;
      out.origin = rest;
      low = constant + from;
      high = constant + to;
    } else {
      if (out.terms != terms || !(out.origin == rest)) return std::nullopt;
      low = std::min(low, constant + from);
      high = std::max(high, constant + to);
    }
  }
  if (accesses.all.size() > 1 && high > low) reuse = true;
  out.spread = high - low;
  out.origin = out.origin + Polynomial(low);
  return out;
}

/// Readable subscripts per dimension, and whether the box needs a clip by offset. False where neither is safe.
bool clip(const Lifted& lifted, const Accesses& accesses, const Array& array, StagePlan& stage) {
  std::optional<poly::Set> touched;
  std::vector<std::pair<Polynomial, Polynomial>> corners;
  std::string tuple, hull;
  size_t rank = array.strides.size();
  bool each = true;
  for (size_t k = 0; k < rank; ++k)
    tuple += (k ? ", s" : "s") + std::to_string(k);
  for (const Access* access : accesses.all) {
    auto map = poly::Map::parse(lifted.islAccess(*access));
    auto range = map ? map->range() : std::nullopt;
    if (!range) return false;
    std::string box;
    Polynomial flatLow, flatHigh;
    for (size_t k = 0; k < rank; ++k) {
      auto low = range->minimum(static_cast<unsigned>(k)), high = range->maximum(static_cast<unsigned>(k));
      if (!low || !high || low->size() != 1 || high->size() != 1) return false;
      WindowDim& dim = stage.window[k];
      bool first = access == accesses.all.front();
      dim.lo = first ? low->front() : Polynomial::minimum(dim.lo, low->front());
      dim.hi = first ? high->front() + Polynomial(1) : Polynomial::maximum(dim.hi, high->front() + Polynomial(1));
      auto lo = low->front().toIsl({}), hi = high->front().toIsl({});
      if (!lo || !hi) return false;
      box += (k ? " and " : "") + *lo + " <= s" + std::to_string(k) + " <= " + *hi;
      flatLow = flatLow + low->front() * array.strides[k];
      flatHigh = flatHigh + high->front() * array.strides[k];
    }
    corners.emplace_back(flatLow, flatHigh);
    auto boxSet = poly::Set::parse(lifted.islParameters() + "{ " + array.name + "[" + tuple + "] : " + box + " and " + lifted.islContext() + " }");
    auto dense = boxSet ? boxSet->isSubsetOf(*range) : std::nullopt;
    each = each && dense && *dense;
    touched = touched ? touched->unite(*range) : range;
    if (!touched) return false;
  }
  for (size_t k = 0; k < rank; ++k) {
    auto lo = stage.window[k].lo.toIsl({}), hi = stage.window[k].hi.toIsl({});
    if (!lo || !hi) return false;
    hull += (k ? " and " : "") + *lo + " <= s" + std::to_string(k) + " < " + *hi;
  }
  auto hullSet = poly::Set::parse(lifted.islParameters() + "{ " + array.name + "[" + tuple + "] : " + hull + " and " + lifted.islContext() + " }");
  auto covered = hullSet ? hullSet->isSubsetOf(*touched) : std::nullopt;
  if (covered && *covered) return true;
  // Between two elements of one array everything is the array's.
  if (!each) return false;
  stage.clipFlat = true;
  stage.flatLo = corners[0].first;
  stage.flatHi = corners[0].second + Polynomial(1);
  for (const auto& [low, high] : corners) {
    stage.flatLo = Polynomial::minimum(stage.flatLo, low);
    stage.flatHi = Polynomial::maximum(stage.flatHi, high + Polynomial(1));
  }
  return true;
}

std::string extent(const WindowDim& dim) {
  std::string text;
  bool plain = dim.terms.size() == 1 && dim.terms[0].second == 1;
  for (const auto& [name, coefficient] : dim.terms) {
    std::string size = "TILE_" + upperName(name);
    if (plain) text = size;
    else text += (text.empty() ? "" : " + ") + (coefficient == 1 ? "" : std::to_string(coefficient) + " * ") + "(" + size + " - 1)";
  }
  std::int64_t rest = dim.spread + (plain ? 0 : 1);
  if (rest || text.empty()) text += (text.empty() ? "" : " + ") + std::to_string(rest);
  return text;
}

} // namespace

std::string windowExtent(const TransformPlan& plan, const WindowDim& dim) {
  WindowDim tiled = dim;
  std::erase_if(tiled.terms, [&](const auto& term) {
    const DimPlan* one = plan.dim(term.first);
    return one && !one->tiled;
  });
  return extent(tiled);
}

void planStage(const Lifted& lifted, TransformPlan& plan) {
  // A tile has zeros outside of the domain.
  if (dataSteers(lifted)) return addLoopParameters(plan);
  std::string shared;
  for (const auto& [name, array] : lifted.arrays) {
    if (array.isWritten || !array.symbol.empty() || array.strides.size() > 3) continue;
    bool plainElement = array.element.kind == model::Type::Float || array.element.kind == model::Type::Int;
    if (!plainElement || array.element.bits < 8) continue;
    Accesses accesses = gather(lifted, plan, name);
    if (!accesses.ok || accesses.all.empty()) continue;
    StagePlan stage;
    stage.array = name;
    stage.upper = upperName(name);
    stage.loop = accesses.loop;
    bool reuse = false, ok = true;
    for (size_t k = 0; k < array.strides.size() && ok; ++k) {
      auto dim = window(lifted, plan, accesses, k, reuse);
      ok = dim.has_value();
      if (ok) stage.window.push_back(*dim);
    }
    if (!ok) continue;
    std::set<std::string> used;
    for (const WindowDim& dim : stage.window)
      for (const auto& [term, coefficient] : dim.terms)
        used.insert(term);
    for (const DimPlan& dim : plan.dims)
      reuse = reuse || (dim.tiled && !used.count(dim.name));
    if (!reuse || used.empty() || !clip(lifted, accesses, array, stage)) continue;
    const WindowDim& last = stage.window.back();
    std::int64_t bytes = array.element.bits / 8;
    // Whole vectors: the row begins at a multiple of the tile, and so does every tile.
    const Dim* moving = last.terms.size() == 1 && last.terms[0].second == 1 ? lifted.dim(last.terms[0].first) : nullptr;
    bool zeroBased = moving && (moving->kind == Dim::Parallel && !plan.loop(moving->name) ? moving->origin.isZero() : moving->from.isZero());
    // A dimension of one block a value has no tile to align.
    const DimPlan* parallel = moving ? plan.dim(moving->name) : nullptr;
    bool hasTile = moving && (parallel ? parallel->tiled : plan.loop(moving->name) != nullptr);
    stage.canVectorize = hasTile && zeroBased && last.origin.isZero() && last.spread == 0 && bytes < 16 && (bytes & (bytes - 1)) == 0;
    plan.parameters.push_back({"STAGE_" + stage.upper, "1: the tile of " + name + " goes through shared memory", {0, 1}, 0});
    plan.parameters.push_back({"PAD_" + stage.upper, "elements of padding behind each row of the tile of " + name, {0, 16 / bytes}, 0});
    plan.constraints.emplace_back("STAGE_" + stage.upper + " == 1 || PAD_" + stage.upper + " == 0", "no padding without staging");
    if (stage.canVectorize) {
      std::vector<std::int64_t> widths;
      for (std::int64_t width = 1; width * bytes <= 16; width *= 2)
        widths.push_back(width);
      std::string parameter = "VECTOR_" + stage.upper;
      plan.parameters.push_back({parameter, "elements of " + name + " per copy", widths, 1});
      plan.constraints.emplace_back("STAGE_" + stage.upper + " == 1 || " + parameter + " == 1", "no copies without staging");
      plan.constraints.emplace_back("TILE_" + upperName(last.terms[0].first) + " % " + parameter + " == 0", "a row of the tile is whole vectors");
    }
    if (!stage.loop.empty())
      for (LoopPlan& loop : plan.loops)
        loop.staged = loop.staged || loop.name == stage.loop;
    plan.stages.push_back(stage);
  }
  for (const StagePlan& stage : plan.stages) {
    std::string slots = "STAGE_" + stage.upper + (stage.loop.empty() ? "" : " * STAGES_" + upperName(stage.loop));
    std::string elements;
    for (size_t k = 0; k < stage.window.size(); ++k) {
      std::string size = windowExtent(plan, stage.window[k]);
      bool isRow = k + 1 == stage.window.size();
      elements += (k ? " * " : "") + ("(" + size + (isRow ? " + PAD_" + stage.upper : "") + ")");
    }
    std::int64_t bytes = lifted.arrays.at(stage.array).element.bits / 8;
    shared += (shared.empty() ? "" : " + ") + ("ceildiv(" + slots + " * " + elements + " * " + std::to_string(bytes) + ", 16) * 16");
  }
  addLoopParameters(plan);
  plan.sharedBytes = shared.empty() ? "0" : shared;
  if (!shared.empty()) plan.constraints.emplace_back(shared + " <= MAX_SHARED", "shared memory per block");
}

} // namespace retile::transform
