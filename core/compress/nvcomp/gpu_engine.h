// SPDX-License-Identifier: Apache-2.0
/// What the calls of one GpuCodec share, and the words of compressing and decompressing on a GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "compress/bytes.h"
#include "compress/chunk_codec.h"
#include "compress/nvcomp/batch_api.h"
#include "tricodec/compress.h"
#include "tricodec/gpu_codec.h"

namespace tricodec::compress::nvcomp {

inline constexpr std::size_t kAlignment = 16;  // covers what any of the kernels asks for
inline constexpr std::size_t kLeastBudget = 256 << 20;

[[nodiscard]] inline unsigned long long address(const void* pointer) noexcept {
    return reinterpret_cast<unsigned long long>(pointer);
}

/// One chunk on its way: where it is, where it goes.
struct Chunk {
    std::size_t item = 0;
    const std::byte* from = nullptr;
    std::size_t size = 0;
    std::byte* to = nullptr;
    std::size_t room = 0;
};

struct OptionsOrder {
    bool operator()(const ChunkOptions& a, const ChunkOptions& b) const {
        return std::tuple(a.algorithm, a.element_type, a.bit_shuffle) <
               std::tuple(b.algorithm, b.element_type, b.bit_shuffle);
    }
};

/// Options, checked, and the library's functions for them. Thread safety: safe.
class Engine {
public:
    /// Throws as GpuCodec's constructor does.
    Engine(const CodecOptions& options, Device device, StagingAllocator staging);

    [[nodiscard]] const CodecOptions& options() const noexcept { return options_; }
    [[nodiscard]] Device device() const noexcept { return device_; }
    [[nodiscard]] const StagingAllocator& staging() const noexcept { return staging_; }
    [[nodiscard]] bool is_native() const noexcept { return options_.bitstream == BitstreamKind::native; }
    /// Of the algorithm that the options name. Throws Error(invalid_argument) if they name none.
    [[nodiscard]] const ChunkOptions& chunk_options() const;
    /// The functions for options, found when first asked for.
    [[nodiscard]] const BatchApi& api(const ChunkOptions& options) const;
    /// Scratch memory that the library asks for, for `count` chunks of at most `largest` bytes. It is asked once: for
    /// some algorithms the library asks the driver in turn.
    [[nodiscard]] std::size_t compress_scratch(std::size_t count, std::size_t largest) const;
    [[nodiscard]] std::size_t decompress_scratch(const ChunkOptions& options, std::size_t count,
                                                 std::size_t largest) const;
    /// Bytes of the size before a raw stream; 0 where there is none.
    [[nodiscard]] std::size_t prefix_bytes() const;
    [[nodiscard]] std::size_t bound(std::size_t size_bytes) const;
    /// The stream of no bytes, which the GPU's compressors do not make.
    [[nodiscard]] std::vector<std::byte> empty_stream() const;
    /// False where that would throw.
    [[nodiscard]] bool makes_empty_streams() const {
        return chunk_options().algorithm == Compression::ans || host_ != nullptr;
    }

private:
    /// Whose scratch memory, for how many chunks, of what size.
    using ScratchQuestion = std::tuple<const BatchOptions*, std::size_t, std::size_t>;

    [[nodiscard]] std::size_t scratch(decltype(BatchApi::compress_temp) function, const BatchOptions& options,
                                      std::size_t count, std::size_t largest) const;

    CodecOptions options_;
    Device device_;
    StagingAllocator staging_;
    ChunkOptions chunk_options_;
    std::unique_ptr<Compressor> host_;
    mutable std::mutex mutex_;
    mutable std::map<ChunkOptions, BatchApi, OptionsOrder> apis_;  // which stay where they are
    mutable std::map<ScratchQuestion, std::size_t> scratch_;
};

/// The largest part of `count` whose memory fits into what `budget` grants, which is asked only where it matters.
[[nodiscard]] std::size_t batch_size(std::size_t count, const std::function<std::size_t(std::size_t)>& budget,
                                     const std::function<std::size_t(std::size_t)>& need);

}  // namespace tricodec::compress::nvcomp
