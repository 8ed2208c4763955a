// The verdict over raw bytes: the outputs of two runs of a candidate against two runs of the original.
#pragma once

#include "Problem.h"

#include <cstdint>
#include <string>
#include <vector>

namespace retile::backend {

/// Contents of every tensor after one run; empty for those that the backend did not keep.
using Contents = std::vector<std::vector<unsigned char>>;

/// How a tensor's elements are compared. `relative` is 0 for bitwise.
struct Tolerance {
  double relative = 0, rms = 0;
};

/// The rule of one output: bitwise when the manifest says so and the original repeats itself, else the error
/// rule with the original as the reference, |candidate - original| <= 4 sqrt(terms) eps max(|original|, rms)
/// + 1 ulp, rms over the finite elements that the original wrote. (verification.md measures both against a
/// float64 evaluation, which neither device has.) Elements that the original left poisoned are bitwise in
/// either case. Error when the original does not repeat itself and the elements are not floats.
Expected<Tolerance> toleranceOf(const Problem& problem, const TensorPlan& tensor, const unsigned char* first,
                                const unsigned char* second);

struct Difference {
  bool any = false;
  std::uint64_t index = 0, count = 0;        ///< first differing scalar element, how many differ
  std::uint64_t candidate = 0, original = 0; ///< their bits
};

/// `run` selects the poison that marks elements which the original left alone.
Difference compareTensor(const TensorPlan& tensor, const void* candidate, const void* original,
                         Tolerance tolerance, int run);

/// "C[5]: 1.25 against 1.5 (and 16 more of 4096; seed 7, NI=61 NJ=131)"
std::string describeDifference(const Problem& problem, const TensorPlan& tensor, const Difference& difference,
                               int run);

/// "writes to its input A[3]: ..."
std::string describeInputChange(const Problem& problem, const TensorPlan& tensor,
                                const Difference& difference);

} // namespace retile::backend
