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

/// Host memory that the GPU copies to and from, page-locked if it is to be fast.
struct HostMemory {
    void* data = nullptr;
    std::shared_ptr<void> owner;  ///< keeps the memory; null for "use tricodec's own"
};
/// Gives such memory for a call on a stream. May be called from any thread.
using StagingAllocator = std::function<HostMemory(std::size_t size_bytes, StreamView stream)>;

/// A compression that was queued. It keeps its scratch memory until it goes, and its results are lost if it goes before
/// finish(). One thread at a time.
class GpuCompression {
public:
    GpuCompression() = default;
    GpuCompression(const GpuCompression&) = delete;
    GpuCompression& operator=(const GpuCompression&) = delete;
    virtual ~GpuCompression() = default;
    /// Waits until the sizes are known, asks for memory and queues the results' copies to it on the call's stream.
    /// Once.
    virtual void finish(const DeviceBatchPlacer& place) = 0;
};

/// A decompression that was queued. One thread at a time.
class GpuDecompression {
public:
    GpuDecompression() = default;
    GpuDecompression(const GpuDecompression&) = delete;
    GpuDecompression& operator=(const GpuDecompression&) = delete;
    virtual ~GpuDecompression() = default;
    /// Waits until it is done. Throws Error(corrupt_data) naming the stream if what came out is wrong.
    virtual void finish() = 0;
};

namespace compress::nvcomp {
class Engine;
}

/// Lossless compression of bytes in the memory of a GPU, by NVIDIA's libnvcomp, which is opened when the first is made.
/// Its streams are Compressor's, but for ANS, which only GPUs do, and without checksums.
///
/// Headers and chunk tables are checked before any kernel sees them, and every chunk's status and size after. What lies
/// in the chunks cannot be checked: NVIDIA's decoders may fault on bytes made to do so, which ends the use of the GPU
/// in the process. Streams from strangers belong on the CPU.
///
/// A call's work is queued on its stream. compress() and decompress() wait for sizes and statuses; the two that start
/// leave that for later. Thread safety: safe.
class GpuCodec {
public:
    /// Throws Error(unsupported) where libnvcomp is missing, Error(device) without the GPU, Error(invalid_argument) for
    /// options that are not accepted.
    explicit GpuCodec(const CodecOptions& options, Device device, StagingAllocator staging = {});
    GpuCodec(const GpuCodec&) = delete;
    GpuCodec& operator=(const GpuCodec&) = delete;
    ~GpuCodec();

    [[nodiscard]] Device device() const noexcept;
    [[nodiscard]] std::size_t max_compressed_bytes(std::size_t size_bytes) const;
    void compress(std::span<const DeviceBytes> inputs, const DevicePlacer& place, StreamView stream) const;
    void compress(std::span<const DeviceBytes> inputs, const DeviceBatchPlacer& place, StreamView stream) const;
    void decompress(std::span<const DeviceBytes> streams, const DevicePlacer& place, StreamView stream) const;
    void decompress(std::span<const DeviceBytes> streams, const DeviceBatchPlacer& place, StreamView stream) const;
    /// compress() without the wait. The inputs must stay until what is queued on the stream is done.
    [[nodiscard]] std::unique_ptr<GpuCompression> start_compress(std::span<const DeviceBytes> inputs,
                                                                 StreamView stream) const;
    /// decompress() with the headers alone waited for: `place` is called before it returns.
    [[nodiscard]] std::unique_ptr<GpuDecompression> start_decompress(std::span<const DeviceBytes> streams,
                                                                     const DeviceBatchPlacer& place,
                                                                     StreamView stream) const;
    [[nodiscard]] std::vector<std::size_t> decompressed_sizes(std::span<const DeviceBytes> streams,
                                                              StreamView stream) const;

private:
    std::shared_ptr<const compress::nvcomp::Engine> engine_;
};

/// Why GPU `index` cannot compress here; empty if it can.
[[nodiscard]] std::string gpu_compression_unavailable_reason(int index);

}  // namespace tricodec
