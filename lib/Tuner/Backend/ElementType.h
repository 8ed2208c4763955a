// C++ type names of the manifest -> element types and argument bytes.
#pragma once

#include "device/harness/Elements.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retile::backend {

using harness::Element;

/// A scalar, or a vector of `lanes` scalars without padding between them (float4: 4; a complex number: 2).
struct ElementType {
  Element scalar = Element::F32;
  int lanes = 1;
};

/// "const float", "unsigned int", "__half", "float4", "std::uint8_t", ...; nullopt for a type that test data
/// cannot be made for. `size` (bytes, 0 when unknown) tells apart what the name alone does not.
std::optional<ElementType> elementType(const std::string& name, std::int64_t size = 0);

/// The type without qualifiers, elaborations and spare spaces: "const unsigned  int" -> "unsigned int".
std::string plainType(const std::string& name);

/// An integer as an argument of this type: its bytes in the parameter's representation.
std::vector<unsigned char> encodeInteger(ElementType type, std::int64_t value);

/// A scalar argument drawn from 64 random bits: floats in [0.5, 2], integers in [1, 4], bool either.
std::vector<unsigned char> encodeRandom(ElementType type, std::uint64_t random);

/// An element's bits for people: "1.25", "-3", "nan (0x7ffd7ffd)".
std::string showElement(Element type, std::uint64_t bits);

} // namespace retile::backend
