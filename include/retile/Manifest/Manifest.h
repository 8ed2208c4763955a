// The seam between kernel-templatize and kernel-tune: plain data, see docs/manifest.md for the meaning of each field.
#pragma once

#include "retile/Support/Expected.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace retile::manifest {

/// An expression over 64-bit integers in the manifest's language, as text.
using ExprText = std::string;

struct Size {
  std::string name, kind = "value";          ///< kind: value or macro
  std::optional<std::int64_t> defaultValue;  ///< the constant at the call site
  std::int64_t min = 1, max = 2147483647;
  std::string meaning;
};

struct Argument {
  std::string name, type, kind;              ///< kind: tensor or scalar
  std::string tensor;                        ///< tensor: which one
  ExprText offset = "0";                     ///< tensor: elements
  std::optional<ExprText> value;             ///< scalar over sizes; absent: drawn from the seed
};

struct Tensor {
  std::string name, type;
  std::int64_t size = 4;                     ///< bytes an element
  ExprText extent;                           ///< elements
  std::string role = "in";                   ///< in, out, inout
  std::optional<std::string> symbol;         ///< qualified __constant__ or __device__ variable
  std::string data = "uniform";              ///< uniform, index or offsets
  std::optional<ExprText> dataMax;           ///< index: exclusive bound; offsets: the last one
};

struct Launch {
  std::array<ExprText, 3> grid{"1", "1", "1"}, block{"1", "1", "1"};
  ExprText shared = "0";
};

struct Parameter {
  std::string name, meaning;
  std::vector<std::int64_t> values;
  std::int64_t original = 0;
};

struct Constraint {
  ExprText expr;
  std::string why;
};

struct Assumption {
  std::string kind;                          ///< size, no-overlap, aligned, covers
  ExprText expr;                             ///< size, covers; aligned: bytes
  std::vector<std::string> tensors;          ///< no-overlap: two; aligned: one
  std::string why;
};

struct VerifyRule {
  std::string klass = "bitwise";             ///< bitwise or error (JSON: class)
  ExprText terms;
  std::string accumulator = "float", why;
};

struct Kernel {
  std::string id, kernel, file, lift;
  int line = 0;
  std::string templateFile, templateEntry;
  std::vector<std::string> templateParameters;
  std::string referenceFile, referenceEntry;
  std::vector<Size> sizes;
  std::vector<Argument> arguments, extraArguments;
  std::vector<Tensor> tensors;
  Launch original, launch;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  std::optional<ExprText> flops, bytes;
  std::vector<Assumption> assumptions;
  VerifyRule verify;
  std::string untestable;                    ///< why there is no test data that the original is safe with, else ""
};

/// Flags that both the original and every candidate are compiled with.
struct CompileFlags {
  std::string standard = "c++17";
  std::vector<std::string> defines, includes; ///< "NAME=VALUE"; absolute directories
  bool fmad = true, ftz = false, precDiv = true, precSqrt = true, fastMath = false;
  int maxrregcount = 0;
};

struct Manifest {
  std::string version = "1.1", sourceFile, sourceHash;
  CompileFlags compile;
  std::map<std::string, std::string> files;  ///< file name to SHA-256
  std::vector<Kernel> kernels;
};

/// Reads and validates DIR/manifest.json. Errors name the file and the JSON pointer of what is wrong.
Expected<Manifest> load(const std::string& directory);

/// The same for text; `where` names it in errors.
Expected<Manifest> parse(const std::string& text, const std::string& where);

/// JSON text, two-space indent, stable field order, final newline.
std::string print(const Manifest& manifest);

/// SHA-256 of `bytes` as 64 hex digits (FIPS 180-4).
std::string sha256(const std::string& bytes);

} // namespace retile::manifest
