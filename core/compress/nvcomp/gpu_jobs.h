// SPDX-License-Identifier: Apache-2.0
/// Calls on a GPU in two halves: what is queued, and what is done when the GPU has reported sizes and statuses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "compress/container.h"
#include "compress/nvcomp/batch_api.h"
#include "compress/nvcomp/device_queue.h"
#include "compress/nvcomp/gpu_engine.h"

namespace tricodec::compress::nvcomp {

/// One chunk: where it is, and where it goes.
struct Chunk {
    std::size_t item = 0;
    const std::byte* from = nullptr;
    std::size_t size = 0;
    std::byte* to = nullptr;
    std::size_t room = 0;
};

/// The place of each chunk and of its result, and the size and status that the GPU reports. All of it is one piece of
/// memory, because each piece costs calls of the driver.
class ChunkTable {
public:
    ChunkTable(std::size_t count, DeviceQueue& queue)
        : count_(count),
          queue_(&queue),
          words_(queue.stage<std::size_t>(4 * count + count + (count + 1) / 2)),
          results_{words_.host + 4 * count, words_.device + 4 * count, words_.count - 4 * count} {
        std::fill_n(results_.host, results_.count, 0);
    }

    void set(std::size_t index, const std::byte* input, std::size_t input_size, std::byte* output, std::size_t room) {
        words_.host[index] = reinterpret_cast<std::size_t>(input);
        words_.host[count_ + index] = input_size;
        words_.host[2 * count_ + index] = reinterpret_cast<std::size_t>(output);
        words_.host[3 * count_ + index] = room;
    }
    void send() { queue_->send(words_); }

    [[nodiscard]] const void* const* inputs() const { return reinterpret_cast<const void* const*>(words_.device); }
    [[nodiscard]] const std::size_t* input_sizes() const { return words_.device + count_; }
    [[nodiscard]] void* const* outputs() const { return reinterpret_cast<void* const*>(words_.device + 2 * count_); }
    [[nodiscard]] const std::size_t* rooms() const { return words_.device + 3 * count_; }
    [[nodiscard]] std::size_t* device_sizes() const { return results_.device; }
    [[nodiscard]] Status* device_statuses() const { return reinterpret_cast<Status*>(results_.device + count_); }

    /// Starts the copy of sizes and statuses to the host. The functions below are valid when it is done.
    void fetch() { queue_->fetch(results_); }
    [[nodiscard]] std::size_t size(std::size_t index) const { return results_.host[index]; }
    [[nodiscard]] Status status(std::size_t index) const {
        return reinterpret_cast<const Status*>(results_.host + count_)[index];
    }

private:
    std::size_t count_;
    DeviceQueue* queue_;
    Staged<std::size_t> words_;
    Staged<std::size_t> results_;  // the end of it
};

/// A stream to decompress. Its header is checked.
struct Opened {
    ChunkOptions options;
    std::uint64_t uncompressed_bytes = 0;
    std::uint64_t chunk_bytes = 0;
    std::vector<ChunkPlace> places;
};

/// Copies the headers to the host and checks them; tables of many chunks follow in a second copy. The host waits.
[[nodiscard]] std::vector<Opened> open(const GpuEngine& engine, std::span<const ByteView> streams, DeviceQueue& queue);

class CompressJob final : public PendingCompression {
public:
    /// Queues the compression. The host waits only if memory is short, so that the batch is done in parts.
    CompressJob(std::shared_ptr<const GpuEngine> engine, std::span<const ByteView> inputs, StreamView stream);
    void finish(const BatchPlacer& place) override;

private:
    /// The chunks of one input, and the bytes before them.
    struct Item {
        std::size_t first_chunk = 0;
        std::size_t num_chunks = 0;
        std::size_t head_bytes = 0;
    };
    [[nodiscard]] ChunkTable compress_batch(const BatchApi& functions, std::span<Chunk> batch, std::size_t largest);
    void write_head_of(std::size_t item, std::byte* to) const;
    void assemble(const BatchPlacer& place);

    std::shared_ptr<const GpuEngine> engine_;
    std::shared_ptr<cuda::Context> context_;
    DeviceQueue queue_;
    std::vector<std::size_t> input_sizes_;
    std::vector<Chunk> chunks_;
    std::vector<Item> items_;
    std::vector<std::byte> empty_stream_;  // the raw stream of an empty input, if there is one
    std::vector<std::uint64_t> sizes_;     // of the compressed chunks
    std::size_t slot_ = 0;
    std::optional<ChunkTable> results_;  // not read yet
    cuda::Event ready_;
};

class DecompressJob final : public PendingDecompression {
public:
    /// Reads the headers, for which the host waits, asks for memory and queues the decompression.
    DecompressJob(std::shared_ptr<const GpuEngine> engine, std::span<const ByteView> streams, const BatchPlacer& place,
                  StreamView stream, std::span<const std::size_t> sizes);
    void finish() override;

private:
    struct Batch {
        std::vector<Chunk> chunks;
        ChunkTable results;
    };
    void decompress_group(const ChunkOptions& options, std::span<const Chunk> chunks);
    [[nodiscard]] ChunkTable decompress_batch(const BatchApi& functions, std::span<const Chunk> batch,
                                              std::size_t temp);

    std::shared_ptr<const GpuEngine> engine_;
    std::shared_ptr<cuda::Context> context_;
    DeviceQueue queue_;
    std::size_t num_streams_;
    std::vector<Batch> batches_;  // not read yet
    cuda::Event ready_;
};

}  // namespace tricodec::compress::nvcomp
