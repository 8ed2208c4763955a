// The expression language: evaluation by tree and by compiled program agree, and so does what C++ is told.
#include "retile/Manifest/Expression.h"

#include <cstdlib>

using namespace retile::manifest;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto expression = Expression::parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!expression) return 0;
  std::vector<std::string> slots;
  std::vector<std::int64_t> values;
  Bindings bindings;
  for (const std::string& name : expression->names()) {
    std::int64_t value = static_cast<std::int64_t>(name.size() * 37 + static_cast<unsigned char>(name[0])) - 90;
    slots.push_back(name);
    values.push_back(value);
    bindings[name] = value;
  }
  expression->toCxx();
  auto tree = expression->evaluate(bindings);
  auto program = expression->compile(slots);
  if (!program) return 0;
  auto compiled = program->run(values.data());
  if (static_cast<bool>(tree) != compiled.has_value() || (compiled && *compiled != *tree)) std::abort();
  return 0;
}
