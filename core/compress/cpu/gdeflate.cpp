// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "compress/bytes.h"
#include "compress/chunk_codec.h"
#include "compress/cpu/deflate_library.h"
#include "compress/cpu/gdeflate_reader.h"
#include "compress/cpu/gdeflate_writer.h"
#include "compress/cpu/inflate_reader.h"
#include "tricodec/error.h"

namespace tricodec::compress {
namespace {

class GdeflateWorker final : public ChunkWorker {
public:
    explicit GdeflateWorker(int algorithm_type) : compressor_(algorithm_type, DeflateUse::lanes) {}

    std::size_t compress(ByteView input, std::span<std::byte> output) override {
        scratch_.resize(deflate_bound(input.size()));
        const std::size_t size = compressor_.compress(input, scratch_);
        Dealer dealer(output);
        InflateVisitor<Dealer>(ByteView(scratch_).first(size), dealer).run();
        return dealer.finish();
    }

    void decompress(ByteView input, std::span<std::byte> output) override {
        std::byte none{};
        GdeflateDecoder decoder(input, output.empty() ? &none : output.data(), output.size());
        const std::uint64_t size = decoder.run();
        TRICODEC_EXPECT(
            size == output.size(), corrupt_data,
            "the GDeflate stream expands to " + std::to_string(size) + " bytes, not " + std::to_string(output.size()));
    }

private:
    DeflateCompressor compressor_;
    std::vector<std::byte> scratch_;
};

class Gdeflate final : public ChunkCodec {
public:
    explicit Gdeflate(int algorithm_type) : type_(algorithm_type) {}

    /// More than DEFLATE's: 16 bits for each length of 258, and what the lanes' windows hold at the end.
    std::size_t bound(std::size_t size_bytes) const override {
        return align_up(deflate_bound(size_bytes) + size_bytes / 64, 4) + 16 * kLanes;
    }
    std::uint64_t largest_chunk() const noexcept override { return std::uint64_t{1} << 31; }
    std::unique_ptr<ChunkWorker> make_worker() const override { return std::make_unique<GdeflateWorker>(type_); }
    std::uint64_t measure(ByteView stream, std::uint64_t most) const override {
        return GdeflateDecoder(stream, nullptr, most).run();
    }

private:
    int type_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_gdeflate(const ChunkOptions& options) {
    if (!deflate_available()) return nullptr;
    return std::make_unique<Gdeflate>(options.algorithm_type);
}

}  // namespace tricodec::compress
