// The manifest's reader: JSON with one node replaced, removed or repeated at a time, so that most inputs pass the JSON parser
// and reach the checks behind it. What is accepted must print to text that reads back as the same text.
#include "retile/Manifest/Expression.h"
#include "retile/Manifest/Manifest.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <random>

using Json = nlohmann::ordered_json;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto manifest = retile::manifest::parse(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!manifest) return 0;
  std::string printed = retile::manifest::print(*manifest);
  auto again = retile::manifest::parse(printed, "printed");
  if (!again || retile::manifest::print(*again) != printed) std::abort();
  return 0;
}

static void collect(Json& node, std::vector<Json*>& nodes) {
  nodes.push_back(&node);
  if (node.is_structured())
    for (auto& child : node)
      collect(child, nodes);
}

static Json strange(std::mt19937& random) {
  static const char* const texts[] = {"", "n", "N * K", "1 / 0", "9223372036854775807 + 1", "min()", "((((", "a ? b : c", "-", "TILE_I % 0", "../../x", "value", "tensor",
                                      "size", "error", "bitwise", "\xff\xfe", "max(n, n, n)", "n, n", "random", "index"};
  switch (random() % 8) {
  case 0: return nullptr;
  case 1: return static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
  case 2: return std::numeric_limits<std::int64_t>::min();
  case 3: return 1e300;
  case 4: return Json::array();
  case 5: return Json::object();
  case 6: return random() % 2 == 0;
  default: return texts[random() % std::size(texts)];
  }
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
  std::mt19937 random(seed);
  Json json = Json::parse(data, data + size, nullptr, false);
  if (json.is_discarded() || random() % 10 == 0) return LLVMFuzzerMutate(data, size, maxSize);
  for (unsigned n = random() % 3 + 1; n > 0; --n) {
    std::vector<Json*> nodes;
    collect(json, nodes);
    Json& node = *nodes[random() % nodes.size()];
    Json& other = *nodes[random() % nodes.size()];
    switch (random() % 5) {
    case 0: node = strange(random); break;
    case 1: {
      Json copy = other;
      node = std::move(copy);
      break;
    }
    case 2:
      if (node.is_structured() && !node.empty()) node.erase(std::next(node.begin(), static_cast<long>(random() % node.size())));
      break;
    case 3:
      if (node.is_array() && !node.empty()) {
        Json copy = node[random() % node.size()];
        node.push_back(std::move(copy));
      }
      break;
    default:
      if (node.is_string()) {
        std::string text = node.get<std::string>();
        text.resize(text.size() + 8);
        text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), text.size() - 8, text.size()));
        node = text;
      } else {
        node = strange(random);
      }
    }
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > maxSize) return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
