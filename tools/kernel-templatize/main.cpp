#include "Json.h"
#include "retile/Frontend/Frontend.h"
#include <iostream>
using namespace retile;
int main(int argc, char** argv) {
  frontend::Options o; o.file = argv[1];
  bool printModel = argc > 2;
  auto r = frontend::parse(o);
  if (!r) { std::cerr << "kernel-templatize: error: " << r.error().message << "\n"; return 2; }
  for (auto& k : r->kernels) {
    if (printModel) std::cerr << model::print(k);
    auto l = transform::lift(k);
    std::cout << toJson(l).dump(printModel ? 1 : -1) << "\n";
  }
}
