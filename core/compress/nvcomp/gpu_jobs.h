// SPDX-License-Identifier: Apache-2.0
/// Calls on a GPU in two halves: what is queued, and what is done once the GPU has told sizes and statuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "compress/nvcomp/chunk_table.h"
#include "compress/nvcomp/device_queue.h"
#include "compress/nvcomp/gpu_engine.h"
#include "compress/nvcomp/gpu_streams.h"

namespace tricodec::compress::nvcomp {

class CompressJob final : public GpuCompression {
public:
    /// Queues the compression. The host waits only where the batch is done in parts, for want of memory.
    CompressJob(std::shared_ptr<const Engine> engine, std::span<const DeviceBytes> inputs, StreamView stream);
    void finish(const DeviceBatchPlacer& place) override;

private:
    /// One input's part of the chunks, and what stands before them.
    struct Item {
        std::size_t first_chunk = 0;
        std::size_t num_chunks = 0;
        std::size_t head_bytes = 0;
    };
    [[nodiscard]] ChunkResults compress_batch(const BatchApi& functions, std::span<Chunk> batch, std::size_t largest);
    void write_head_of(std::size_t item, std::byte* to) const;
    void assemble(const DeviceBatchPlacer& place);

    std::shared_ptr<const Engine> engine_;
    std::shared_ptr<cuda::Context> context_;
    DeviceQueue queue_;
    std::vector<std::size_t> input_sizes_;
    std::vector<Chunk> chunks_;
    std::vector<Item> items_;
    std::vector<std::byte> empty_stream_;  // of raw streams of no bytes, if there are any
    std::vector<std::uint64_t> sizes_;     // of the compressed chunks
    std::size_t slot_ = 0;
    std::optional<ChunkResults> results_;  // not looked at yet
    cuda::Event ready_;
};

class DecompressJob final : public GpuDecompression {
public:
    /// Reads the headers, for which the host waits, asks for memory and queues the decompression.
    DecompressJob(std::shared_ptr<const Engine> engine, std::span<const DeviceBytes> streams,
                  const DeviceBatchPlacer& place, StreamView stream);
    void finish() override;

private:
    struct Batch {
        std::vector<Chunk> chunks;
        ChunkResults results;
    };
    void decompress_group(const ChunkOptions& options, std::span<const Chunk> chunks);
    [[nodiscard]] ChunkResults decompress_batch(const BatchApi& functions, std::span<const Chunk> batch,
                                                std::size_t temp);

    std::shared_ptr<const Engine> engine_;
    std::shared_ptr<cuda::Context> context_;
    DeviceQueue queue_;
    std::size_t num_streams_;
    std::vector<Batch> batches_;  // not looked at yet
    cuda::Event ready_;
};

}  // namespace tricodec::compress::nvcomp
