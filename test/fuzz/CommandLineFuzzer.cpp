// Both command lines: the arguments are the lines of the input; the first byte says whose they are.
#include "../../tools/kernel-templatize/Options.h"
#include "../../tools/kernel-tune/Options.h"

#include <cstdio>
#include <iostream>
#include <sstream>

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // What they print is not looked at.
  std::cout.setstate(std::ios::failbit);
  std::cerr.setstate(std::ios::failbit);
  return std::freopen("/dev/null", "w", stdout) ? 0 : 1;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<std::string> words{"program"};
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  for (std::string line; std::getline(lines, line);)
    words.push_back(line.substr(0, line.find('\0')));
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  if (data[0] % 2) {
    (void)retile::tool::parseCommandLine(count, arguments.data());
  } else {
    int code = 0;
    (void)retile::parseOptions(count, arguments.data(), code);
  }
  return 0;
}
