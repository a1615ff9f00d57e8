// SPDX-License-Identifier: Apache-2.0
/// The batched C interface of libnvcomp 5.x and 6.0 for one algorithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/cuda/driver.h"
#include "compress/chunk_codec.h"

namespace tricodec::compress::nvcomp {

/// Any of the options structs: 64 bytes, passed by value, reserved bytes are zero.
struct BatchOptions {
    alignas(8) std::uint8_t bytes[64] = {};
};

using Status = int;

/// Tells the scratch memory of a call. Since 6.0 it also takes the stream, on which it queues nothing.
struct ScratchFunction {
    Status (*of_5)(std::size_t count, std::size_t largest, BatchOptions, std::size_t* temp,
                   std::size_t total) = nullptr;
    Status (*of_6)(std::size_t count, std::size_t largest, BatchOptions, std::size_t* temp, std::size_t total,
                   cuda::StreamHandle) = nullptr;

    Status operator()(std::size_t count, std::size_t largest, const BatchOptions& options, std::size_t* temp,
                      std::size_t total) const {
        return of_6 != nullptr ? of_6(count, largest, options, temp, total, {})
                               : of_5(count, largest, options, temp, total);
    }
};

/// The functions of one algorithm. All arrays are in device memory.
struct BatchApi {
    ScratchFunction compress_temp;
    Status (*compress_bound)(std::size_t largest, BatchOptions, std::size_t* bound);
    Status (*compress)(const void* const* inputs, const std::size_t* sizes, std::size_t largest, std::size_t count,
                       void* temp, std::size_t temp_bytes, void* const* outputs, std::size_t* output_sizes,
                       BatchOptions, Status* statuses, cuda::StreamHandle);
    ScratchFunction decompress_temp;
    Status (*decompressed_size)(const void* const* inputs, const std::size_t* sizes, std::size_t* output_sizes,
                                std::size_t count, cuda::StreamHandle);
    Status (*decompress)(const void* const* inputs, const std::size_t* sizes, const std::size_t* room,
                         std::size_t* actual, std::size_t count, void* temp, std::size_t temp_bytes,
                         void* const* outputs, BatchOptions, Status* statuses, cuda::StreamHandle);
    BatchOptions compress_options;
    BatchOptions decompress_options;
    std::uint64_t largest_chunk = 0;  ///< that the compressor accepts
};

/// Why libnvcomp does not make or read a stream that differs between releases of nvCOMP; empty if it does.
[[nodiscard]] std::string other_release_reason(const ChunkOptions& options);

/// Throws Error(unsupported) if libnvcomp or one of its functions is missing, or is of another release than a stream
/// that differs between releases.
[[nodiscard]] BatchApi load_batch_api(const ChunkOptions& options, DecompressBackend backend);

/// Throws the Error of a status unless it is success. `what` names the attempt.
void check_status(Status status, const char* what);

}  // namespace tricodec::compress::nvcomp
