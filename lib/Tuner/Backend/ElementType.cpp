#include "ElementType.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

namespace retile::backend {

namespace {

struct Named {
  std::string_view name;
  Element element;
};

constexpr Named scalars[] = {{"double", Element::F64},
                             {"float", Element::F32},
                             {"__half", Element::F16},
                             {"half", Element::F16},
                             {"__nv_half", Element::F16},
                             {"nv_half", Element::F16},
                             {"__nv_bfloat16", Element::BF16},
                             {"nv_bfloat16", Element::BF16},
                             {"__nv_fp8_e4m3", Element::E4M3},
                             {"__nv_fp8_e5m2", Element::E5M2},
                             {"__nv_fp8_storage_t", Element::U8},
                             {"char", Element::I8},
                             {"signed char", Element::I8},
                             {"unsigned char", Element::U8},
                             {"short", Element::I16},
                             {"unsigned short", Element::U16},
                             {"int", Element::I32},
                             {"unsigned int", Element::U32},
                             {"long", Element::I64},
                             {"unsigned long", Element::U64},
                             {"long long", Element::I64},
                             {"unsigned long long", Element::U64},
                             {"bool", Element::Bool},
                             {"int8_t", Element::I8},
                             {"uint8_t", Element::U8},
                             {"int16_t", Element::I16},
                             {"uint16_t", Element::U16},
                             {"int32_t", Element::I32},
                             {"uint32_t", Element::U32},
                             {"int64_t", Element::I64},
                             {"uint64_t", Element::U64},
                             {"size_t", Element::U64},
                             {"ptrdiff_t", Element::I64},
                             {"uint", Element::U32},
                             {"ushort", Element::U16},
                             {"ulong", Element::U64},
                             {"uchar", Element::U8}};

constexpr Named vectorBases[] = {
    {"char", Element::I8},       {"uchar", Element::U8},  {"short", Element::I16},
    {"ushort", Element::U16},    {"int", Element::I32},   {"uint", Element::U32},
    {"long", Element::I64},      {"ulong", Element::U64}, {"longlong", Element::I64},
    {"ulonglong", Element::U64}, {"float", Element::F32}, {"double", Element::F64}};

constexpr Named pairs[] = {{"__half2", Element::F16},         {"half2", Element::F16},
                           {"__nv_bfloat162", Element::BF16}, {"nv_bfloat162", Element::BF16},
                           {"cuComplex", Element::F32},       {"cuFloatComplex", Element::F32},
                           {"cuDoubleComplex", Element::F64}};

template <std::size_t N> std::optional<Element> find(const Named (&table)[N], std::string_view name) {
  for (const Named& entry : table)
    if (entry.name == name)
      return entry.element;
  return std::nullopt;
}

/// "int unsigned long" and the like in the order that the table uses.
std::string normalise(const std::vector<std::string>& words) {
  int longs = 0;
  bool isUnsigned = false, isSigned = false, isShort = false, isChar = false, isInteger = false;
  std::string other;
  for (const std::string& word : words) {
    if (word == "long")
      ++longs;
    else if (word == "unsigned")
      isUnsigned = true;
    else if (word == "signed")
      isSigned = true;
    else if (word == "short")
      isShort = true;
    else if (word == "char")
      isChar = true;
    else if (word == "int")
      isInteger = true;
    else
      other += (other.empty() ? "" : " ") + word;
  }
  if (!other.empty())
    return longs > 0 ? "long " + other : other;
  const std::string sign = isUnsigned ? "unsigned " : "";
  if (isChar)
    return isUnsigned ? "unsigned char" : isSigned ? "signed char" : "char";
  if (isShort)
    return sign + "short";
  if (longs > 0)
    return sign + (longs > 1 ? "long long" : "long");
  return isUnsigned || isSigned || isInteger ? sign + "int" : "";
}

} // namespace

std::string plainType(const std::string& name) {
  std::istringstream stream(name);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    if (word == "const" || word == "volatile" || word == "struct" || word == "__restrict__")
      continue;
    while (word.rfind("::", 0) == 0)
      word.erase(0, 2);
    if (word.rfind("std::", 0) == 0)
      word.erase(0, 5);
    words.push_back(word);
  }
  return normalise(words);
}

std::optional<ElementType> elementType(const std::string& name, std::int64_t size) {
  const std::string plain = plainType(name);
  std::optional<ElementType> type;
  if (const auto scalar = find(scalars, plain))
    type = ElementType{*scalar, 1};
  else if (const auto pair = find(pairs, plain))
    type = ElementType{*pair, 2};
  else if (!plain.empty() && plain.back() >= '1' && plain.back() <= '4') {
    if (const auto base = find(vectorBases, std::string_view(plain).substr(0, plain.size() - 1)))
      type = ElementType{*base, plain.back() - '0'};
  }
  if (type && size > 0 && size != harness::bytesOf(type->scalar) * type->lanes)
    return std::nullopt;
  return type;
}

std::vector<unsigned char> encodeInteger(ElementType type, std::int64_t value) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(harness::bytesOf(type.scalar)), 0);
  std::uint64_t bits = static_cast<std::uint64_t>(value);
  if (type.scalar == Element::F64) {
    bits = std::bit_cast<std::uint64_t>(static_cast<double>(value));
  } else if (type.scalar == Element::F32) {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  } else if (harness::isFloat(type.scalar)) {
    bits = harness::packFraction(type.scalar, value, 0);
  } else if (type.scalar == Element::Bool) {
    bits = value != 0;
  }
  std::memcpy(bytes.data(), &bits, bytes.size());
  return bytes;
}

std::vector<unsigned char> encodeRandom(ElementType type, std::uint64_t random) {
  std::vector<unsigned char> bytes;
  for (int lane = 0; lane < type.lanes; ++lane) {
    const std::uint64_t r = harness::mix(random + static_cast<std::uint64_t>(lane));
    std::uint64_t bits = 0;
    if (harness::isFloat(type.scalar)) {
      const int scale = std::min(harness::formatOf(type.scalar).mantissa, 20);
      const std::int64_t half = std::int64_t(1) << scale >> 1;
      bits = harness::packFraction(type.scalar, half + static_cast<std::int64_t>(r % (3 * half + 1)), scale);
    } else {
      bits = type.scalar == Element::Bool ? r >> 63 : 1 + r % 4;
    }
    const auto* begin = reinterpret_cast<const unsigned char*>(&bits);
    bytes.insert(bytes.end(), begin, begin + harness::bytesOf(type.scalar));
  }
  return bytes;
}

std::string showElement(Element type, std::uint64_t bits) {
  const int width = harness::bytesOf(type) * 8;
  if (harness::isFloat(type)) {
    const double value = harness::decodeFloat(type, bits);
    if (std::isnan(value))
      return fmt::format("nan ({:#x})", bits);
    return type == Element::F64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  }
  const bool isSigned =
      type == Element::I8 || type == Element::I16 || type == Element::I32 || type == Element::I64;
  if (!isSigned)
    return fmt::format("{}", bits);
  return fmt::format("{}", static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width));
}

} // namespace retile::backend
