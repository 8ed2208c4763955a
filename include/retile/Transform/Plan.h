// A new mapping of a lifted kernel to hardware, with symbolic parameters. Plan passes append to it; Emit alone writes text.
//
// Every parallel dimension d has a tile of TILE_d points a block and ITEMS_d points a thread; a thread's program runs for
// all its items together, statement by statement, around the loops that are uniform (unroll and jam). That is legal for
// any tile because points are independent (see Lifted.h).
#pragma once

#include "retile/Transform/Lifted.h"

namespace retile::transform {

struct PlanParameter {
  std::string name, meaning;
  std::vector<std::int64_t> values;
  std::int64_t original = 1;
};

/// The grid of a grid-stride loop whose call site does not say it, in blocks a multiprocessor.
constexpr std::int64_t usualBlocksPerMultiprocessor = 8;

/// How one parallel dimension is laid out. Dimensions that had one thread a block keep it and take no parameters.
struct DimPlan {
  std::string name, upper;           ///< "j", "J"
  int axis = 0;                      ///< hardware axis of block and thread
  bool tiled = false, hasRun = false; ///< hasRun: RUN_d, neighbours that one thread takes together
  bool persistent = false;           ///< BLOCKS_d: a block may take tile after tile
  std::int64_t threads = 1;          ///< of the original
};

/// A uniform loop that runs in tiles.
struct LoopPlan {
  std::string name, upper;
  bool staged = false;               ///< some array is staged in it
};

/// One dimension of the window of an array that a tile reads: extent = sum coefficient * (size - 1) + spread + 1.
struct WindowDim {
  std::vector<std::pair<std::string, std::int64_t>> terms; ///< tile-local dimension, coefficient > 0
  std::int64_t spread = 0;           ///< constants and small loops
  Polynomial origin;                 ///< what is left at the tile's first point, lowest access
  Polynomial lo, hi;                 ///< readable subscripts, half-open
};

struct StagePlan {
  std::string array, upper;
  std::string loop;                  ///< the tiled loop it is filled in, "" for once at the start
  std::vector<WindowDim> window;
  bool clipFlat = false;             ///< part of the window's box is not the array's: clip by offset, too
  Polynomial flatLo, flatHi;
  bool canVectorize = false;
};

/// A loop of the kernel's own text that a parameter unrolls.
struct TextLoopPlan {
  std::size_t loop = 0;              ///< index into SourceText::loops
  std::string parameter;             ///< 0 leaves it to the compiler, as the original does
};

struct TransformPlan {
  std::vector<PlanParameter> parameters;
  std::vector<std::pair<std::string, std::string>> constraints; ///< expression, why
  std::vector<DimPlan> dims;         ///< as Lifted::parallel
  std::vector<LoopPlan> loops;
  std::vector<StagePlan> stages;
  std::vector<std::string> kept;     ///< arrays whose element stays in a register across the loops
  std::set<std::int64_t> vectorAccesses; ///< accesses that move RUN elements at once
  std::vector<std::string> legal;    ///< words of the reports
  std::vector<TextLoopPlan> textLoops; ///< of templates that keep the kernel's text
    std::string coarsen, persistent;   ///< of those: parameters that say which block runs where, "" for none
  std::optional<std::int64_t> textThreads; ///< of those: threads of __launch_bounds__
  std::string sharedBytes = "0";    ///< dynamic shared memory, over parameters
  bool rectangular = true;           ///< the domain is its hull
  poly::Disjunction residual;              ///< what else must hold, when it is not

  const DimPlan* dim(const std::string& name) const;
  const LoopPlan* loop(const std::string& name) const;
  const StagePlan* stage(const std::string& array) const;
  bool keeps(const std::string& array) const;
};

/// Runs the plan passes in the order of Passes.def.
TransformPlan plan(const Lifted& lifted);

/// Loops of the point program that every item of a thread runs in step: uniform, and not inside a branch.
std::set<std::string> jammedLoops(const Lifted& lifted);

/// Extent of a window dimension over the template's parameters, as "TILE_Y + 2".
std::string windowExtent(const TransformPlan& plan, const WindowDim& dim);

/// `wanted`, with underscores behind it where the program or the plan has such a name.
std::string unusedName(const Lifted& lifted, const TransformPlan& plan, std::string wanted);

/// "J" for "j"; a name that is not an identifier in capitals gets one.
std::string upperName(const std::string& name);

} // namespace retile::transform
