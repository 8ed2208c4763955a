#include "retile/Support/Text.h"

#include <charconv>

namespace retile {

static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos)
      break;
    text.remove_prefix(end + 1);
    if (text.empty())
      parts.emplace_back();
  }
  return parts;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back()))
    text.remove_suffix(1);
  return text;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const auto& part : parts) {
    if (&part != &parts.front())
      text += separator;
    text += part;
  }
  return text;
}

std::optional<std::int64_t> parseInteger(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && isDigit(text[1]))
    text.remove_prefix(1);
  std::int64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

bool isIdentifier(std::string_view text) {
  if (text.empty() || !isLetter(text.front()))
    return false;
  for (char c : text)
    if (!isLetter(c) && !isDigit(c))
      return false;
  return true;
}

bool matchesGlob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

std::string oneLine(std::string_view text, std::size_t limit) {
  std::string line;
  for (char c : trim(text)) {
    if (line.size() >= limit)
      return line + "...";
    line += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  }
  return line;
}

} // namespace retile
