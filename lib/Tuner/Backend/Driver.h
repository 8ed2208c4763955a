// The CUDA driver API, opened at run time in the measuring process only. The prototypes are the public ones
// of cuda.h, under the names that the library exports.
#pragma once

#include "retile/Support/Expected.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace retile::backend::cuda {

using Result = int;
using Device = int;
using Pointer = std::uint64_t;
using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;

constexpr Result success = 0, outOfMemory = 2, noDevice = 100;

enum DeviceAttribute : int {
  maxThreadsPerBlock = 1,
  maxSharedPerBlock = 8,
  multiprocessorCount = 16,
  l2CacheSize = 38,
  capabilityMajor = 75,
  capabilityMinor = 76,
  maxSharedPerBlockOptin = 97
};
enum FunctionAttribute : int {
  staticSharedBytes = 1,
  localBytes = 3,
  registers = 4,
  maxDynamicSharedBytes = 8
};

// name in cuda.h without "cu", exported symbol, parameters
#define RETILE_DRIVER_FUNCTIONS(F)                                                                           \
  F(init, "cuInit", unsigned)                                                                                \
  F(deviceGetCount, "cuDeviceGetCount", int*)                                                                \
  F(deviceGet, "cuDeviceGet", Device*, int)                                                                  \
  F(deviceGetName, "cuDeviceGetName", char*, int, Device)                                                    \
  F(deviceGetAttribute, "cuDeviceGetAttribute", int*, int, Device)                                           \
  F(deviceGetPciBusId, "cuDeviceGetPCIBusId", char*, int, Device)                                            \
  F(primaryContextRetain, "cuDevicePrimaryCtxRetain", Context*, Device)                                      \
  F(contextSetCurrent, "cuCtxSetCurrent", Context)                                                           \
  F(contextSynchronize, "cuCtxSynchronize")                                                                  \
  F(moduleLoadData, "cuModuleLoadData", Module*, const void*)                                                \
  F(moduleUnload, "cuModuleUnload", Module)                                                                  \
  F(moduleGetFunction, "cuModuleGetFunction", Function*, Module, const char*)                                \
  F(moduleGetGlobal, "cuModuleGetGlobal_v2", Pointer*, std::size_t*, Module, const char*)                    \
  F(functionGetAttribute, "cuFuncGetAttribute", int*, int, Function)                                         \
  F(functionSetAttribute, "cuFuncSetAttribute", Function, int, int)                                          \
  F(memoryAllocate, "cuMemAlloc_v2", Pointer*, std::size_t)                                                  \
  F(memoryFree, "cuMemFree_v2", Pointer)                                                                     \
  F(copyToDevice, "cuMemcpyHtoD_v2", Pointer, const void*, std::size_t)                                      \
  F(copyToHost, "cuMemcpyDtoH_v2", void*, Pointer, std::size_t)                                              \
  F(copyOnDevice, "cuMemcpyDtoDAsync_v2", Pointer, Pointer, std::size_t, Stream)                             \
  F(fillBytes, "cuMemsetD8Async", Pointer, unsigned char, std::size_t, Stream)                               \
  F(launchKernel, "cuLaunchKernel", Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
    unsigned, Stream, void**, void**)                                                                        \
  F(eventCreate, "cuEventCreate", Event*, unsigned)                                                          \
  F(eventDestroy, "cuEventDestroy_v2", Event)                                                                \
  F(eventRecord, "cuEventRecord", Event, Stream)                                                             \
  F(eventSynchronize, "cuEventSynchronize", Event)                                                           \
  F(eventElapsedTime, "cuEventElapsedTime", float*, Event, Event)                                            \
  F(getErrorName, "cuGetErrorName", Result, const char**)                                                    \
  F(getErrorString, "cuGetErrorString", Result, const char**)

struct Driver {
#define RETILE_DRIVER_MEMBER(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  RETILE_DRIVER_FUNCTIONS(RETILE_DRIVER_MEMBER)
#undef RETILE_DRIVER_MEMBER

  /// Opens libcuda and initialises it. The error names the library, or says that there is no device.
  static Expected<Driver> open();
  /// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string describe(Result result) const;
};

} // namespace retile::backend::cuda
