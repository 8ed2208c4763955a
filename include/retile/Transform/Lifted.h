// What lifting makes of a kernel: independent points, each running one sequential program.
//
//   out[y*nx + x] = in[y*nx + x] over 32 x 8 blocks   ->   parallel y, x;  S[y, x]: out[y, x] = in[y, x]
//
// Thread, block and grid indices are gone: a point is a value of every parallel dimension, and points share nothing that
// any of them writes. Any order and any grouping of the points is therefore legal, while the program of one point keeps
// its order. The plan passes map points to hardware again.
#pragma once

#include "retile/KernelModel/Model.h"
#include "retile/Poly/Polynomial.h"
#include "retile/Poly/Relation.h"

#include <map>
#include <string>
#include <vector>

namespace retile::transform {

using poly::Polynomial;

struct Dim {
  enum Kind { Parallel, Sequential, Reduction };
  std::string name;
  Kind kind = Parallel;
  model::Type type;                  ///< of the C++ variable
  // Parallel dimensions
  int axis = -1;                     ///< hardware axis 0..2 that the original maps it to
    bool isStrided = false;            ///< the original runs a grid-stride or block-stride loop over it
  bool isDistributed = false;        ///< a loop of which every thread takes a part

  bool isBlockIndex = false;         ///< one block a value in the original
  Polynomial origin;                 ///< first value in the original's first thread
  Polynomial end;                    ///< the original launch reaches values below this (not for strided dimensions)
  bool endKnown = false;             ///< `end` can be written down
  bool needsEnd = false;             ///< no guard bounds the dimension: the launch itself does
  std::vector<Polynomial> lower, upper; ///< the domain's hull: max(lower) <= d <= min(upper), see Lifted::domain
  // Loops
  Polynomial from, to, step;         ///< from <= d < to
  bool uniform = false;              ///< bounds depend on sizes and uniform loops around it only
  bool dataBound = false;            ///< data says how often it runs: from and to may name unknowns
  bool bounded = true;               ///< from and to are known at all
  int variable = -1;                 ///< the model variable
};

/// One access to global memory of one statement.
struct Access {
  std::string array;                 ///< kernel parameter or global variable, by name
  int variable = -1;
  bool isWrite = false, isAtomic = false;
  bool isMay = false;                ///< under a condition that is not affine
  Polynomial flat;                   ///< element offset
  std::vector<Polynomial> subscripts; ///< after delinearization, unit stride last
  std::vector<std::string> loops;    ///< loop dimensions around it, outermost first
  std::vector<std::string> unknowns; ///< see Lifted::unknowns: what the subscripts and conditions depend on besides
  bool isSpelled = false;            ///< a subscript names an unknown: emitted as the source has it
  std::string combine;               ///< isAtomic: what combines, as "atomicAdd"
  std::string conditions;            ///< isl constraints of the conditions around it, "" for none
  std::string statement;
  model::Type element;
  int indexBits = 64;                ///< width of the index arithmetic in the original
  model::Location location;
};

/// An integer that only the data knows: loaded, or made from what is. It takes part in isl relations as a dimension that
/// nothing bounds but what is said here, another one in each instance of a statement.
struct Unknown {
  std::string name;
  std::string constraints;           ///< isl, over dimensions, sizes and other unknowns; true for all data, "" for none
  std::string source;                ///< the array whose element it is, or ""
  std::string range;                 ///< isl: what the test data keep to, set after all proofs
};

struct Array {
  std::string name;
  int variable = -1;
  model::Type element;
  std::vector<Polynomial> strides;   ///< elements, outermost first; the last is 1
  bool isRead = false, isWritten = false;
  Polynomial extent;                 ///< elements
  std::string symbol;                ///< qualified name of a __constant__ or __device__ variable
  /// Test data, where it is more than numbers: index (in [0, dataEnd)) or offsets (sorted, from 0 to dataEnd).
  std::string data;
  Polynomial dataEnd;
};

/// A predicate that the proof relies on; see manifest::Assumption.
struct Assumption {
  std::string kind;
  Polynomial atLeastZero;            ///< size: this is >= 0
  std::string text;                  ///< covers: expression over the launch
  std::vector<std::string> tensors;
  std::string why;
};

/// As text; empty for no-overlap, whose `why` says it all.
std::string predicate(const Assumption& assumption);

struct Remark {
  model::Location location;
  std::string text;
  bool isReason = false;             ///< why the kernel was refused or lifted less
};

enum class Level { Refuse, Knobs, Partial, Full };
const char* toString(Level);

/// A size: a parameter of the host function or kernel, or a macro.
struct SizeInfo {
  std::string name;
  bool isMacro = false;
  std::optional<std::int64_t> value; ///< constant at the call site
  int bits = 32;
};

struct Lifted {
  model::Kernel kernel;              ///< normalized; variables are added to its table
  Level level = Level::Refuse;
  std::vector<Dim> parallel;         ///< outermost (slowest) first
  std::vector<Dim> loops;            ///< every loop of the point program
  std::vector<model::StmtRef> body;  ///< with Access nodes for loads and stores
  std::vector<Access> accesses;
  std::map<std::string, Unknown> unknowns;
  std::vector<Polynomial> values;    ///< what Affine nodes stand for
  std::map<std::string, Array> arrays;
  std::map<std::string, SizeInfo> sizes;
  std::map<std::string, Polynomial> arguments; ///< integer kernel parameter to its value over sizes
  std::vector<std::string> guards;   ///< isl constraints of the guards around the whole program
  std::string domain;                ///< isl constraints over the parallel dimensions, guards and launch
  std::vector<Assumption> assumptions;
  std::vector<Remark> remarks;
  std::array<Polynomial, 3> grid, block;
  std::optional<Polynomial> sharedBytes; ///< dynamic shared memory of the original, over sizes
  std::array<bool, 3> axisKnown{};   ///< grid and block of the axis are expressions over sizes
  bool hasLocalArrays = false;
  bool illDefined = false;           ///< a race or the like: there is nothing that a template could be checked against
  bool keepsText = false;            ///< the template is the kernel's own text (Kernel::text) with parameters in it
  bool blocksAreFree = false;        ///< of those: which block runs where is free, see passes/lift/BlockLift.cpp
  bool sumsInAnyOrder = false;       ///< floating-point sums whose order differs from run to run in the original
  std::string untestable;            ///< why no test data can be made, else ""
  bool returnsEarly = false;         ///< a point may end inside a loop
  const model::CallSite* callSite = nullptr;

  const Dim* dim(const std::string& name) const;
  bool isSize(const std::string& name) const { return sizes.count(name) != 0; }
  bool mentionsUnknown(const Polynomial& value) const;
  bool mentionsUnknown(const std::string& isl) const;
  /// "[n, k] -> " with every size and product of sizes in use.
  std::string islParameters() const;
  /// Constraints on the sizes alone: >= 1, within their type, and the assumptions made so far.
  std::string islContext() const;
  /// Whether a value over sizes is at least 0 for all sizes that the context allows.
  bool neverNegative(const Polynomial& value) const;
  /// `islParameters { S[dims] : domain and loops and conditions and context }`.
  std::string islDomain(const Access& access) const;
  /// The access relation. `target` replaces the array and its subscripts, as "[i + 1]"; "@T" names the statement T.
  std::string islAccess(const Access& access, const std::string& target = "") const;
  /// The relation as isl writes it, for people: without the constraints on sizes alone.
  std::string reportAccess(const Access& access) const;
};

/// Runs the lift passes in order. Never fails: a kernel that cannot be lifted comes back with a lower level and reasons.
Lifted lift(const model::Kernel& kernel);

} // namespace retile::transform
