#include "Nvml.h"

#include "Toolkit.h"

#include <dlfcn.h>

namespace retile::backend::cuda {

namespace {

constexpr unsigned long long hardwareSlowdown = 0x8, softwareHeat = 0x20, hardwareHeat = 0x40,
                             powerBrake = 0x80;

/// The prototypes are the public ones of nvml.h.
struct Management {
  int (*reasons)(void*, unsigned long long*) = nullptr;
  void* device = nullptr;

  explicit Management(const std::string& busId) {
    Expected<void*> library = openCudaLibrary({"libnvidia-ml.so.1", "libnvidia-ml.so"}, "the NVIDIA driver");
    if (!library)
      return;
    const auto init = reinterpret_cast<int (*)()>(dlsym(*library, "nvmlInit_v2"));
    const auto find =
        reinterpret_cast<int (*)(const char*, void**)>(dlsym(*library, "nvmlDeviceGetHandleByPciBusId_v2"));
    reasons = reinterpret_cast<int (*)(void*, unsigned long long*)>(
        dlsym(*library, "nvmlDeviceGetCurrentClocksThrottleReasons"));
    if (!init || !find || init() != 0 || find(busId.c_str(), &device) != 0)
      reasons = nullptr;
  }
};

} // namespace

std::string throttleReason(const DeviceSession& session) {
  static const Management management(session.busId());
  unsigned long long reasons = 0;
  if (!management.reasons || management.reasons(management.device, &reasons) != 0)
    return "";
  if (reasons & (softwareHeat | hardwareHeat))
    return "the device was throttled (heat)";
  if (reasons & (hardwareSlowdown | powerBrake))
    return "the device was throttled (power)";
  return "";
}

} // namespace retile::backend::cuda
