// What both programs do with their command lines.
#pragma once

#include <cctype>
#include <string>

namespace retile::tool {

/// The option parser's sentence with a small first letter, as our messages have it, unless it starts with the name of an
/// option or argument.
inline std::string startingSmall(std::string message) {
  if (message.size() > 1 && std::isupper(static_cast<unsigned char>(message[0])) && std::islower(static_cast<unsigned char>(message[1])))
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  return message;
}

} // namespace retile::tool
