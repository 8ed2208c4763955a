// Source text to kernel models: writes a file to a fresh folder and parses it.
#pragma once

#include "retile/Frontend/Frontend.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace retile::test {

/// A folder that goes with the object.
class Folder {
public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "retile-frontend-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }

  std::filesystem::path path;
};

inline Expected<frontend::Result> parseText(const std::string& text, std::vector<std::string> flags = {}) {
  const Folder folder;
  frontend::Options options;
  options.file = folder.write("snippet.cu", text);
  options.compilerFlags = std::move(flags);
  return frontend::parse(options);
}

/// The kernel with that name or name expression; the test fails when there is none.
inline model::Kernel kernelOf(const Expected<frontend::Result>& result, const std::string& name) {
  if (!result)
    ADD_FAILURE() << result.error().message;
  else
    for (const model::Kernel& kernel : result->kernels)
      if (kernel.name == name || kernel.instance == name)
        return kernel;
  ADD_FAILURE() << "no kernel " << name;
  return {};
}

/// A host expression as text: casts as <type>, macros as NAME@, what is unresolved in braces.
inline std::string text(const model::ExprRef& expr) {
  using model::ExprKind;
  if (!expr)
    return "-";
  const auto& on = expr->operands;
  switch (expr->kind) {
  case ExprKind::IntLiteral:
    return std::to_string(expr->value);
  case ExprKind::MacroSize:
    return expr->text + "@";
  case ExprKind::Unary:
    return expr->text + text(on[0]);
  case ExprKind::Binary:
    return "(" + text(on[0]) + " " + expr->text + " " + text(on[1]) + ")";
  case ExprKind::Select:
    return "(" + text(on[0]) + " ? " + text(on[1]) + " : " + text(on[2]) + ")";
  case ExprKind::Cast:
    return expr->implicit ? text(on[0]) : "<" + expr->type.name + ">" + text(on[0]);
  case ExprKind::PointerAdd:
    return "(" + text(on[0]) + " +p " + text(on[1]) + ")";
  case ExprKind::Member:
    return text(on[0]) + "." + expr->text;
  case ExprKind::Opaque:
    return "{" + expr->text + "}";
  case ExprKind::Call: {
    std::string out = expr->text + "(";
    for (size_t i = 0; i < on.size(); ++i)
      out += (i ? ", " : "") + text(on[i]);
    return out + ")";
  }
  default:
    return expr->text;
  }
}

} // namespace retile::test
