#include "Verify.h"

#include "retile/Support/Text.h"
#include "retile/Tuner/Sizes.h"

#include <fmt/format.h>

namespace retile::tuner {

Verifier::Verifier(Backend& backend, const manifest::Kernel& kernel, std::vector<Bindings> small,
                   std::size_t smallRuns, std::uint64_t seed)
    : backend(backend), kernel(kernel), small(std::move(small)), smallRuns(smallRuns), seed(seed) {}

Bindings Verifier::macros(const Bindings& sizes) const {
  Bindings list;
  for (const auto& size : kernel.sizes)
    if (size.kind == "macro")
      list[size.name] = sizes.at(size.name);
  return list;
}

const Compiled& Verifier::reference(const Bindings& sizes) {
  auto [entry, isNew] = references.try_emplace(macros(sizes));
  if (isNew)
    entry->second = backend.compile({&kernel, sizes, std::nullopt});
  return entry->second;
}

VerifyResult Verifier::verifyAt(const Config& config, const Bindings& at, const Compiled& compiled) {
  return backend.verify({&kernel, at, config}, compiled, reference(at), seed);
}

VerifyResult Verifier::verify(const Config& config, const Bindings& sizes, const Compiled& compiled) {
  VerifyResult result = verifyAt(config, sizes, compiled);
  std::size_t runs = 0;
  for (const Bindings& at : small) {
    if (result.outcome != Outcome::Ok || runs == smallRuns)
      break;
    if (at == sizes || !isLegal(kernel, at, backend.info(), config))
      continue;
    ++runs;
    Compiled again = macros(at) == macros(sizes) ? compiled : backend.compile({&kernel, at, config});
    double seconds = result.seconds;
    result = again.ok ? verifyAt(config, at, again)
                      : VerifyResult{Outcome::CompileError, oneLine(again.log, 400), 0};
    result.seconds += seconds;
    if (result.outcome != Outcome::Ok)
      result.detail += fmt::format(" (at {})", toString(at));
  }
  return result;
}

} // namespace retile::tuner
