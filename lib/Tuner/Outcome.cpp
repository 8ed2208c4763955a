#include "retile/Tuner/Backend.h"

namespace retile::tuner {

const char* toString(Outcome outcome) {
  switch (outcome) {
  case Outcome::Ok:
    return "ok";
  case Outcome::Mismatch:
    return "mismatch";
  case Outcome::CompileError:
    return "compile error";
  case Outcome::LaunchError:
    return "launch error";
  case Outcome::Crash:
    return "crash";
  case Outcome::Timeout:
    return "timeout";
  case Outcome::Unsupported:
    return "unsupported";
  }
  return "unknown";
}

} // namespace retile::tuner
