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

Binaries Verifier::compile(const Config& config, const Bindings& sizes) const {
  Binaries binaries;
  binaries.tuned = backend.compile({&kernel, sizes, config});
  if (!binaries.tuned.ok)
    return binaries;
  std::map<Bindings, Compiled> byMacros{{macros(sizes), binaries.tuned}};
  for (const Bindings& at : small) {
    if (binaries.small.size() == smallRuns)
      break;
    if (at == sizes || !isLegal(kernel, at, backend.info(), config))
      continue;
    auto [entry, isNew] = byMacros.try_emplace(macros(at));
    if (isNew)
      entry->second = backend.compile({&kernel, at, config});
    binaries.small.emplace_back(at, entry->second);
  }
  return binaries;
}

VerifyResult Verifier::verify(const Config& config, const Bindings& sizes, const Binaries& binaries,
                              double* tunedSeconds) {
  VerifyResult result = verifyAt(config, sizes, binaries.tuned);
  if (tunedSeconds)
    *tunedSeconds = result.seconds;
  for (const auto& [at, compiled] : binaries.small) {
    if (result.outcome != Outcome::Ok)
      break;
    const double seconds = result.seconds;
    result = compiled.ok ? verifyAt(config, at, compiled)
                         : VerifyResult{Outcome::CompileError, oneLine(compiled.log, 400), 0};
    result.seconds += seconds;
    if (result.outcome != Outcome::Ok)
      result.detail += fmt::format(" (at {})", toString(at));
  }
  return result;
}

} // namespace retile::tuner
