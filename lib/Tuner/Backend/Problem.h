// A kernel at given sizes, evaluated: tensors with extents and seeded contents, argument bytes, launches.
// Shared by both backends, which only differ in where the tensors live.
#pragma once

#include "ElementType.h"

#include "retile/Manifest/Manifest.h"
#include "retile/Support/Expected.h"
#include "retile/Tuner/Backend.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace retile::backend {

using manifest::Bindings;

/// Bytes before and after a tensor that no kernel may touch.
constexpr std::size_t canaryBytes = 256;
constexpr unsigned char canaryByte = 0xc5;

enum class Role : int { In, Out, InOut };

struct TensorPlan {
  std::string name, symbol; ///< symbol: empty for an argument
  ElementType type;
  std::int64_t elements = 0; ///< of `type`, lanes included in each
  std::uint64_t bytes = 0;
  Role role = Role::In;
  std::int64_t limit = 0;   ///< exclusive bound of index data, -last - 1 of offsets, else 0
  std::uint64_t stream = 0; ///< of harness::draw
};

/// Either a tensor's address plus an offset, or bytes.
struct ArgumentPlan {
  int tensor = -1;
  std::int64_t offsetBytes = 0;
  std::vector<unsigned char> bytes;
};

struct LaunchPlan {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::uint32_t shared = 0;
};

struct Problem {
  const manifest::Kernel* kernel = nullptr;
  Bindings sizes;
  std::uint64_t seed = 0;
  std::vector<TensorPlan> tensors;
  std::vector<ArgumentPlan> arguments; ///< the original's
  std::int64_t terms = 1;              ///< of the error rule
  /// "seed 7, NI=61 NJ=131"
  std::string describe() const;
  std::uint64_t bytes() const;
};

/// How one side runs: the original, or the candidate with its configuration.
struct RunPlan {
  LaunchPlan launch;
  std::vector<ArgumentPlan> arguments;
};

/// The size's defaults under the given sizes, and the device's limits.
Bindings bindingsOf(const manifest::Kernel& kernel, const Bindings& sizes, const tuner::DeviceInfo& device);

/// Errors name the tensor, argument or expression that cannot be evaluated, or has no test data
/// (ExitCode::Environment).
Expected<Problem> makeProblem(const manifest::Kernel& kernel, const Bindings& sizes, std::uint64_t seed,
                              const tuner::DeviceInfo& device);

/// `config` null is the original. Errors name an expression, or the device's limit that the launch exceeds.
Expected<RunPlan> makeRun(const Problem& problem, const std::optional<tuner::Config>& config,
                          const tuner::DeviceInfo& device);

/// Relative error that the error rule allows: 4 sqrt(terms) eps of the accumulator.
double allowedError(const manifest::VerifyRule& rule, std::int64_t terms);

/// Seeded contents of a tensor, at `memory` with room for plan.bytes.
void fillTensor(const Problem& problem, const TensorPlan& plan, void* memory);

/// Poison of run 0 or 1.
void fillPoison(void* memory, std::uint64_t bytes, int run);

} // namespace retile::backend
