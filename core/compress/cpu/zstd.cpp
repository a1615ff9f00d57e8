// SPDX-License-Identifier: Apache-2.0
#define ZSTD_STATIC_LINKING_ONLY  // for a parameter that may change: see make_compressor()
#include <zstd.h>

#include <string>
#include <vector>

#include "base/bytes.h"
#include "compress/chunk_codec.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

constexpr int kDefaultLevel = 3;
constexpr int kLargestWindowLog = 27;  // the default of zstd: 128 MiB

using Compressor = std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)>;
using Decompressor = std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)>;

/// A compressor of whole frames at `level`.
Compressor make_compressor(int level) {
    Compressor compressor(ZSTD_createCCtx(), ZSTD_freeCCtx);
    TRICODEC_EXPECT(compressor != nullptr, out_of_memory, "no memory for a Zstandard compressor");
    ZSTD_CCtx_setParameter(compressor.get(), ZSTD_c_compressionLevel, level);
#ifdef ZSTD_c_blockSplitterLevel
    // From 1.5.7 on zstd first looks for places to divide its blocks. At these levels that takes up to a fifth of its
    // time and saves at most half a percent of the size. The cheapest search takes little time
    // (docs/start/install.md).
    constexpr int kCheapest = 2;
    if (level <= kDefaultLevel && ZSTD_versionNumber() == ZSTD_VERSION_NUMBER) {
        ZSTD_CCtx_setParameter(compressor.get(), ZSTD_c_blockSplitterLevel, kCheapest);
    }
#endif
    return compressor;
}

/// Throws unless the stream is one frame with data, and nothing after it.
void expect_one_frame(ByteView stream) {
    TRICODEC_EXPECT(stream.size() >= 4 && load<std::uint32_t>(stream.data()) == ZSTD_MAGICNUMBER, corrupt_data,
                    "the chunk is not a Zstandard frame");
    const std::size_t size = ZSTD_findFrameCompressedSize(stream.data(), stream.size());
    TRICODEC_EXPECT(ZSTD_isError(size) == 0, corrupt_data,
                    std::string("the Zstandard frame is damaged: ") + ZSTD_getErrorName(size));
    TRICODEC_EXPECT(size == stream.size(), corrupt_data, "the Zstandard frame ends before the chunk does");
}

class ZstdWorker final : public ChunkWorker {
public:
    explicit ZstdWorker(int level) : level_(level) {}

    std::size_t compress(ByteView input, std::span<std::byte> output) override {
        if (!compressor_) compressor_ = make_compressor(level_);
        const std::size_t size =
            ZSTD_compress2(compressor_.get(), output.data(), output.size(), input.data(), input.size());
        TRICODEC_EXPECT(ZSTD_isError(size) == 0, out_of_memory,
                        std::string("Zstandard compression failed: ") + ZSTD_getErrorName(size));
        return size;
    }

    void decompress(ByteView input, std::span<std::byte> output) override {
        if (!decompressor_) decompressor_.reset(ZSTD_createDCtx());
        TRICODEC_EXPECT(decompressor_ != nullptr, out_of_memory, "no memory for a Zstandard decompressor");
        expect_one_frame(input);
        const std::size_t size =
            ZSTD_decompressDCtx(decompressor_.get(), output.data(), output.size(), input.data(), input.size());
        TRICODEC_EXPECT(ZSTD_isError(size) == 0, corrupt_data,
                        std::string("the Zstandard frame is damaged: ") + ZSTD_getErrorName(size));
        TRICODEC_EXPECT(
            size == output.size(), corrupt_data,
            "the Zstandard frame expands to " + std::to_string(size) + " bytes, not " + std::to_string(output.size()));
    }

private:
    int level_;
    Compressor compressor_{nullptr, ZSTD_freeCCtx};
    Decompressor decompressor_{nullptr, ZSTD_freeDCtx};
};

class Zstd final : public ChunkCodec {
public:
    explicit Zstd(int level) : level_(level) {}

    std::size_t bound(std::size_t size_bytes) const override { return ZSTD_compressBound(size_bytes); }
    std::uint64_t largest_chunk() const noexcept override { return std::uint64_t{1} << 40; }
    std::unique_ptr<ChunkWorker> make_worker() const override { return std::make_unique<ZstdWorker>(level_); }

    std::uint64_t measure(ByteView stream, std::uint64_t most) const override {
        expect_one_frame(stream);
        if (const auto declared = declared_bytes(stream)) return *declared;
        // A frame without a size: decode it and count.
        Decompressor decompressor(ZSTD_createDCtx(), ZSTD_freeDCtx);
        TRICODEC_EXPECT(decompressor != nullptr, out_of_memory, "no memory for a Zstandard decompressor");
        ZSTD_DCtx_setParameter(decompressor.get(), ZSTD_d_windowLogMax, kLargestWindowLog);
        std::vector<std::byte> scratch(ZSTD_DStreamOutSize());
        ZSTD_inBuffer in{stream.data(), stream.size(), 0};
        std::uint64_t total = 0;
        for (std::size_t left = 1; left != 0 && total <= most;) {
            ZSTD_outBuffer out{scratch.data(), scratch.size(), 0};
            const std::size_t before = in.pos;
            left = ZSTD_decompressStream(decompressor.get(), &out, &in);
            TRICODEC_EXPECT(ZSTD_isError(left) == 0, corrupt_data,
                            std::string("the Zstandard frame is damaged: ") + ZSTD_getErrorName(left));
            TRICODEC_EXPECT(left == 0 || out.pos > 0 || in.pos > before, corrupt_data,
                            "the Zstandard frame is cut off");
            total += out.pos;
        }
        return total;
    }

    std::optional<std::uint64_t> declared_bytes(ByteView chunk) const override {
        const auto declared = ZSTD_getFrameContentSize(chunk.data(), chunk.size());
        TRICODEC_EXPECT(declared != ZSTD_CONTENTSIZE_ERROR, corrupt_data, "the chunk is not a Zstandard frame");
        return declared == ZSTD_CONTENTSIZE_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(declared);
    }

private:
    int level_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_zstd(const ChunkOptions& options) {
    return std::make_unique<Zstd>(options.level.value_or(kDefaultLevel));
}

}  // namespace tricodec::compress
