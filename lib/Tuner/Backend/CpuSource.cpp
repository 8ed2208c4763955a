#include "CpuSource.h"

#include "CudaTokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace retile::backend {

namespace {

using Tokens = std::vector<Token>;

/// Rewrites declarations from left to right and copies the rest.
class Rewriter {
public:
  explicit Rewriter(const std::string& text) : text(text), tokens(cudaTokens(text)) {}

  std::string run() {
    std::size_t start = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view word = tokens[i].in(text);
      if (tokens[i].kind == Token::Kind::Directive)
        start = i + 1;
      if (tokens[i].kind == Token::Kind::Mark) {
        if (word == "{")
          openBrace(i);
        if (word == "}" && !functionScopes.empty())
          functionScopes.pop_back();
        if (word == ";" || word == "{" || word == "}" || word == ")")
          start = i + 1;
      }
      if (word == "__noinline__")
        replace(tokens[i].begin, tokens[i].end, "");
      if (word == "__shared__")
        i = declaration(start, i);
    }
    return out + text.substr(copied);
  }

private:
  std::string_view word(std::size_t i) const { return tokens[i].in(text); }

  void replace(std::size_t begin, std::size_t end, const std::string& with) {
    out += text.substr(copied, begin - copied) + with;
    copied = end;
  }

  /// A brace opens a namespace when a word before it, back to the last statement, says so.
  void openBrace(std::size_t brace) {
    bool isNamespace = false;
    for (std::size_t i = brace; i-- > 0;) {
      const std::string_view w = word(i);
      if (w == ";" || w == "{" || w == "}" || w == ")")
        break;
      if (w == "namespace" || w == "extern")
        isNamespace = true;
    }
    functionScopes.push_back(!isNamespace);
  }

  /// The declaration tokens[start ..] that has __shared__ at `shared`; returns its last token.
  std::size_t declaration(std::size_t start, std::size_t shared) {
    std::size_t end = shared;
    while (end < tokens.size() && word(end) != ";" && word(end) != "{")
      ++end;
    bool isExtern = false;
    for (std::size_t i = start; i < end; ++i)
      isExtern = isExtern || word(i) == "extern";
    if (isExtern && end < tokens.size() && word(end) == ";") {
      dynamicArrays(start, end);
      return end;
    }
    for (std::size_t i = start; i < end; ++i)
      if (word(i) == "static" && tokens[i].kind == Token::Kind::Word && tokens[i].begin >= copied)
        replace(tokens[i].begin, tokens[i].end, "");
    return shared;
  }

  bool isAlignment(std::string_view w) const {
    return w == "__align__" || w == "alignas" || w == "__attribute__";
  }

  std::size_t closing(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens.size(); ++i) {
      if (word(i) == "(")
        ++depth;
      if (word(i) == ")" && --depth == 0)
        return i;
    }
    return open;
  }

  void dynamicArrays(std::size_t start, std::size_t end) {
    Tokens rest;
    for (std::size_t i = start; i < end; ++i) {
      if (isAlignment(word(i)) && i + 1 < end)
        i = closing(i + 1);
      else if (word(i) != "extern" && word(i) != "__shared__")
        rest.push_back(tokens[i]);
    }
    auto bracket = std::find_if(rest.begin(), rest.end(), [&](const Token& t) { return t.in(text) == "["; });
    if (bracket == rest.end() || bracket - rest.begin() < 2)
      return;
    std::string type;
    for (auto t = rest.begin(); t != bracket - 1; ++t)
      type += std::string(t->in(text)) + " ";
    std::string statements;
    for (Tokens::const_iterator name = bracket - 1; name != rest.cend();)
      name = oneArray(type, name, rest.end(), statements);
    const std::size_t from = tokens[start].begin, to = tokens[end].end;
    statements += std::string(
        static_cast<std::size_t>(std::count(text.begin() + long(from), text.begin() + long(to), '\n')), '\n');
    replace(from, to, statements);
  }

  /// `name [] [33]` -> a pointer to rows; returns the next name.
  Tokens::const_iterator oneArray(const std::string& type, Tokens::const_iterator name,
                                  Tokens::const_iterator end, std::string& statements) const {
    std::string rows;
    auto at = name + 1;
    int dimension = 0;
    for (; at != end && at->in(text) != ","; ++at) {
      if (at->in(text) == "[")
        ++dimension;
      if (dimension > 1)
        rows += std::string(at->in(text)) + " ";
    }
    const std::string id(name->in(text));
    const bool inFunction =
        std::find(functionScopes.begin(), functionScopes.end(), true) != functionScopes.end();
    if (!inFunction)
      statements += fmt::format("static const ::retile::simt::DynamicShared<{}> {}{{}};", type, id);
    else if (rows.empty())
      statements += fmt::format("{}* const {} = reinterpret_cast<{}*>(::retile::simt::dynamicShared());",
                                type, id, type);
    else
      statements +=
          fmt::format("{}(* const {}){} = reinterpret_cast<{}(*){}>(::retile::simt::dynamicShared());", type,
                      id, rows, type, rows);
    return at == end ? end : at + 1;
  }

  const std::string& text;
  const Tokens tokens;
  std::vector<bool> functionScopes;
  std::string out;
  std::size_t copied = 0;
};

