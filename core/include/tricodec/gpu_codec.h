// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tricodec/compress.h"
#include "tricodec/device.h"
#include "tricodec/stream.h"

namespace tricodec {

/// Bytes in the memory of a GPU.
struct DeviceBytes {
    std::byte* data = nullptr;
    std::size_t size = 0;
};

/// Memory for result `index`, on the codec's GPU and aligned to 8, to be written by work on the call's stream.
using DevicePlacer = std::function<DeviceBytes(std::size_t index, std::size_t size_bytes)>;
/// The same for all results once their sizes are known. Called once.
using DeviceBatchPlacer = std::function<std::vector<DeviceBytes>(std::span<const std::size_t> sizes_bytes)>;

/// Lossless compression of bytes in the memory of a GPU, by NVIDIA's libnvcomp, which is opened when the first is made.
/// Its streams are Compressor's, but for ANS, which only GPUs do, and without checksums.
///
/// Headers and chunk tables are checked before any kernel sees them, and every chunk's status and size after. What lies
/// in the chunks cannot be checked: NVIDIA's decoders may fault on bytes made to do so, which ends the use of the GPU
/// in the process. Streams from strangers belong on the CPU.
///
/// A call's work is queued on its stream; the host waits for sizes and statuses. Thread safety: safe.
class GpuCodec {
public:
    /// Throws Error(unsupported) where libnvcomp is missing, Error(device) without the GPU, Error(invalid_argument) for
    /// options that are not accepted.
    GpuCodec(const CodecOptions& options, Device device);
    GpuCodec(const GpuCodec&) = delete;
    GpuCodec& operator=(const GpuCodec&) = delete;
    ~GpuCodec();

    [[nodiscard]] Device device() const noexcept;
    [[nodiscard]] std::size_t max_compressed_bytes(std::size_t size_bytes) const;
    void compress(std::span<const DeviceBytes> inputs, const DevicePlacer& place, StreamView stream) const;
    void compress(std::span<const DeviceBytes> inputs, const DeviceBatchPlacer& place, StreamView stream) const;
    void decompress(std::span<const DeviceBytes> streams, const DevicePlacer& place, StreamView stream) const;
    void decompress(std::span<const DeviceBytes> streams, const DeviceBatchPlacer& place, StreamView stream) const;
    [[nodiscard]] std::vector<std::size_t> decompressed_sizes(std::span<const DeviceBytes> streams,
                                                              StreamView stream) const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Why GPU `index` cannot compress here; empty if it can.
[[nodiscard]] std::string gpu_compression_unavailable_reason(int index);

}  // namespace tricodec
