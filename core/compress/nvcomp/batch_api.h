// SPDX-License-Identifier: Apache-2.0
/// The batched C interface of libnvcomp 5.x for one algorithm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cuda/driver.h"
#include "compress/chunk_codec.h"

namespace tricodec::compress::nvcomp {

/// Any of the options structs: 64 bytes, passed by value, reserved bytes are zero.
struct BatchOptions {
    alignas(8) std::uint8_t bytes[64] = {};
};

using Status = int;

/// The functions of one algorithm. All arrays are in device memory.
struct BatchApi {
    Status (*compress_temp)(std::size_t count, std::size_t largest, BatchOptions, std::size_t* temp, std::size_t total);
    Status (*compress_bound)(std::size_t largest, BatchOptions, std::size_t* bound);
    Status (*compress)(const void* const* inputs, const std::size_t* sizes, std::size_t largest, std::size_t count,
                       void* temp, std::size_t temp_bytes, void* const* outputs, std::size_t* output_sizes,
                       BatchOptions, Status* statuses, cuda::StreamHandle);
    Status (*decompress_temp)(std::size_t count, std::size_t largest, BatchOptions, std::size_t* temp,
                              std::size_t total);
    Status (*decompressed_size)(const void* const* inputs, const std::size_t* sizes, std::size_t* output_sizes,
                                std::size_t count, cuda::StreamHandle);
    Status (*decompress)(const void* const* inputs, const std::size_t* sizes, const std::size_t* room,
                         std::size_t* actual, std::size_t count, void* temp, std::size_t temp_bytes,
                         void* const* outputs, BatchOptions, Status* statuses, cuda::StreamHandle);
    BatchOptions compress_options;
    BatchOptions decompress_options;
    std::uint64_t largest_chunk = 0;  ///< that the compressor accepts
};

/// Throws Error(unsupported) if libnvcomp or one of its functions is missing.
[[nodiscard]] BatchApi load_batch_api(const ChunkOptions& options, DecompressBackend backend);

/// Throws the Error of a status unless it is success. `what` names the attempt.
void check_status(Status status, const char* what);

}  // namespace tricodec::compress::nvcomp
