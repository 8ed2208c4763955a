// How a candidate is spelled for a compiler; the same for every backend.
#pragma once

#include "retile/Tuner/Backend.h"

#include <string>

namespace retile::backend {

/// The name expression: "gemm_kernel<128, 64, 8>" for a configuration, the original's entry without one.
std::string candidateEntry(const tuner::Candidate& candidate);

/// `#define NI 1024` for every size of kind macro, one a line.
std::string macroSizes(const tuner::Candidate& candidate);

/// `#define A B` for "A=B", `#define A 1` for "A".
std::string defineLines(const std::vector<std::string>& defines);

/// What a candidate (or, without a configuration, the original) is compiled from.
struct CandidateSources {
  std::string reference, candidate; ///< of the original the latter is empty
};
Expected<CandidateSources> readSources(const std::string& directory, const tuner::Candidate& candidate);

/// The translation unit: defines, the reference's declarations, the template. The device helpers come first in a
/// candidate's: a macro of the user's (N, T) must not reach into them.
std::string candidateUnit(const tuner::Candidate& candidate, const std::vector<std::string>& defines, const CandidateSources& sources);

} // namespace retile::backend
