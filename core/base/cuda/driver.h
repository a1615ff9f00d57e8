// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// The driver's handles, declared as its own headers declare them, so that both may be included together.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUmemPoolHandle_st;

/// The CUDA driver API, opened at run time: nothing here links to CUDA or needs its headers.
namespace tricodec::cuda {

using Result = int;
using DeviceHandle = int;
using DevicePointer = unsigned long long;
using ContextHandle = CUctx_st*;
using StreamHandle = CUstream_st*;
using EventHandle = CUevent_st*;
using ModuleHandle = CUmod_st*;
using FunctionHandle = CUfunc_st*;
using MemoryPoolHandle = CUmemPoolHandle_st*;

/// Results that the library tells apart (cudaError_enum).
enum : Result {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kDeinitialized = 4,
    kStubLibrary = 34,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kNoBinaryForGpu = 209,
    kInvalidHandle = 400,
    kNotReady = 600,
    kSystemDriverMismatch = 803,
    kCompatNotSupported = 804,
};

/// CUdevice_attribute.
enum class DeviceAttribute : int {
    multiprocessors = 16,
    major = 75,
    minor = 76,
    max_shared_memory_per_block_optin = 97,
    memory_pools_supported = 115,
};

/// CUfunction_attribute.
enum class FunctionAttribute : int { max_dynamic_shared_size_bytes = 8 };

/// CUpointer_attribute.
enum class PointerAttribute : int { context = 1, memory_type = 2, device_ordinal = 9 };

enum class MemoryType : int { host = 1, device = 2, array = 3, unified = 4 };

/// CUDA_MEMCPY2D, field for field.
struct Copy2D {
    std::size_t source_x_bytes = 0;
    std::size_t source_y = 0;
    MemoryType source_type = MemoryType::device;
    const void* source_host = nullptr;
    DevicePointer source_device = 0;
    void* source_array = nullptr;
    std::size_t source_stride_bytes = 0;
    std::size_t target_x_bytes = 0;
    std::size_t target_y = 0;
    MemoryType target_type = MemoryType::device;
    void* target_host = nullptr;
    DevicePointer target_device = 0;
    void* target_array = nullptr;
    std::size_t target_stride_bytes = 0;
    std::size_t width_bytes = 0;
    std::size_t height = 0;
};

/// CUmemPoolProps, field for field (CUDA 12's; the reserved tail was longer before, which is as good).
struct MemoryPoolProperties {
    int allocation_type = 1;  // pinned: device memory that does not move
    int handle_types = 0;     // not for other processes
    int location_type = 1;    // a device
    int location_id = 0;
    void* win32_security_attributes = nullptr;
    std::size_t max_size = 0;
    unsigned short usage = 0;
    unsigned char reserved[54] = {};
};

enum : unsigned { kStreamNonBlocking = 1, kEventBlockingSync = 1, kEventDisableTiming = 2, kHostMemoryPortable = 1 };

// name in Api, symbol, arguments. The first list is what every driver since CUDA 11.0 has.
#define TRICODEC_CUDA_FUNCTIONS(X)                                                                                 \
    X(get_error_name, "cuGetErrorName", (Result, const char**))                                                    \
    X(get_error_string, "cuGetErrorString", (Result, const char**))                                                \
    X(init, "cuInit", (unsigned))                                                                                  \
    X(driver_get_version, "cuDriverGetVersion", (int*))                                                            \
    X(device_get_count, "cuDeviceGetCount", (int*))                                                                \
    X(device_get, "cuDeviceGet", (DeviceHandle*, int))                                                             \
    X(device_get_name, "cuDeviceGetName", (char*, int, DeviceHandle))                                              \
    X(device_get_attribute, "cuDeviceGetAttribute", (int*, DeviceAttribute, DeviceHandle))                         \
    X(device_total_memory, "cuDeviceTotalMem_v2", (std::size_t*, DeviceHandle))                                    \
    X(primary_context_retain, "cuDevicePrimaryCtxRetain", (ContextHandle*, DeviceHandle))                          \
    X(context_push, "cuCtxPushCurrent_v2", (ContextHandle))                                                        \
    X(context_pop, "cuCtxPopCurrent_v2", (ContextHandle*))                                                         \
    X(context_get_current, "cuCtxGetCurrent", (ContextHandle*))                                                    \
    X(context_get_device, "cuCtxGetDevice", (DeviceHandle*))                                                       \
    X(memory_get_info, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                                            \
    X(memory_allocate, "cuMemAlloc_v2", (DevicePointer*, std::size_t))                                             \
    X(memory_free, "cuMemFree_v2", (DevicePointer))                                                                \
    X(host_allocate, "cuMemHostAlloc", (void**, std::size_t, unsigned))                                            \
    X(host_free, "cuMemFreeHost", (void*))                                                                         \
    X(copy_async, "cuMemcpyAsync", (void*, const void*, std::size_t, StreamHandle))                                \
    X(copy_2d_async, "cuMemcpy2DAsync_v2", (const Copy2D*, StreamHandle))                                          \
    X(pointer_get_attribute, "cuPointerGetAttribute", (void*, PointerAttribute, DevicePointer))                    \
    X(stream_create, "cuStreamCreate", (StreamHandle*, unsigned))                                                  \
    X(stream_destroy, "cuStreamDestroy_v2", (StreamHandle))                                                        \
    X(stream_synchronize, "cuStreamSynchronize", (StreamHandle))                                                   \
    X(stream_query, "cuStreamQuery", (StreamHandle))                                                               \
    X(stream_wait_event, "cuStreamWaitEvent", (StreamHandle, EventHandle, unsigned))                               \
    X(stream_get_context, "cuStreamGetCtx", (StreamHandle, ContextHandle*))                                        \
    X(stream_is_capturing, "cuStreamIsCapturing", (StreamHandle, int*))                                            \
    X(event_create, "cuEventCreate", (EventHandle*, unsigned))                                                     \
    X(event_destroy, "cuEventDestroy_v2", (EventHandle))                                                           \
    X(event_record, "cuEventRecord", (EventHandle, StreamHandle))                                                  \
    X(event_query, "cuEventQuery", (EventHandle))                                                                  \
    X(event_synchronize, "cuEventSynchronize", (EventHandle))                                                      \
    X(event_elapsed_ms, "cuEventElapsedTime", (float*, EventHandle, EventHandle))                                  \
    X(module_load_data, "cuModuleLoadData", (ModuleHandle*, const void*))                                          \
    X(module_get_function, "cuModuleGetFunction", (FunctionHandle*, ModuleHandle, const char*))                    \
    X(function_set_attribute, "cuFuncSetAttribute", (FunctionHandle, FunctionAttribute, int))                      \
    X(launch_kernel, "cuLaunchKernel",                                                                             \
      (FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle, void**, \
       void**))

// Since CUDA 11.2, the last one since 12.5; null on an older driver.
#define TRICODEC_CUDA_OPTIONAL_FUNCTIONS(X)                                                                            \
    X(memory_pool_create, "cuMemPoolCreate", (MemoryPoolHandle*, const MemoryPoolProperties*))                         \
    X(memory_pool_destroy, "cuMemPoolDestroy", (MemoryPoolHandle))                                                     \
    X(memory_pool_trim, "cuMemPoolTrimTo", (MemoryPoolHandle, std::size_t))                                            \
    X(memory_allocate_async, "cuMemAllocFromPoolAsync", (DevicePointer*, std::size_t, MemoryPoolHandle, StreamHandle)) \
    X(memory_free_async, "cuMemFreeAsync", (DevicePointer, StreamHandle))                                              \
    X(context_record_event, "cuCtxRecordEvent", (ContextHandle, EventHandle))

/// The driver's functions; only through api() and try_api(), which know that it is there.
struct Api {
#define TRICODEC_CUDA_DECLARE(name, symbol, arguments) Result(*name) arguments = nullptr;
    TRICODEC_CUDA_FUNCTIONS(TRICODEC_CUDA_DECLARE)
    TRICODEC_CUDA_OPTIONAL_FUNCTIONS(TRICODEC_CUDA_DECLARE)
#undef TRICODEC_CUDA_DECLARE
    int driver_version = 0;  ///< of CUDA, as 13000 for 13.0
    int num_devices = 0;
};

/// The driver, initialised. Throws Error(device) saying why there is none: no driver, one that is too old, no GPU, a
/// forked process. The first call opens it (tens of milliseconds).
[[nodiscard]] const Api& api();
/// The driver, or null with the reason, which stays valid.
[[nodiscard]] const Api* try_api(std::string_view* reason = nullptr) noexcept;

/// "CUDA_ERROR_INVALID_VALUE: invalid argument".
[[nodiscard]] std::string describe(Result result);
/// True if the context, and with it every object in it, is lost.
[[nodiscard]] bool context_is_lost(Result result) noexcept;
/// True for what no data can cause: a lost context, a driver that shuts down, a GPU or a handle that is gone.
[[nodiscard]] bool device_is_at_fault(Result result) noexcept;

/// Throws Error(out_of_memory) or Error(device) unless `result` is success. `what` says what was tried: "copying a
/// frame".
void check(Result result, std::string_view what);
[[noreturn]] void fail(Result result, std::string_view what);

}  // namespace tricodec::cuda
