// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

#include "compress/chunk_codec.h"
#include "compress/cpu/deflate_choice.h"
#include "compress/cpu/deflate_library.h"
#include "compress/cpu/inflate_reader.h"
#include "compress/cpu/isal_memory.h"
#include "tricodec/error.h"

#ifdef TRICODEC_HAVE_DEFLATE
#include <libdeflate.h>
#endif
#ifdef TRICODEC_HAVE_ISAL
// Some versions install these headers without the folder's name in their own includes.
#include <isa-l/igzip_lib.h>
#endif

namespace tricodec::compress {

#ifdef TRICODEC_HAVE_DEFLATE
namespace {

constexpr std::size_t kHeaders = 512;  // a gzip member's frame, and a dynamic block's codes where nothing is gained

/// libdeflate's level of each algorithm_type. 2 and 3 are to beat zlib's level 1 and 4 its level 6 on ratio;
/// libdeflate's 3 and 7 are the lowest that do on text, source, binaries and most numbers, in chunks of 64 KiB
/// (docs/compress.md names the others). GDeflate's lanes add some 200 bytes to a chunk, for which it takes a level
/// more.
constexpr int kLevels[] = {1, 1, 3, 3, 7, 12};
constexpr int kLaneLevels[] = {1, 1, 4, 4, 9, 12};

/// Levels of Note [Three ways], which 2 and 3 take for chunks that they suit. In place of ISA-L, where it is missing,
/// libdeflate's lowest level gives nearly its sizes.
constexpr int kWeighingLevel = 10;
constexpr int kIsalLiteralsLevel = 3;
constexpr int kLiteralsLevel = 1;

[[nodiscard]] constexpr bool beats_zlib_1(int algorithm_type) noexcept {
    return algorithm_type == 2 || algorithm_type == 3;
}

using Compressor = std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)>;
using Decompressor = std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>;

Compressor none() {
    return {nullptr, libdeflate_free_compressor};
}

}  // namespace

std::size_t deflate_bound(std::size_t size_bytes) {
    return libdeflate_gzip_compress_bound(nullptr, size_bytes) + kHeaders;
}

bool deflate_available() noexcept {
    return true;
}

class DeflateCompressor::Impl {
public:
    Impl(int algorithm_type, DeflateUse use) : type_(algorithm_type), use_(use) {}

    std::size_t compress(ByteView input, std::span<std::byte> output) {
        const DeflateWay way = beats_zlib_1(type_) ? choose_deflate_way(input) : DeflateWay::usual;
#ifdef TRICODEC_HAVE_ISAL
        // At the fast strengths ISA-L compresses more than twice as fast as libdeflate does, at a similar ratio.
        const bool fast = type_ <= 1 || way == DeflateWay::literals;
        if (fast && input.size() <= UINT32_MAX / 2) {
            if (const std::size_t size = compress_fast(input, output); size > 0) return size;
        }
#endif
        auto& compressor = compressors_[static_cast<std::size_t>(way)];
        if (!compressor) {
            compressor = Compressor(libdeflate_alloc_compressor(level_of(way)), libdeflate_free_compressor);
            TRICODEC_EXPECT(compressor != nullptr, out_of_memory, "no memory for a Deflate compressor");
        }
        const auto compress_all = use_ == DeflateUse::gzip ? libdeflate_gzip_compress : libdeflate_deflate_compress;
        const std::size_t size =
            compress_all(compressor.get(), input.data(), input.size(), output.data(), output.size());
        TRICODEC_INVARIANT(size > 0);
        return size;
    }

private:
    [[nodiscard]] int level_of(DeflateWay way) const noexcept {
        if (way == DeflateWay::weighing) return kWeighingLevel;
        if (way == DeflateWay::literals) return kLiteralsLevel;
        return (use_ == DeflateUse::lanes ? kLaneLevels : kLevels)[type_];
    }

#ifdef TRICODEC_HAVE_ISAL
    std::size_t compress_fast(ByteView input, std::span<std::byte> output) {
        if (!fast_) fast_ = std::make_unique<IsalMemory>(sizeof(Fast));
        auto& fast = *static_cast<Fast*>(fast_->data());
        isal_zstream& stream = fast.stream;
        isal_deflate_stateless_init(&stream);
        // Note [ISA-L's window]. isal_deflate_stateless_init() of 2.30 leaves this as it is, and a value of 1 to 14
        // makes the window smaller: another stream for the same input. Its match tables it clears itself.
        stream.hist_bits = 0;
        stream.level = static_cast<std::uint32_t>(beats_zlib_1(type_) ? kIsalLiteralsLevel : type_);
        stream.level_buf = fast.level_buffer.data();
        stream.level_buf_size = beats_zlib_1(type_) ? ISAL_DEF_LVL3_DEFAULT : ISAL_DEF_LVL1_DEFAULT;
        stream.gzip_flag = use_ == DeflateUse::gzip ? IGZIP_GZIP : IGZIP_DEFLATE;
        stream.end_of_stream = 1;
        stream.flush = NO_FLUSH;
        stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(input.data()));
        stream.avail_in = static_cast<std::uint32_t>(input.size());
        stream.next_out = reinterpret_cast<std::uint8_t*>(output.data());
        stream.avail_out = static_cast<std::uint32_t>(std::min<std::size_t>(output.size(), UINT32_MAX));
        if (isal_deflate_stateless(&stream) != COMP_OK || stream.avail_in != 0) return 0;
        return stream.total_out;
    }

    /// 420 KiB, made once a worker: clearing them for each chunk took 6% of its time. The stream comes first:
    /// IsalMemory chooses its address.
    struct Fast {
        isal_zstream stream;
        std::array<std::uint8_t, ISAL_DEF_LVL3_DEFAULT> level_buffer;
    };
    static_assert(std::is_trivially_default_constructible_v<Fast>);
    std::unique_ptr<IsalMemory> fast_;
