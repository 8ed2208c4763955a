#include "CudaTokens.h"

#include <cctype>

namespace retile::backend {

namespace {

bool isWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Lexer {
public:
  explicit Lexer(const std::string& text) : text(text) {}

  std::vector<Token> run() {
    while (at < text.size())
      step();
    return std::move(tokens);
  }

private:
  char peek(std::size_t ahead) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  void step() {
    const char c = text[at];
    if (c == '\n')
      lineStart = true, ++line, ++at;
    else if (std::isspace(static_cast<unsigned char>(c)))
      ++at;
    else if (c == '/' && peek(1) == '/')
      skipLine();
    else if (c == '/' && peek(1) == '*')
      skipBlock();
    else if (c == '#' && lineStart)
      directive();
    else if (c == 'R' && peek(1) == '"')
      rawString();
    else if (c == '"' || c == '\'')
      quoted(c);
    else if (isWordStart(c))
      take(Token::Kind::Word, [](char d) { return isWordPart(d); });
    else if (std::isdigit(static_cast<unsigned char>(c)))
      take(Token::Kind::Number, [](char d) { return isWordPart(d) || d == '.' || d == '\''; });
    else
      push(Token::Kind::Mark, at + 1, line);
  }

  template <class F> void take(Token::Kind kind, F part) {
    std::size_t end = at + 1;
    while (end < text.size() && part(text[end]))
      ++end;
    push(kind, end, line);
  }

  void push(Token::Kind kind, std::size_t end, int where) {
    tokens.push_back({kind, at, end, where});
    at = end;
    lineStart = false;
  }

  void skipLine() {
    while (at < text.size() && text[at] != '\n')
      advance();
  }
  void skipBlock() {
    const std::size_t end = text.find("*/", at + 2);
    while (at < text.size() && (end == std::string::npos || at < end + 2))
      advance();
  }
  void advance() {
    if (text[at] == '\n')
      ++line;
    ++at;
  }

  void directive() {
    const int where = line;
    std::size_t end = at;
    while (end < text.size() && !(text[end] == '\n' && text[end - 1] != '\\')) {
      if (text[end] == '\n')
        ++line;
      ++end;
    }
    push(Token::Kind::Directive, end, where);
  }

  void quoted(char quote) {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != quote && text[end] != '\n')
      end += text[end] == '\\' ? 2 : 1;
    push(Token::Kind::Text, std::min(end + 1, text.size()), line);
  }

  void rawString() {
    const std::size_t open = text.find('(', at);
    const std::size_t close =
        open == std::string::npos ? open : text.find(")" + text.substr(at + 2, open - at - 2) + "\"", open);
    if (close == std::string::npos)
      return push(Token::Kind::Mark, at + 1, line);
    const std::size_t end = text.find('"', close) + 1;
    const int where = line;
    for (std::size_t i = at; i < end; ++i)
      line += text[i] == '\n';
    push(Token::Kind::Text, end, where);
  }

  const std::string& text;
  std::vector<Token> tokens;
  std::size_t at = 0;
  int line = 1;
  bool lineStart = true;
};

} // namespace

std::vector<Token> cudaTokens(const std::string& text) { return Lexer(text).run(); }

} // namespace retile::backend
