// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tricodec/compress/compress.h"

namespace tricodec::compress {

class HostEngine;

/// Does the work of a Codec on one device. Its calls are those of Codec. Thread safety: safe.
class Engine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
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

}  // namespace tricodec::compress