#endif
    int type_;
    DeflateUse use_;
    std::array<Compressor, 3> compressors_{none(), none(), none()};  // by DeflateWay, made when first needed
};

DeflateCompressor::DeflateCompressor(int algorithm_type, DeflateUse use)
    : impl_(std::make_unique<Impl>(algorithm_type, use)) {}
DeflateCompressor::~DeflateCompressor() = default;

std::size_t DeflateCompressor::compress(ByteView input, std::span<std::byte> output) {
    return impl_->compress(input, output);
}

namespace {

class DeflateWorker final : public ChunkWorker {
public:
    DeflateWorker(int algorithm_type, bool gzip)
        : gzip_(gzip), compressor_(algorithm_type, gzip ? DeflateUse::gzip : DeflateUse::raw) {}

    std::size_t compress(ByteView input, std::span<std::byte> output) override {
        return compressor_.compress(input, output);
    }

    void decompress(ByteView input, std::span<std::byte> output) override {
        if (!decompressor_) {
            decompressor_ = Decompressor(libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
            TRICODEC_EXPECT(decompressor_ != nullptr, out_of_memory, "no memory for a Deflate decompressor");
        }
        std::size_t used = 0;
        const auto decode = gzip_ ? libdeflate_gzip_decompress_ex : libdeflate_deflate_decompress_ex;
        const auto result =
            decode(decompressor_.get(), input.data(), input.size(), output.data(), output.size(), &used, nullptr);
        const char* name = gzip_ ? "Gzip" : "Deflate";
        TRICODEC_EXPECT(
            result != LIBDEFLATE_SHORT_OUTPUT && result != LIBDEFLATE_INSUFFICIENT_SPACE, corrupt_data,
            std::string("the ") + name + " stream does not expand to " + std::to_string(output.size()) + " bytes");
        TRICODEC_EXPECT(result == LIBDEFLATE_SUCCESS, corrupt_data,
                        std::string("the ") + name + " stream is damaged, or its checksum is wrong");
        // Encoders may round a stream up with zeros; anything else was not put there by one.
        const bool only_zeros = std::all_of(input.begin() + static_cast<std::ptrdiff_t>(used), input.end(),
                                            [](std::byte b) { return b == std::byte{0}; });
        TRICODEC_EXPECT(
            only_zeros, corrupt_data,
            std::string("there are ") + std::to_string(input.size() - used) + " bytes after the " + name + " stream");
    }

private:
    bool gzip_;
    DeflateCompressor compressor_;
    Decompressor decompressor_{nullptr, libdeflate_free_decompressor};
};

/// Bytes before the DEFLATE stream of a gzip member (RFC 1952, 2.3).
std::size_t gzip_header_bytes(ByteView stream) {
    const auto damaged = [] { fail(ErrorCode::corrupt_data, "the stream is no gzip member"); };
    const auto at = [&](std::size_t i) -> unsigned {
        if (i >= stream.size()) damaged();
        return static_cast<unsigned>(stream[i]);
    };
    if (at(0) != 0x1f || at(1) != 0x8b || at(2) != 8) damaged();
    const unsigned flags = at(3);
    std::size_t position = 10;
    if ((flags & 4u) != 0) position += 2 + (at(position) | at(position + 1) << 8);
    for (const unsigned text : {8u, 16u}) {
        if ((flags & text) == 0) continue;
        while (at(position) != 0) ++position;
        ++position;
    }
    if ((flags & 2u) != 0) position += 2;
    if (position >= stream.size()) damaged();
    return position;
}

class Deflate final : public ChunkCodec {
public:
    explicit Deflate(const ChunkOptions& options)
        : type_(options.algorithm_type), gzip_(options.algorithm == Compression::gzip) {}

    std::size_t bound(std::size_t size_bytes) const override { return deflate_bound(size_bytes); }
    std::uint64_t largest_chunk() const noexcept override { return UINT32_MAX; }
    std::unique_ptr<ChunkWorker> make_worker() const override { return std::make_unique<DeflateWorker>(type_, gzip_); }

    std::uint64_t measure(ByteView stream, std::uint64_t most) const override {
        // Gzip's own size field is the size modulo 2^32, and stands where trailing bytes would hide it: walk instead.
        return measure_deflate(gzip_ ? stream.subspan(gzip_header_bytes(stream)) : stream, most);
    }

private:
    int type_;
    bool gzip_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_deflate(const ChunkOptions& options) {
    return std::make_unique<Deflate>(options);
}

#else  // without libdeflate

class DeflateCompressor::Impl {};
DeflateCompressor::DeflateCompressor(int, DeflateUse) {}
DeflateCompressor::~DeflateCompressor() = default;
std::size_t DeflateCompressor::compress(ByteView, std::span<std::byte>) {
    fail(ErrorCode::unsupported, "this build lacks libdeflate");
}
std::size_t deflate_bound(std::size_t size_bytes) {
    return size_bytes;
}
bool deflate_available() noexcept {
    return false;
}
std::unique_ptr<ChunkCodec> make_deflate(const ChunkOptions&) {
    return nullptr;
}
#endif

}  // namespace tricodec::compress
