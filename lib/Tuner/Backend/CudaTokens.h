// A lexer that is just good enough to find words of CUDA C++ outside comments, strings and directives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace retile::backend {

struct Token {
  enum class Kind { Word, Number, Text, Mark, Directive } kind;
  std::size_t begin, end;
  int line;
  std::string_view in(const std::string& text) const {
    return std::string_view(text).substr(begin, end - begin);
  }
};

/// All tokens in order. A directive is one token up to the end of its (continued) line.
std::vector<Token> cudaTokens(const std::string& text);

} // namespace retile::backend
