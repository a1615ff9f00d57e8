// SPDX-License-Identifier: Apache-2.0
/// The codec of a GPU: libnvcomp's functions for its options, and what its calls share.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "base/bytes.h"
#include "compress/chunk_codec.h"
#include "compress/cpu/host_engine.h"
#include "compress/nvcomp/batch_api.h"
#include "tricodec/compress/compress.h"

namespace tricodec::compress::nvcomp {

inline constexpr std::size_t kAlignment = 16;  // the largest that a kernel needs
inline constexpr std::size_t kLeastBudget = 256 << 20;

[[nodiscard]] inline unsigned long long address(const void* pointer) noexcept {
    return reinterpret_cast<unsigned long long>(pointer);
}

struct OptionsOrder {
    bool operator()(const ChunkOptions& a, const ChunkOptions& b) const {
        return std::tuple(a.algorithm, a.element_type, a.bit_shuffle, a.release) <
               std::tuple(b.algorithm, b.element_type, b.bit_shuffle, b.release);
    }
};

class GpuEngine final : public Engine, public std::enable_shared_from_this<GpuEngine> {
public:
    GpuEngine(const CodecOptions& options, Device device, StagingAllocator staging);

    [[nodiscard]] const CodecOptions& options() const noexcept override { return options_; }
    [[nodiscard]] Device device() const noexcept override { return device_; }
    [[nodiscard]] const HostEngine& host() const override;

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

    [[nodiscard]] const StagingAllocator& staging() const noexcept { return staging_; }
    [[nodiscard]] bool is_native() const noexcept { return options_.bitstream == BitstreamKind::native; }
    /// The options of the algorithm. Throws Error(invalid_argument) if there is none.
    [[nodiscard]] const ChunkOptions& chunk_options() const;
    /// The functions for options.
    [[nodiscard]] const BatchApi& api(const ChunkOptions& options) const;
    /// The scratch memory for `count` chunks of at most `largest` bytes. The answers are kept: for some algorithms
    /// the library asks the driver for them.
    [[nodiscard]] std::size_t compress_scratch(std::size_t count, std::size_t largest) const;
    [[nodiscard]] std::size_t decompress_scratch(const ChunkOptions& options, std::size_t count,
                                                 std::size_t largest) const;
    /// Bytes of the size before a raw stream; 0 where there is none.
    [[nodiscard]] std::size_t prefix_bytes() const;
    [[nodiscard]] std::size_t bound(std::size_t size_bytes) const;
    /// The stream of an empty array. GPU compressors refuse those, so the CPU makes it.
    [[nodiscard]] std::vector<std::byte> empty_stream() const;
    /// False where that would throw.
    [[nodiscard]] bool makes_empty_streams() const;

private:
    /// The options, the number of chunks, their largest size.
    using ScratchQuestion = std::tuple<const BatchOptions*, std::size_t, std::size_t>;

    [[nodiscard]] std::size_t scratch(const ScratchFunction& function, const BatchOptions& options, std::size_t count,
                                      std::size_t largest) const;

    CodecOptions options_;
    Device device_;
    StagingAllocator staging_;
    ChunkOptions chunk_options_;
    mutable std::mutex mutex_;
    mutable std::unique_ptr<HostEngine> host_;                     // made when first needed
    mutable std::map<ChunkOptions, BatchApi, OptionsOrder> apis_;  // addresses are stable
    mutable std::map<ScratchQuestion, std::size_t> scratch_;
};

/// The largest part of `count` chunks that fits into the budget. `budget` is only called for much memory.
[[nodiscard]] std::size_t batch_size(std::size_t count, const std::function<std::size_t(std::size_t)>& budget,
                                     const std::function<std::size_t(std::size_t)>& need);

}  // namespace tricodec::compress::nvcomp
