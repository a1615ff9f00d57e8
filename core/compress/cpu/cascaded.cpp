// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "compress/bytes.h"
#include "compress/chunk_codec.h"
#include "compress/cpu/cascaded_coder.h"
#include "tricodec/error.h"

namespace tricodec::compress {
namespace {

using cascaded::Coder;
using cascaded::damaged;
using cascaded::kHead;
using cascaded::Layers;

/// function(Coder<T>&) for elements of `size` bytes.
class Coders {
public:
    template <class Function>
    auto with(std::size_t size, Function&& function) {
        switch (size) {
            case 1:
                return function(one_);
            case 2:
                return function(two_);
            case 4:
                return function(four_);
            default:
                return function(eight_);
        }
    }

private:
    Coder<std::uint8_t> one_;
    Coder<std::uint16_t> two_;
    Coder<std::uint32_t> four_;
    Coder<std::uint64_t> eight_;
};

struct ChunkHead {
    Layers layers;
    std::size_t element_bytes = 1;
    std::uint64_t uncompressed_bytes = 0;
};

ChunkHead read_head(ByteView input) {
    if (input.size() < kHead) damaged("it is shorter than its header");
    const auto at = [&](std::size_t i) { return static_cast<int>(input[i]); };
    ChunkHead head{{at(0), at(1), at(2) != 0}, 1, load<std::uint32_t>(input.data() + 4)};
    if (at(0) > 7 || at(1) > 3) damaged("it has more layers than there can be");
    if (at(3) > 7) damaged("its data type is unknown");
    head.element_bytes = size_of(static_cast<ElementType>(at(3)));
    if (head.uncompressed_bytes % head.element_bytes != 0) damaged("its size is no multiple of its data type's");
    return head;
}

class CascadedWorker final : public ChunkWorker {
public:
    explicit CascadedWorker(const ChunkOptions& options)
        : options_(options), layers_{options.num_rles, options.num_deltas, options.use_bitpack} {}

    std::size_t compress(ByteView input, std::span<std::byte> output) override {
        const std::size_t element = size_of(options_.element_type);
        // The size of a stored chunk is the limit, so that nothing ever grows by more.
        const std::size_t stored = kHead + align_up(input.size(), 4);
        const auto limited = output.first(stored);
        std::size_t size = coders_.with(element, [&](auto& coder) { return coder.compress(input, limited, layers_); });
        const bool compressed = size != 0;
        if (!compressed) {
            size = stored;
            std::memset(limited.data() + size - std::min<std::size_t>(size - kHead, 4), 0,
                        std::min<std::size_t>(size - kHead, 4));
            if (!input.empty()) std::memcpy(limited.data() + kHead, input.data(), input.size());
        }
        limited[0] = static_cast<std::byte>(compressed ? layers_.num_rles : 0);
        limited[1] = static_cast<std::byte>(compressed ? layers_.num_deltas : 0);
        limited[2] = static_cast<std::byte>(compressed && layers_.bitpack ? 1 : 0);
        limited[3] = static_cast<std::byte>(options_.element_type);
        store<std::uint32_t>(limited.data() + 4, static_cast<std::uint32_t>(input.size()));
        return size;
    }

    void decompress(ByteView input, std::span<std::byte> output) override {
        const ChunkHead head = read_head(input);
        TRICODEC_EXPECT(head.uncompressed_bytes == output.size(), corrupt_data,
                        "the Cascaded chunk holds " + std::to_string(head.uncompressed_bytes) + " bytes, not " +
                            std::to_string(output.size()));
        if (head.layers.none()) {
            if (input.size() - kHead < output.size()) damaged("it is cut off");
            if (!output.empty()) std::memcpy(output.data(), input.data() + kHead, output.size());
            return;
        }
        coders_.with(head.element_bytes, [&](auto& coder) { coder.decompress(input, output, head.layers); });
    }

private:
    ChunkOptions options_;
    Layers layers_;
    Coders coders_;
};

class Cascaded final : public ChunkCodec {
public:
    explicit Cascaded(const ChunkOptions& options) : options_(options) {}

    std::size_t bound(std::size_t size_bytes) const override { return kHead + align_up(size_bytes, 4); }
    std::uint64_t largest_chunk() const noexcept override { return UINT32_MAX; }
    std::unique_ptr<ChunkWorker> make_worker() const override { return std::make_unique<CascadedWorker>(options_); }
    std::uint64_t measure(ByteView stream, std::uint64_t) const override {
        return read_head(stream).uncompressed_bytes;
    }
    std::optional<std::uint64_t> declared_bytes(ByteView chunk) const override {
        return read_head(chunk).uncompressed_bytes;
    }

private:
    ChunkOptions options_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_cascaded(const ChunkOptions& options) {
    return std::make_unique<Cascaded>(options);
}

}  // namespace tricodec::compress
