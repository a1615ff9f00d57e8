// SPDX-License-Identifier: Apache-2.0
/// Cascaded of nvCOMP 2 to 5: run lengths, differences, bit packing. (NVIDIA/nvcomp branch-2.2, BSD-3-Clause.)
///
/// Note [Cascaded]. A chunk of T: u8 run-length layers, u8 delta layers, u8 bit packing, u8 type, u32 bytes; then, from
/// the next multiple of sizeof T, blocks of 4096 uncompressed bytes. If the first three bytes are zero, the bytes
/// follow uncompressed. A block: u32 its size, u32 the size of each layer's run lengths, u32 the size of the values;
/// the first value of each delta layer, aligned to T; the run lengths (u16) of each layer, each from a multiple of 4;
/// the values, aligned to T. Layer i is run lengths while i is less than their number, then differences likewise.
/// Packed, an array is its least value, read as signed; from the next multiple of 4 u32 bits << 16 | count; from the
/// next multiple of its type the values less the least one, `bits` bits each, low bit first, in whole u32s.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "compress/chunk_codec.h"
#include "compress/cpu/cascaded_arrays.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

using cascaded::damaged;
using cascaded::fits;
using cascaded::read_array;
using cascaded::write_array;

constexpr std::size_t kHead = 8;
constexpr std::size_t kBlock = 4096;
constexpr std::size_t kMaxLayers = 7;

struct Layers {
    int num_rles = 0;
    int num_deltas = 0;
    bool bitpack = false;

    [[nodiscard]] int count() const noexcept { return std::max(num_rles, num_deltas); }
    [[nodiscard]] bool none() const noexcept { return num_rles == 0 && num_deltas == 0 && !bitpack; }
};

/// Offsets in the header of a block.
template <class T>
struct BlockHeader {
    explicit BlockHeader(const Layers& layers) {
        const auto rles = static_cast<std::size_t>(layers.num_rles);
        deltas = align_up(4 + 4 * (rles + 1), sizeof(T));
        size = deltas + align_up(sizeof(T) * static_cast<std::size_t>(layers.num_deltas), 4);
    }
    std::size_t deltas;
    std::size_t size;
};

/// Codes chunks of elements of one size. T is unsigned: only the bits matter.
template <class T>
class Coder {
public:
    /// Returns the size, or 0 if the stored chunk is not larger.
    std::size_t compress(ByteView input, MutableBytes output, const Layers& layers) {
        if (layers.none()) return 0;
        const std::size_t total = input.size() / sizeof(T);
        std::size_t at = kHead;
        for (std::size_t done = 0; done < total; done += kCount) {
            const std::size_t count = std::min(kCount, total - done);
            std::memcpy(values_.data(), input.data() + done * sizeof(T), count * sizeof(T));
            const std::size_t size = compress_block(count, output, at, layers);
            if (size == 0) return 0;
            at += size;
        }
        return at;
    }

    void decompress(ByteView input, std::span<std::byte> output, const Layers& layers) {
        const std::size_t total = output.size() / sizeof(T);
        std::size_t at = kHead;
        for (std::size_t done = 0; done < total; done += kCount) {
            const std::size_t count = std::min(kCount, total - done);
            at += decompress_block(input, at, count, layers);
            std::memcpy(output.data() + done * sizeof(T), values_.data(), count * sizeof(T));
        }
    }

private:
    static constexpr std::size_t kCount = kBlock / sizeof(T);

