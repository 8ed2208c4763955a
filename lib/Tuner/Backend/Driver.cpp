#include "Driver.h"

#include "Toolkit.h"

#include <dlfcn.h>

namespace retile::backend::cuda {

Expected<Driver> Driver::open() {
  Expected<void*> library = openCudaLibrary({"libcuda.so.1", "libcuda.so"}, "the NVIDIA driver (libcuda1)");
  if (!library)
    return library.error();
  Driver driver;
  const char* missing = nullptr;
#define RETILE_DRIVER_LOAD(name, symbol, ...)                                                                \
  driver.name = reinterpret_cast<Result (*)(__VA_ARGS__)>(dlsym(*library, symbol));                          \
  if (!driver.name)                                                                                          \
    missing = symbol;
  RETILE_DRIVER_FUNCTIONS(RETILE_DRIVER_LOAD)
#undef RETILE_DRIVER_LOAD
  if (missing)
    return Error{std::string("libcuda.so.1 lacks ") + missing, "install a newer NVIDIA driver",
                 ExitCode::Environment};
  if (const Result failed = driver.init(0); failed != success)
    return Error{"the CUDA driver does not start: " + driver.describe(failed), "", ExitCode::Environment};
  return driver;
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != success || !name)
    return "CUDA error " + std::to_string(result);
  getErrorString(result, &text);
  return std::string(name) + (text ? std::string(": ") + text : "");
}

} // namespace retile::backend::cuda
