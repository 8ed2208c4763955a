// JSON to Manifest. A cursor walks the document and remembers its JSON pointer; the first failure sticks in
// the shared state, and later reads return defaults, so that the readers below are as flat as the format.
#include "retile/Manifest/Manifest.h"

#include "Validate.h"
#include "retile/Support/File.h"
#include "retile/Support/Text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace retile::manifest {

using nlohmann::json;

static constexpr int maxNesting = 64;
static constexpr std::size_t maxBytes = 16 << 20;
static constexpr std::size_t maxElements = 1 << 20;

namespace {

class Cursor {
public:
  Cursor(const json* value, std::string pointer, std::string& failure)
      : value(value), pointer(std::move(pointer)), failure(&failure) {}

  /// A required field; null is not a value.
  Cursor operator[](const char* name) const {
    Cursor found = child(name);
    if (value && !found.value)
      found.fail("missing");
    return found;
  }

  /// An optional field; nullopt when it is absent or null.
  std::optional<Cursor> find(const char* name) const {
    Cursor found = child(name);
    return found.value ? std::optional(found) : std::nullopt;
  }

  std::string text() const {
    return is(value && value->is_string(), "a string") ? value->get<std::string>() : std::string();
  }

  std::int64_t integer() const {
    bool fits = value && value->is_number_integer() &&
                (!value->is_number_unsigned() || value->get<std::uint64_t>() <= INT64_MAX);
    return is(fits, "a 64-bit integer") ? value->get<std::int64_t>() : 0;
  }

  bool boolean() const { return is(value && value->is_boolean(), "true or false") && value->get<bool>(); }

  /// An expression may also be written as an integer.
  ExprText expression() const {
    return value && value->is_number_integer() ? std::to_string(integer()) : text();
  }

  std::vector<Cursor> elements() const {
    std::vector<Cursor> list;
    if (!is(value && value->is_array(), "an array"))
      return list;
    if (value->size() > maxElements) {
      fail("too many elements");
      return list;
    }
    for (std::size_t i = 0; i < value->size(); ++i)
      list.emplace_back(&(*value)[i], fmt::format("{}/{}", pointer, i), *failure);
    return list;
  }

  std::map<std::string, std::string> textMap() const {
    std::map<std::string, std::string> map;
    if (is(value && value->is_object(), "an object"))
      for (const auto& [key, entry] : value->items())
        map[key] = Cursor(&entry, pointer + "/" + key, *failure).text();
    return map;
  }

  void fail(const std::string& why) const {
    if (failure->empty())
      *failure = fmt::format("{}: {}", pointer.empty() ? "/" : oneLine(pointer), why);
  }

private:
  Cursor child(const char* name) const {
    std::string path = fmt::format("{}/{}", pointer, name);
    if (!is(value && value->is_object(), "an object"))
      return {nullptr, path, *failure};
    auto found = value->find(name);
    return {found == value->end() || found->is_null() ? nullptr : &*found, path, *failure};
  }

  bool is(bool matches, const char* wanted) const {
    if (value && !matches)
      fail(fmt::format("must be {}", wanted));
    return matches;
  }

  const json* value;
  std::string pointer;
  std::string* failure;
};

} // namespace

static std::string textOr(const Cursor& at, const char* name, const std::string& fallback) {
  auto found = at.find(name);
  return found ? found->text() : fallback;
}

static std::optional<ExprText> expressionIf(const Cursor& at, const char* name) {
  auto found = at.find(name);
  return found ? std::optional(found->expression()) : std::nullopt;
}

static std::vector<std::string> texts(const Cursor& at) {
  std::vector<std::string> list;
  for (const Cursor& element : at.elements())
    list.push_back(element.text());
  return list;
}

template <class T> static std::vector<T> readAll(const Cursor& at, T (*read)(const Cursor&)) {
  std::vector<T> list;
  for (const Cursor& element : at.elements())
    list.push_back(read(element));
  return list;
}

static CompileFlags readFlags(const Cursor& at) {
  CompileFlags flags;
  flags.standard = textOr(at, "standard", flags.standard);
  if (auto found = at.find("defines"))
    flags.defines = texts(*found);
  if (auto found = at.find("includes"))
    flags.includes = texts(*found);
  auto flag = [&](const char* name, bool& value) {
    if (auto found = at.find(name))
      value = found->boolean();
  };
  flag("fmad", flags.fmad);
  flag("ftz", flags.ftz);
  flag("precDiv", flags.precDiv);
  flag("precSqrt", flags.precSqrt);
  flag("fastMath", flags.fastMath);
  if (auto found = at.find("maxrregcount"))
    flags.maxrregcount = static_cast<int>(found->integer());
  return flags;
}