    std::size_t compress_block(std::size_t count, MutableBytes output, std::size_t begin, const Layers& layers) {
        const BlockHeader<T> header(layers);
        if (!fits(output, begin, header.size)) return 0;
        std::byte* head = output.data() + begin;
        std::memset(head, 0, header.size);
        std::size_t at = begin + header.size;
        const auto rles = static_cast<std::size_t>(layers.num_rles);
        const auto deltas = static_cast<std::size_t>(layers.num_deltas);
        for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers.count()); ++layer) {
            if (layer < rles) {
                count = to_runs(count);
                const auto size = write_array<std::uint16_t>(runs_.data(), count, layers.bitpack, output, at);
                if (!size) return 0;
                store<std::uint32_t>(head + 4 * (layer + 1), static_cast<std::uint32_t>(*size));
                at += align_up(*size, 4);
            }
            if (layer < deltas) {
                // No encoder or decoder takes differences of no values: the chunk is stored.
                if (count == 0) return 0;
                store<T>(head + header.deltas + sizeof(T) * layer, values_[0]);
                for (std::size_t i = 0; i + 1 < count; ++i) values_[i] = static_cast<T>(values_[i + 1] - values_[i]);
                --count;
            }
        }
        const std::size_t aligned = align_up(at, std::max<std::size_t>(4, sizeof(T)));
        if (!fits(output, at, aligned - at)) return 0;
        std::memset(output.data() + at, 0, aligned - at);
        at = aligned;
        const auto written = write_array<T>(values_.data(), count, layers.bitpack, output, at);
        if (!written) return 0;
        const std::size_t size = *written;
        const std::size_t end = align_up(at + align_up(size, 4), sizeof(T));
        if (!fits(output, at, end - at)) return 0;
        std::memset(output.data() + at + align_up(size, 4), 0, end - at - align_up(size, 4));
        store<std::uint32_t>(head, static_cast<std::uint32_t>(end - begin));
        store<std::uint32_t>(head + 4 * (rles + 1), static_cast<std::uint32_t>(size));
        return end - begin;
    }

    /// Equal neighbours become one value and its count.
    std::size_t to_runs(std::size_t count) {
        std::size_t num_runs = 0;
        for (std::size_t i = 0; i < count;) {
            std::size_t end = i + 1;
            while (end < count && values_[end] == values_[i]) ++end;
            runs_[num_runs] = static_cast<std::uint16_t>(end - i);
            values_[num_runs++] = values_[i];
            i = end;
        }
        return num_runs;
    }

    /// Puts `expected` values into values_. Returns the size of the block.
    std::size_t decompress_block(ByteView input, std::size_t begin, std::size_t expected, const Layers& layers) {
        const BlockHeader<T> header(layers);
        if (begin > input.size() || input.size() - begin < header.size) damaged("a block is cut off");
        const std::byte* head = input.data() + begin;
        const std::size_t block = load<std::uint32_t>(head);
        if (block < header.size || block > input.size() - begin || block % 4 != 0) damaged("a block's size");
        const ByteView bytes = input.subspan(begin, block);
        std::array<ByteView, kMaxLayers> runs;
        std::size_t at = header.size;
        const auto take = [&](std::size_t index) {
            const std::size_t size = load<std::uint32_t>(head + 4 * (index + 1));
            if (at > block || size > block - at) damaged("an array lies outside its block");
            const ByteView array = bytes.subspan(at, size);
            at = align_up(at + size, 4);
            return array;
        };
        // The number of runs gives the number of values of each layer. NVIDIA's encoder also takes differences of no
        // values and then writes noise: below one value nothing more is read.
        auto left = static_cast<std::ptrdiff_t>(expected);
        for (int i = 0; i < layers.count(); ++i) {
            const auto layer = static_cast<std::size_t>(i);
            if (i < layers.num_rles && left > 0) {
                runs[layer] = take(layer);
                left = static_cast<std::ptrdiff_t>(
                    read_array<std::uint16_t>(runs[layer], layers.bitpack, runs_.data(), kCount));
            }
            if (i < layers.num_deltas) --left;
        }
        if (left > 0) {
            at = align_up(at, std::max<std::size_t>(4, sizeof(T)));
            const auto rles = static_cast<std::size_t>(layers.num_rles);
            if (read_array<T>(take(rles), layers.bitpack, values_.data(), kCount) != static_cast<std::size_t>(left)) {
                damaged("there are not as many values as the layers leave");
            }
        }
        for (int i = layers.count() - 1; i >= 0; --i) {
            const auto layer = static_cast<std::size_t>(i);
            if (i < layers.num_deltas) {
                ++left;
                if (left > 0) from_differences(load<T>(head + header.deltas + sizeof(T) * layer), left);
            }
            if (i < layers.num_rles && left > 0) {
                if (read_array<std::uint16_t>(runs[layer], layers.bitpack, runs_.data(), kCount) !=
                    static_cast<std::size_t>(left)) {
                    damaged("there are not as many runs as values");
                }
                left = static_cast<std::ptrdiff_t>(from_runs(static_cast<std::size_t>(left)));
            }
        }
        if (left != static_cast<std::ptrdiff_t>(expected)) damaged("a block does not have as many values as it should");
        return align_up(block, sizeof(T));
    }

    /// Makes `count` values of the first one and count - 1 differences.
    void from_differences(T first, std::ptrdiff_t count) {
        if (count > static_cast<std::ptrdiff_t>(kCount)) damaged("an array has more values than its block");
        T value = first;
        for (std::ptrdiff_t i = 0; i + 1 < count; ++i) {
            const auto place = static_cast<std::size_t>(i);
            const T next = static_cast<T>(value + values_[place]);
            values_[place] = value;
            value = next;
        }
        values_[static_cast<std::size_t>(count - 1)] = value;
    }

    std::size_t from_runs(std::size_t num_runs) {
        std::size_t total = 0;
        for (std::size_t i = 0; i < num_runs; ++i) {
            if (runs_[i] > kCount - total) damaged("runs are longer than their block");
            std::fill_n(other_.begin() + static_cast<std::ptrdiff_t>(total), runs_[i], values_[i]);
            total += runs_[i];
        }
        std::swap(values_, other_);
        return total;
    }

    std::vector<T> values_ = std::vector<T>(kCount);
    std::vector<T> other_ = std::vector<T>(kCount);
    std::vector<std::uint16_t> runs_ = std::vector<std::uint16_t>(kCount);
};

/// Calls function(Coder<T>&) for elements of `size` bytes.
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
        // The size of a stored chunk is the limit.
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
