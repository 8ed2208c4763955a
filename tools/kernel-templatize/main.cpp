// kernel-templatize FILE: parse, lift, plan, emit, report.
#include "Json.h"
#include "Options.h"
#include "retile/Emit/Emit.h"
#include "retile/Support/File.h"

#include <iostream>

using namespace retile;

namespace {

int report(const Error& error) {
  std::cerr << "kernel-templatize: error: " << error.message << "\n";
  if (!error.note.empty()) std::cerr << "kernel-templatize: note: " << error.note << "\n";
  return static_cast<int>(error.code);
}

void print(const frontend::Message& message) {
  static const char* const severities[] = {"note", "warning", "error"};
  std::cerr << message.location.file << ":" << message.location.line << ":" << message.location.column << ": " << severities[message.severity] << ": "
            << message.text << "\n";
}

/// A remark with the source line and a caret, as clang prints them.
void explain(const model::Location& at, const char* kind, const std::string& text, const std::vector<std::string>& source) {
  std::cout << at.file << ":" << at.line << ":" << at.column << ": " << kind << ": " << text << "\n";
  if (at.line < 1 || at.line > static_cast<int>(source.size())) return;
  std::string line = source[at.line - 1], caret;
  for (int n = 0; n + 1 < at.column && n < static_cast<int>(line.size()); ++n)
    caret += line[n] == '\t' ? '\t' : ' ';
  std::cout << "    " << line << "\n    " << caret << "^\n";
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines(1);
  for (char c : text) {
    if (c == '\n') lines.emplace_back();
    else lines.back() += c;
  }
  return lines;
}

std::string fileSafe(const std::string& name) {
  std::string safe;
  for (char c : name)
    safe += isalnum(static_cast<unsigned char>(c)) ? c : '_';
  while (!safe.empty() && safe.back() == '_')
    safe.pop_back();
  return safe.empty() || isdigit(static_cast<unsigned char>(safe[0])) ? "k" + safe : safe;
}

void explainAll(const transform::Lifted& lifted, const transform::TransformPlan* plan, const std::vector<std::string>& source) {
  const auto& kernel = lifted.kernel;
  std::string summary = "kernel '" + kernel.instance + "' lifted " + transform::toString(lifted.level);
  if (lifted.level == transform::Level::Refuse) summary = "kernel '" + kernel.instance + "' refused";
  for (const auto& dim : lifted.parallel)
    if (plan && lifted.level >= transform::Level::Partial) summary += (&dim == &lifted.parallel.front() ? ": parallel " : ", ") + dim.name;
  explain(kernel.location, "remark", summary, source);
  for (const auto& remark : lifted.remarks)
    explain(remark.location, remark.isReason ? "remark: because of" : "remark", remark.text, source);
  if (!plan) return;
  for (const auto& parameter : plan->parameters)
    std::cout << "    " << parameter.name << " = " << parameter.original << "  " << parameter.meaning << "\n";
  for (const auto& assumption : lifted.assumptions) {
    std::string tested = predicate(assumption);
    std::cout << "    assumes " << (tested.empty() ? assumption.why : tested + " (" + assumption.why + ")") << "\n";
  }
}

manifest::Manifest header(const Options& options, const frontend::Result& parsed, const std::string& text) {
  manifest::Manifest out;
  out.sourceFile = options.frontend.file;
  out.sourceHash = manifest::sha256(text);
  out.compile.standard = parsed.standard;
  out.compile.includes = parsed.includes;
  out.compile.defines = parsed.defines;
  for (const auto& flag : parsed.otherFlags) {
    auto off = [&](const std::string& name) { return flag == "--" + name + "=false" || flag == "-" + name + "=false"; };
    auto on = [&](const std::string& name) { return flag == "--" + name + "=true" || flag == "-" + name + "=true"; };
    if (flag == "--use_fast_math" || flag == "-use_fast_math") {
      out.compile.fastMath = out.compile.ftz = true;
      out.compile.precDiv = out.compile.precSqrt = false;
    }
    if (off("fmad")) out.compile.fmad = false;
    if (on("ftz")) out.compile.ftz = true;
    if (off("prec-div")) out.compile.precDiv = false;
    if (off("prec-sqrt")) out.compile.precSqrt = false;
    for (const char* name : {"--maxrregcount=", "-maxrregcount="})
      if (flag.rfind(name, 0) == 0) out.compile.maxrregcount = atoi(flag.c_str() + std::string(name).size());
  }
  return out;
}

} // namespace

int main(int argc, char** argv) {
  int exitCode = 0;
  auto options = parseOptions(argc, argv, exitCode);
  if (!options) return exitCode;
  auto parsed = frontend::parse(options->frontend);
  if (!parsed) return report(parsed.error());
  for (const auto& message : parsed->messages)
    print(message);
  auto read = readFile(options->frontend.file);
  const std::string text = read ? *read : "";
  std::vector<std::string> source;
  if (options->explain) source = linesOf(text);
  std::vector<emit::Emitted> emitted;
  std::set<std::string> ids;
  std::string jsonLines;
  for (const model::Kernel& kernel : parsed->kernels) {
    if (options->printModel) std::cerr << model::print(kernel);
    transform::Lifted lifted = transform::lift(kernel);
    std::optional<transform::TransformPlan> plan;
    if (lifted.level != transform::Level::Refuse) {
      plan = transform::plan(lifted);
      std::string id = fileSafe(kernel.instance.empty() ? kernel.name : kernel.instance), unique = id;
      for (int n = 2; !ids.insert(unique).second; ++n)
        unique = id + "_" + std::to_string(n);
      emitted.push_back(emit::emitKernel(lifted, *plan, unique));
    }
    auto json = toJson(lifted);
    json["parameters"] = nlohmann::ordered_json::array();
    json["legal"] = nlohmann::ordered_json::array();
    if (plan) {
      for (const auto& parameter : plan->parameters)
        json["parameters"].push_back({{"name", parameter.name}, {"meaning", parameter.meaning}, {"values", parameter.values}, {"original", parameter.original}});
      json["legal"] = plan->legal;
    }
    jsonLines += json.dump() + "\n";
    if (options->explain) explainAll(lifted, plan ? &*plan : nullptr, source);
    else if (!options->json)
      std::cout << kernel.instance << ": " << transform::toString(lifted.level)
                << (plan ? ", " + std::to_string(plan->parameters.size()) + " parameters"
                         : lifted.remarks.empty() ? "" : ": " + lifted.remarks.front().text) << "\n";
  }
  if (!emitted.empty()) {
    Status written = emit::writeOutput(options->output, header(*options, *parsed, text), emitted, options->force);
    if (!written) return report(written.error());
    if (!options->json) std::cout << "wrote " << options->output << "\n";
  }
  if (options->json) std::cout << jsonLines;
  return static_cast<int>(emitted.empty() ? ExitCode::Refused : ExitCode::Success);
}