static Size readSize(const Cursor& at) {
  Size size;
  size.name = at["name"].text();
  size.kind = textOr(at, "kind", size.kind);
  if (auto found = at.find("default"))
    size.defaultValue = found->integer();
  if (auto found = at.find("min"))
    size.min = found->integer();
  if (auto found = at.find("max"))
    size.max = found->integer();
  size.meaning = textOr(at, "meaning", "");
  return size;
}

static Argument readArgument(const Cursor& at) {
  Argument argument;
  argument.name = at["name"].text();
  argument.type = at["type"].text();
  argument.kind = at["kind"].text();
  if (argument.kind == "tensor")
    argument.tensor = at["tensor"].text();
  argument.offset = expressionIf(at, "offset").value_or("0");
  argument.value = expressionIf(at, "value");
  return argument;
}

static Tensor readTensor(const Cursor& at) {
  Tensor tensor;
  tensor.name = at["name"].text();
  tensor.type = at["type"].text();
  tensor.size = at["size"].integer();
  tensor.extent = at["extent"].expression();
  tensor.role = at["role"].text();
  if (auto found = at.find("symbol"))
    tensor.symbol = found->text();
  tensor.data = textOr(at, "data", tensor.data);
  tensor.dataMax = expressionIf(at, "dataMax");
  return tensor;
}

static std::array<ExprText, 3> readDim3(const Cursor& at) {
  std::array<ExprText, 3> dims{"1", "1", "1"};
  auto elements = at.elements();
  if (elements.size() != 3)
    at.fail("must have three elements");
  for (std::size_t i = 0; i < 3 && i < elements.size(); ++i)
    dims[i] = elements[i].expression();
  return dims;
}

static Launch readLaunch(const Cursor& at) {
  return {readDim3(at["grid"]), readDim3(at["block"]), expressionIf(at, "shared").value_or("0")};
}

static Parameter readParameter(const Cursor& at) {
  Parameter parameter;
  parameter.name = at["name"].text();
  parameter.meaning = textOr(at, "meaning", "");
  for (const Cursor& value : at["values"].elements())
    parameter.values.push_back(value.integer());
  parameter.original = at["original"].integer();
  return parameter;
}

static Constraint readConstraint(const Cursor& at) {
  return {at["expr"].expression(), textOr(at, "why", "")};
}

static Assumption readAssumption(const Cursor& at) {
  Assumption assumption;
  assumption.kind = at["kind"].text();
  assumption.why = textOr(at, "why", "");
  if (assumption.kind == "no-overlap") {
    assumption.tensors = texts(at["tensors"]);
  } else if (assumption.kind == "aligned") {
    assumption.tensors = {at["tensor"].text()};
    assumption.expr = at["bytes"].expression();
  } else {
    assumption.expr = at["expr"].expression();
  }
  return assumption;
}

static VerifyRule readVerify(const Cursor& at) {
  VerifyRule rule;
  rule.klass = at["class"].text();
  rule.terms = rule.klass == "error" ? at["terms"].expression() : expressionIf(at, "terms").value_or("");
  rule.accumulator = textOr(at, "accumulator", rule.accumulator);
  rule.why = textOr(at, "why", "");
  return rule;
}

