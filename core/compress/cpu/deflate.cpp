// SPDX-License-Identifier: Apache-2.0
/// Deflate and Gzip.
#include <libdeflate.h>

#include <algorithm>
#include <string>

#include "compress/chunk_codec.h"
#include "compress/cpu/deflate_compressor.h"
#include "compress/cpu/inflate.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

using Decompressor = std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>;

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
        // Encoders may round the size of a stream up with zeros; other bytes are damage.
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
    const auto damaged = [] { fail(ErrorCode::corrupt_data, "the stream is not a gzip member"); };
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
        // The size field of Gzip is modulo 2^32, and trailing bytes would hide it.
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

}  // namespace tricodec::compress
