// SPDX-License-Identifier: Apache-2.0
#include <snappy-c.h>

#include <string>

#include "compress/chunk_codec.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

std::size_t declared_size(ByteView stream) {
    std::size_t size = 0;
    TRICODEC_EXPECT(
        snappy_uncompressed_length(reinterpret_cast<const char*>(stream.data()), stream.size(), &size) == SNAPPY_OK,
        corrupt_data, "the Snappy stream does not start with a length");
    return size;
}

class SnappyWorker final : public ChunkWorker {
public:
    std::size_t compress(ByteView input, std::span<std::byte> output) override {
        std::size_t size = output.size();
        const auto status = snappy_compress(reinterpret_cast<const char*>(input.data()), input.size(),
                                            reinterpret_cast<char*>(output.data()), &size);
        TRICODEC_INVARIANT(status == SNAPPY_OK);
        return size;
    }

    void decompress(ByteView input, std::span<std::byte> output) override {
        // snappy_uncompress() writes the declared size, so that is checked first.
        const std::size_t declared = declared_size(input);
        TRICODEC_EXPECT(
            declared == output.size(), corrupt_data,
            "the Snappy stream declares " + std::to_string(declared) + " bytes, not " + std::to_string(output.size()));
        std::size_t size = output.size();
        const auto status = snappy_uncompress(reinterpret_cast<const char*>(input.data()), input.size(),
                                              reinterpret_cast<char*>(output.data()), &size);
        TRICODEC_EXPECT(status == SNAPPY_OK && size == output.size(), corrupt_data, "the Snappy stream is damaged");
    }
};

class Snappy final : public ChunkCodec {
public:
    std::size_t bound(std::size_t size_bytes) const override { return snappy_max_compressed_length(size_bytes); }
    std::uint64_t largest_chunk() const noexcept override { return UINT32_MAX; }
    std::unique_ptr<ChunkWorker> make_worker() const override { return std::make_unique<SnappyWorker>(); }
    std::optional<std::uint64_t> declared_bytes(ByteView chunk) const override { return declared_size(chunk); }
};

}  // namespace

std::unique_ptr<ChunkCodec> make_snappy(const ChunkOptions&) {
    return std::make_unique<Snappy>();
}

}  // namespace tricodec::compress