struct Construct {
  std::string_view word, name;
};

constexpr Construct unsupportedWords[] = {{"asm", "inline PTX"},
                                          {"__asm__", "inline PTX"},
                                          {"__asm", "inline PTX"},
                                          {"wmma", "tensor cores"},
                                          {"cooperative_groups", "cooperative groups"},
                                          {"cudaTextureObject_t", "textures"},
                                          {"cudaSurfaceObject_t", "surfaces"},
                                          {"tex1D", "textures"},
                                          {"tex1Dfetch", "textures"},
                                          {"tex2D", "textures"},
                                          {"tex2DLod", "textures"},
                                          {"tex3D", "textures"},
                                          {"surf2Dread", "surfaces"},
                                          {"surf2Dwrite", "surfaces"},
                                          {"__activemask", "the active mask"},
                                          {"__cluster_dims__", "thread block clusters"},
                                          {"__pipeline_memcpy_async", "pipelines"},
                                          {"cudaGridDependencySynchronize", "dependent launches"},
                                          {"clock64", "clocks"},
                                          {"__nanosleep", "waiting for other blocks"},
                                          {"curand_init", "curand"}};

constexpr Construct unsupportedHeaders[] = {{"cooperative_groups", "cooperative groups"},
                                            {"cub/", "CUB"},
                                            {"thrust/", "Thrust"},
                                            {"cuda/", "libcu++"},
                                            {"mma.h", "tensor cores"},
                                            {"cutlass/", "CUTLASS"},
                                            {"cute/", "CuTe"},
                                            {"curand_kernel", "curand"}};

} // namespace

std::string prepareForCpu(const std::string& text) { return Rewriter(text).run(); }

std::optional<std::string> unsupportedOnCpu(const std::string& text) {
  for (const Token& token : cudaTokens(text)) {
    const std::string_view word = token.in(text);
    if (token.kind == Token::Kind::Word)
      for (const Construct& construct : unsupportedWords)
        if (word == construct.word)
          return fmt::format("{} (line {})", construct.name, token.line);
    if (token.kind == Token::Kind::Directive && word.find("include") != word.npos)
      for (const Construct& construct : unsupportedHeaders)
        if (word.find("<" + std::string(construct.word)) != word.npos)
          return fmt::format("{} (line {})", construct.name, token.line);
  }
  return std::nullopt;
}

NumberFormats numberFormats(const std::string& text) {
  NumberFormats formats;
  for (const Token& token : cudaTokens(text)) {
    const std::string_view word = token.in(text);
    if (token.kind != Token::Kind::Word && token.kind != Token::Kind::Directive)
      continue;
    const auto has = [&](std::string_view part) { return word.find(part) != word.npos; };
    formats.fp16 = formats.fp16 || has("cuda_fp16") || has("half") || has("Half");
    formats.bf16 = formats.bf16 || has("bf16") || has("bfloat16");
    formats.fp8 = formats.fp8 || has("cuda_fp8") || has("__nv_fp8");
  }
  return formats;
}

} // namespace retile::backend
