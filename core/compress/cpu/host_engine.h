// SPDX-License-Identifier: Apache-2.0
/// What does the work of a codec on a device, and that of the CPU: it cuts inputs into chunks, and has workers compress
/// and decompress them on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compress/container.h"
#include "compress/runs.h"
#include "compress/worker_pools.h"

namespace tricodec::compress {

class HostEngine;

/// Does the work of a Codec on one device. Its calls are those of Codec. Thread safety: safe.
class Engine {
public:
    virtual ~Engine() = default;

    /// An input and its engine. The engines of a batch are of one device.
    struct Job {
        const Engine* engine = nullptr;
        ByteView input;
    };

    [[nodiscard]] virtual const CodecOptions& options() const noexcept = 0;
    [[nodiscard]] virtual Device device() const noexcept = 0;
    /// The engine for streams in host memory: this one on the CPU, else one with the same options.
    [[nodiscard]] virtual const HostEngine& host() const = 0;

    [[nodiscard]] virtual std::size_t max_compressed_bytes(std::size_t size_bytes) const = 0;
    virtual void compress_each(std::span<const Job> jobs, const BatchPlacer& place, const Execution& on) const = 0;
    [[nodiscard]] virtual std::vector<std::size_t> compress_to(std::span<const Job> jobs,
                                                               std::span<const MutableBytes> outputs,
                                                               const Execution& on) const = 0;
    [[nodiscard]] virtual std::unique_ptr<PendingCompression> start_compress(std::span<const Job> jobs,
                                                                             const Execution& on) const = 0;
    [[nodiscard]] virtual std::vector<std::size_t> decompressed_sizes(std::span<const ByteView> streams,
                                                                      const Execution& on) const = 0;
    [[nodiscard]] virtual std::unique_ptr<PendingDecompression> start_decompress(
        std::span<const ByteView> streams, const BatchPlacer& place, const Execution& on,
        std::span<const std::size_t> sizes) const = 0;
};

class HostEngine final : public Engine {
public:
    explicit HostEngine(const CodecOptions& options) : pools_(options), options_(pools_.options()) {}

    [[nodiscard]] const CodecOptions& options() const noexcept override { return options_; }
    [[nodiscard]] Device device() const noexcept override { return {}; }
    [[nodiscard]] const HostEngine& host() const override { return *this; }

    [[nodiscard]] std::size_t max_compressed_bytes(std::size_t size_bytes) const override;
    void compress_each(std::span<const Job> jobs, const BatchPlacer& place, const Execution& on) const override;
    [[nodiscard]] std::vector<std::size_t> compress_to(std::span<const Job> jobs, std::span<const MutableBytes> outputs,
                                                       const Execution& on) const override;
    [[nodiscard]] std::unique_ptr<PendingCompression> start_compress(std::span<const Job> jobs,
                                                                     const Execution& on) const override;

    [[nodiscard]] std::vector<std::size_t> decompressed_sizes(std::span<const ByteView> streams,
                                                              const Execution& on) const override;
    [[nodiscard]] std::unique_ptr<PendingDecompression> start_decompress(
        std::span<const ByteView> streams, const BatchPlacer& place, const Execution& on,
        std::span<const std::size_t> sizes) const override;
    void decompress_range(ByteView stream, std::uint64_t begin, std::uint64_t end, const Placer& place) const;
    [[nodiscard]] CompressedInfo inspect(ByteView stream) const;

private:
    /// An input on its way to its output.
    struct Item;
    [[nodiscard]] Chunks chunks_of(ByteView input) const;
    [[nodiscard]] std::size_t head_of(std::size_t num_chunks) const;
    void compress_run(Item& item, const Run& run, std::size_t index) const;
    [[nodiscard]] std::size_t complete(Item& item) const;

    /// A stream, checked.
    struct Stream {
        Container container;  // of one chunk if there is none
        std::vector<ChunkPlace> places;
        std::vector<std::uint32_t> sums;
    };
    void decompress(std::span<const ByteView> streams, std::span<const MutableBytes> outputs,
                    const TaskRunner& runner) const;
    [[nodiscard]] std::uint64_t size_of_stream(ByteView stream, std::uint64_t most) const;
    [[nodiscard]] static Stream open_container(ByteView stream);
    [[nodiscard]] Stream open(ByteView stream, std::optional<std::size_t> expected) const;
    void expect_declared(const Stream& opened, ByteView stream, std::uint64_t first, std::uint64_t count) const;
    void read_sums(Stream& opened, ByteView stream) const;
    void decode_chunks(const Stream& stream, ByteView bytes, std::uint64_t first, std::uint64_t count,
                       MutableBytes output) const;

    mutable WorkerPools pools_;
    const CodecOptions& options_;
};

}  // namespace tricodec::compress
