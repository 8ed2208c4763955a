// Text helpers that the standard library lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retile {

/// The parts of `text` between separators; "a,,b" has an empty second part, "" has none.
std::vector<std::string> split(std::string_view text, char separator);

/// `text` without blanks at both ends.
std::string_view trim(std::string_view text);

/// The parts with `separator` between them.
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// A whole decimal integer, optionally signed; nullopt when anything else is left or it does not fit.
std::optional<std::int64_t> parseInteger(std::string_view text);

/// Whether `text` is a C identifier.
bool isIdentifier(std::string_view text);

/// Whether `text` matches a shell pattern of `*` and `?`; linear in the product of the lengths, never
/// exponential.
bool matchesGlob(std::string_view pattern, std::string_view text);

/// `text` on one line: control characters become blanks, and what exceeds `limit` bytes becomes "...".
std::string oneLine(std::string_view text, std::size_t limit = 200);

} // namespace retile
