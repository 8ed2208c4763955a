// Chooses the backend by its specification.
#include "CpuBackend.h"
#include "CudaBackend.h"

#include "retile/Tuner/Backend.h"

#include <charconv>
#include <chrono>
#include <cstring>
#include <vector>

namespace retile::tuner {

namespace {

/// "cuda" -> 0, "cuda:1" -> 1, else -1.
int cudaOrdinal(const std::string& spec) {
  if (spec == "cuda")
    return 0;
  if (spec.rfind("cuda:", 0) != 0)
    return -1;
  int ordinal = -1;
  const char* end = spec.data() + spec.size();
  const auto parsed = std::from_chars(spec.data() + 5, end, ordinal);
  return parsed.ec == std::errc() && parsed.ptr == end ? ordinal : -1;
}

template <class B> Expected<std::unique_ptr<Backend>> upcast(Expected<std::unique_ptr<B>> backend) {
  if (!backend)
    return backend.error();
  return std::unique_ptr<Backend>(*std::move(backend));
}

double copyHostMemory() {
  std::vector<unsigned char> from(64 << 20, 1), to(64 << 20, 2);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(to.data(), from.data(), from.size());
    from[0] = static_cast<unsigned char>(to[static_cast<std::size_t>(i)] + 1);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * double(from.size()) / seconds);
  }
  return best;
}

} // namespace

Expected<std::unique_ptr<Backend>> openBackend(const BackendOptions& options) {
  if (options.spec == "cpu")
    return upcast(backend::CpuBackend::open(options));
  const int ordinal = options.spec.empty() ? 0 : cudaOrdinal(options.spec);
  if (ordinal < 0)
    return Error{"unknown device '" + options.spec + "'", "devices are cpu and cuda:N", ExitCode::Input};
  Expected<std::unique_ptr<Backend>> cuda = upcast(backend::CudaBackend::open(options, ordinal));
  if (cuda || !options.spec.empty())
    return cuda;
  return upcast(backend::CpuBackend::open(options));
}

std::optional<double> measureCopyBandwidth(Backend& device) {
  if (auto* cuda = dynamic_cast<backend::CudaBackend*>(&device))
    return cuda->copyBandwidth();
  if (dynamic_cast<backend::CpuBackend*>(&device))
    return copyHostMemory();
  return std::nullopt;
}

} // namespace retile::tuner