static Kernel readKernel(const Cursor& at) {
  Kernel kernel;
  kernel.id = at["id"].text();
  kernel.kernel = at["kernel"].text();
  kernel.file = textOr(at, "file", "");
  if (auto found = at.find("line"))
    kernel.line = static_cast<int>(found->integer());
  kernel.lift = at["lift"].text();
  Cursor templated = at["template"];
  kernel.templateFile = templated["file"].text();
  kernel.templateEntry = templated["entry"].text();
  if (auto found = templated.find("parameters"))
    kernel.templateParameters = texts(*found);
  kernel.referenceFile = at["reference"]["file"].text();
  kernel.referenceEntry = at["reference"]["entry"].text();
  kernel.sizes = readAll(at["sizes"], readSize);
  kernel.arguments = readAll(at["arguments"], readArgument);
  if (auto found = at.find("extraArguments"))
    kernel.extraArguments = readAll(*found, readArgument);
  kernel.tensors = readAll(at["tensors"], readTensor);
  kernel.original = readLaunch(at["original"]);
  kernel.launch = readLaunch(at["launch"]);
  kernel.parameters = readAll(at["parameters"], readParameter);
  if (auto found = at.find("constraints"))
    kernel.constraints = readAll(*found, readConstraint);
  kernel.flops = expressionIf(at, "flops");
  kernel.bytes = expressionIf(at, "bytes");
  if (auto found = at.find("assumptions"))
    kernel.assumptions = readAll(*found, readAssumption);
  kernel.verify = readVerify(at["verify"]);
  kernel.untestable = textOr(at, "untestable", "");
  return kernel;
}

static Manifest readManifest(const Cursor& at) {
  Manifest manifest;
  if (auto found = at.find("source")) {
    manifest.sourceFile = textOr(*found, "file", "");
    manifest.sourceHash = textOr(*found, "hash", "");
  }
  if (auto found = at.find("compile"))
    manifest.compile = readFlags(*found);
  if (auto found = at.find("files"))
    manifest.files = found->textMap();
  manifest.kernels = readAll(at["kernels"], readKernel);
  return manifest;
}

/// The version is checked before anything else is read: another major version may mean anything by its
/// fields.
static std::string readVersion(const Cursor& at) {
  if (at["schema"].text() != "retile-manifest")
    at["schema"].fail("must be \"retile-manifest\"");
  std::string version = at["version"].text();
  auto parts = split(version, '.');
  if (parts.size() != 2 || !parseInteger(parts[0]) || !parseInteger(parts[1]))
    at["version"].fail("must be \"major.minor\"");
  else if (parts[0] != "1")
    at["version"].fail(
        fmt::format("version {} is not supported; this program reads 1.x", oneLine(version, 20)));
  return version;
}

/// Whether brackets outside strings nest deeper than the limit, found without recursion.
static bool nestsTooDeeply(const std::string& text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++depth > maxNesting)
      return true;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
  }
  return false;
}

/// "[json.exception.parse_error.101] parse error at line 1, column 2: why" without the exception's own name.
static std::string syntaxError(const json::parse_error& error) {
  std::string_view what = error.what();
  auto end = what.find("] ");
  return oneLine(end == std::string_view::npos ? what : what.substr(end + 2));
}

Expected<Manifest> parse(const std::string& text, const std::string& where) {
  auto refuse = [&](const std::string& why) {
    return Error{fmt::format("{}: {}", where, why), "write it again with kernel-templatize"};
  };
  if (nestsTooDeeply(text))
    return refuse(fmt::format("nested deeper than {} levels", maxNesting));
  json document;
  try {
    document = json::parse(text);
  } catch (const json::parse_error& error) {
    return refuse(syntaxError(error));
  } catch (const json::exception& error) {
    return refuse(oneLine(error.what()));
  }
  std::string failure;
  Cursor root(&document, "", failure);
  std::string version = readVersion(root);
  if (!failure.empty())
    return refuse(failure);
  Manifest manifest = readManifest(root);
  manifest.version = version;
  if (!failure.empty())
    return refuse(failure);
  if (Status valid = validate(manifest); !valid)
    return refuse(valid.error().message);
  return manifest;
}

Expected<Manifest> load(const std::string& directory) {
  std::string path = directory + "/manifest.json";
  Expected<std::string> text = readFile(path, maxBytes);
  if (!text)
    return Error{text.error().message, "a .retile directory that kernel-templatize wrote is expected"};
  Expected<Manifest> manifest = parse(*text, path);
  if (!manifest)
    return manifest;
  for (std::size_t i = 0; i < manifest->kernels.size(); ++i) {
    const Kernel& kernel = manifest->kernels[i];
    for (auto [name, field] :
         {std::pair(&kernel.templateFile, "template"), std::pair(&kernel.referenceFile, "reference")}) {
      struct stat status;
      if (::stat((directory + "/" + *name).c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        return Error{
            fmt::format("{}: /kernels/{}/{}/file: '{}' is not in the directory", path, i, field, *name),
            "write it again with kernel-templatize"};
    }
  }
  return manifest;
}

} // namespace retile::manifest
