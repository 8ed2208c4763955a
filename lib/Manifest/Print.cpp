// Manifest to JSON, in the order of docs/manifest.md.
#include "retile/Manifest/Manifest.h"

#include <nlohmann/json.hpp>

namespace retile::manifest {

using Json = nlohmann::ordered_json;

template <class T> static Json orNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class T> static Json printAll(const std::vector<T>& list, Json (*print)(const T&)) {
  Json array = Json::array();
  for (const T& element : list)
    array.push_back(print(element));
  return array;
}

static Json printFlags(const CompileFlags& flags) {
  return {{"standard", flags.standard}, {"defines", flags.defines},   {"includes", flags.includes},
          {"fmad", flags.fmad},         {"ftz", flags.ftz},           {"precDiv", flags.precDiv},
          {"precSqrt", flags.precSqrt}, {"fastMath", flags.fastMath}, {"maxrregcount", flags.maxrregcount}};
}

static Json printSize(const Size& size) {
  return {{"name", size.name}, {"kind", size.kind}, {"default", orNull(size.defaultValue)},
          {"min", size.min},   {"max", size.max},   {"meaning", size.meaning}};
}

static Json printArgument(const Argument& argument) {
  Json json{{"name", argument.name}, {"type", argument.type}, {"kind", argument.kind}};
  if (argument.kind == "tensor") {
    json["tensor"] = argument.tensor;
    json["offset"] = argument.offset;
  } else if (argument.value) {
    json["value"] = *argument.value;
  } else {
    json["data"] = "random";
  }
  return json;
}

static Json printTensor(const Tensor& tensor) {
  Json json{{"name", tensor.name},     {"type", tensor.type}, {"size", tensor.size},
            {"extent", tensor.extent}, {"role", tensor.role}, {"symbol", orNull(tensor.symbol)},
            {"data", tensor.data}};
  if (tensor.dataMax)
    json["dataMax"] = *tensor.dataMax;
  return json;
}

static Json printLaunch(const Launch& launch) {
  return {{"grid", launch.grid}, {"block", launch.block}, {"shared", launch.shared}};
}

static Json printParameter(const Parameter& parameter) {
  return {{"name", parameter.name},
          {"meaning", parameter.meaning},
          {"values", parameter.values},
          {"original", parameter.original}};
}

static Json printConstraint(const Constraint& constraint) {
  return {{"expr", constraint.expr}, {"why", constraint.why}};
}

static Json printAssumption(const Assumption& assumption) {
  Json json{{"kind", assumption.kind}};
  if (assumption.kind == "no-overlap") {
    json["tensors"] = assumption.tensors;
  } else if (assumption.kind == "aligned") {
    json["tensor"] = assumption.tensors.empty() ? "" : assumption.tensors.front();
    json["bytes"] = assumption.expr;
  } else {
    json["expr"] = assumption.expr;
  }
  json["why"] = assumption.why;
  return json;
}

static Json printVerify(const VerifyRule& rule) {
  Json json{{"class", rule.klass}};
  if (rule.klass == "error") {
    json["terms"] = rule.terms;
    json["accumulator"] = rule.accumulator;
  }
  json["why"] = rule.why;
  return json;
}

static Json printKernel(const Kernel& kernel) {
  Json json{{"id", kernel.id},
          {"kernel", kernel.kernel},
          {"file", kernel.file},
          {"line", kernel.line},
          {"lift", kernel.lift},
          {"template",
           {{"file", kernel.templateFile},
            {"entry", kernel.templateEntry},
            {"parameters", kernel.templateParameters}}},
          {"reference", {{"file", kernel.referenceFile}, {"entry", kernel.referenceEntry}}},
          {"sizes", printAll(kernel.sizes, printSize)},
          {"arguments", printAll(kernel.arguments, printArgument)},
          {"extraArguments", printAll(kernel.extraArguments, printArgument)},
          {"tensors", printAll(kernel.tensors, printTensor)},
          {"original", printLaunch(kernel.original)},
          {"launch", printLaunch(kernel.launch)},
          {"parameters", printAll(kernel.parameters, printParameter)},
          {"constraints", printAll(kernel.constraints, printConstraint)},
          {"flops", orNull(kernel.flops)},
          {"bytes", orNull(kernel.bytes)},
          {"assumptions", printAll(kernel.assumptions, printAssumption)},
          {"verify", printVerify(kernel.verify)}};
  if (!kernel.untestable.empty())
    json["untestable"] = kernel.untestable;
  return json;
}

std::string print(const Manifest& manifest) {
  Json files = Json::object();
  for (const auto& [name, hash] : manifest.files)
    files[name] = hash;
  Json json{{"schema", "retile-manifest"},
            {"version", manifest.version},
            {"source", {{"file", manifest.sourceFile}, {"hash", manifest.sourceHash}}},
            {"compile", printFlags(manifest.compile)},
            {"files", files},
            {"kernels", printAll(manifest.kernels, printKernel)}};
  // Source text may hold bytes that are not UTF-8; they are replaced rather than thrown on.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace retile::manifest
