// The kernel model: what the frontend reads from a kernel, as plain data. Device functions are inlined, templates are
// instantiated, names are the user's. No clang type appears here; lift passes work on this and on nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retile::model {

/// A place in the user's source; line 0 is unknown.
struct Location {
  std::string file;
  int line = 0, column = 0;
};

struct Type {
  enum Kind { Void, Bool, Int, Float, Pointer, Record, Other };
  Kind kind = Other;
  int bits = 0;              ///< width of Bool, Int, Float; of a Record its size in bits
  bool isSigned = false;     ///< Int
  bool isConst = false;      ///< Pointer: of the pointee
  bool isRestrict = false, isVolatile = false; ///< Pointer: __restrict__; volatile pointee
  std::string name;          ///< C++ spelling that is valid after the reference slice: "float", "__half", "unsigned char"
  std::string canonical;     ///< the name without typedefs: "float" for DATA_TYPE
  std::shared_ptr<const Type> element; ///< Pointer: the pointee; Record: what test data for it are made of, or null
};

enum class ExprKind {
  IntLiteral, ///< value, text as spelled
  Literal,    ///< floating and other literals: text as spelled
  MacroSize,  ///< an integer that comes from an overridable object-like macro: text is its name, value today's value
  Variable,   ///< variable: index into Kernel::variables (a host expression: text is the name)
  Builtin,    ///< text: threadIdx.x, blockIdx.y, blockDim.z, gridDim.x, warpSize
  Unary,      ///< text: - + ! ~ (increments are statements)
  Binary,     ///< text: the operator
  Select,     ///< operands: condition, then, else
  Cast,       ///< type: the target; implicit when the source did not write it
  Load,       ///< operands: pointer expression, index expression (maybe a literal 0); type: the element's
  PointerAdd, ///< operands: pointer, index in elements
  AddressOf,  ///< operands: a Load; &a[i]
  Array,      ///< decayed array variable (shared, local, or a global): variable
  Call,       ///< a function that neither touches memory nor synchronises: text is the callee as spelled
  Member,     ///< operands: record value; text: the field
  Access,     ///< after lifting: value is the index of the access, text its default C++ form
  Affine,     ///< after lifting: value is an index into Lifted::values, an integer over dimensions and sizes
  Opaque,     ///< text as spelled: its effects are in Kernel::opaque
};

struct Expr;
using ExprRef = std::shared_ptr<const Expr>;

struct Expr {
  ExprKind kind = ExprKind::Opaque;
  Type type;
  std::string text;
  std::int64_t value = 0;
  int variable = -1;
  bool implicit = false;
  std::vector<ExprRef> operands;
  Location location;
};

enum class StmtKind {
  Block,     ///< body of an inlined function that returns early: a return in it ends the block
  Declare,   ///< variable; value is the initialiser or null
  Assign,    ///< variable op= value; op is "=", "+=", ...; increments are "+=" 1
  Store,     ///< target (a Load expression) op= value
  If,        ///< value is the condition; body then, otherwise else
  For,       ///< init (statements), value is the condition (null: true), step (statements), body
  While,     ///< value, body; isDo for do-while
  Return, Break, Continue,
  Barrier,   ///< __syncthreads()
  Sync,      ///< another synchronisation or collective: text as spelled, value may be the call's result expression
  Atomic,    ///< target op= value atomically: text is the callee; variable receives the old value or -1
  Opaque,    ///< text as spelled: may do anything that the reason says
};

struct Stmt;
using StmtRef = std::shared_ptr<const Stmt>;

struct Stmt {
  StmtKind kind = StmtKind::Opaque;
  std::string text;            ///< Assign, Store: the operator; Sync, Atomic, Opaque: the source
  std::string pragma;          ///< For: "#pragma unroll N" as written, macros and template values resolved
  int variable = -1;
  bool isDo = false;
  ExprRef target, value;
  std::vector<StmtRef> init, step, body, otherwise;
  Location location;
};

struct Variable {
  enum Kind { Parameter, Scalar, LocalArray, SharedArray, DynamicShared, Global };
  Kind kind = Scalar;
  std::string name;            ///< unique in the kernel; the user's where it is unique already
  std::string sourceName;      ///< as the user wrote it; of a Global qualified
  Type type;                   ///< of a scalar or parameter; of an array its element
  std::vector<std::int64_t> extents; ///< arrays, constant
  bool isConstantMemory = false;
  bool initialisedToZero = false;    ///< local array with an empty initialiser list
  Location location;
};

/// One launch of the kernel in host code. Every expression is over the host function's parameters, overridable macros and
/// literals: locals with one definition are replaced by it, host helper functions of one return are inlined. What cannot be
/// resolved is an Opaque expression whose text is the variable or call as spelled.
struct CallSite {
  std::string hostFunction;
  std::vector<std::string> hostParameters;   ///< names, in order
  std::map<std::string, Type> hostTypes;
  std::array<ExprRef, 3> grid, block;        ///< missing components are the literal 1
  ExprRef shared;                            ///< null: 0
  std::vector<ExprRef> arguments;            ///< by kernel parameter; of a pointer: its expression
  std::map<std::string, ExprRef> allocated;  ///< kernel parameter name to bytes, where it came from a cudaMalloc in view
  std::vector<ExprRef> guaranteed;           ///< conditions that hold here: negations of guards that return earlier
  Location location;
};

/// A `for` loop of a kernel's own text.
struct SourceLoop {
  std::size_t begin = 0, end = 0;   ///< characters of SourceText::body, from `for` to behind the loop
  std::string variable;             ///< what it counts, "" where that is not one variable
  bool hasPragma = false;           ///< the source already says how to unroll it
  Location location;
};

/// A kernel's definition as written, cut up for templates that keep it whole. Template parameters of the original are
/// bound to the instance's arguments: `typename T = float, int N = 4`.
struct SourceText {
  std::string templateParameters, parameters, body; ///< without brackets; between the parentheses; braces included
  std::vector<SourceLoop> loops;    ///< in order, none out of macros
  bool callsUseBlockIndex = false;  ///< a function that it calls reads blockIdx or gridDim
  std::string whyNot;               ///< why there is no text to keep, else ""
};

struct Kernel {
  std::string name;                 ///< "bgemm_nt"
  std::string qualifiedName;        ///< "ns::bgemm_nt"
  std::string instance;             ///< name expression of the instantiation: "ns::bgemm_nt<float>"
  Location location;
  std::vector<int> parameters;      ///< variables, in order
  std::vector<Variable> variables;
  std::optional<int> maxThreads, minBlocks; ///< __launch_bounds__
  std::vector<StmtRef> body;
  std::vector<CallSite> callSites;
  std::map<std::string, std::int64_t> macroSizes; ///< overridable macros that the kernel or its call sites use
  std::string reference;            ///< self-contained CUDA source with the kernel and what it needs
  std::string source;               ///< the kernel's own text as written
  SourceText text;                  ///< the same, cut up
  /// Why the model is not complete: inline assembly, a call without a body, goto. Empty when all is modelled.
  std::vector<std::pair<Location, std::string>> opaque;
  /// Why the kernel cannot be used at all: an error in its AST.
  std::vector<std::pair<Location, std::string>> broken;
};

/// Prints a model in a readable form, a statement a line (for --print-model and tests).
std::string print(const Kernel& kernel);
std::string print(const Kernel& kernel, const ExprRef& expr);

} // namespace retile::model
