// SPDX-License-Identifier: Apache-2.0
/// DEFLATE streams by libdeflate.
#pragma once

#include <libdeflate.h>

#include <cstddef>
#include <memory>

#include "tricodec/base/error.h"
#include "tricodec/compress/compress.h"

namespace tricodec::compress {

/// What a DEFLATE stream is for: the stream alone, a gzip member with its frame, or GDeflate's lanes.
enum class DeflateUse { raw, gzip, lanes };

[[nodiscard]] inline std::size_t deflate_bound(std::size_t size_bytes) {
    constexpr std::size_t kHeaders = 512;  // the frame of a gzip member, and the codes of a dynamic block without gain
    return libdeflate_gzip_compress_bound(nullptr, size_bytes) + kHeaders;
}

/// Makes DEFLATE streams of one of the six strengths of CodecOptions::algorithm_type. One thread at a time.
class DeflateCompressor {
public:
    DeflateCompressor(int algorithm_type, DeflateUse use) : type_(algorithm_type), use_(use) {}

    /// `output` has deflate_bound() bytes.
    [[nodiscard]] std::size_t compress(ByteView input, MutableBytes output) {
        if (!compressor_) {
            compressor_.reset(libdeflate_alloc_compressor((use_ == DeflateUse::lanes ? kLaneLevels : kLevels)[type_]));
            TRICODEC_EXPECT(compressor_ != nullptr, out_of_memory, "no memory for a Deflate compressor");
        }
        const auto compress_all = use_ == DeflateUse::gzip ? libdeflate_gzip_compress : libdeflate_deflate_compress;
        const std::size_t size =
            compress_all(compressor_.get(), input.data(), input.size(), output.data(), output.size());
        TRICODEC_INVARIANT(size > 0);
        return size;
    }

private:
    /// libdeflate's level of each algorithm_type: the lowest that beats zlib's level 1 (2 and 3) and 6 (4) on text,
    /// source, binaries and most numbers, in chunks of 64 KiB. GDeflate's lanes add some 200 bytes to a chunk, so they
    /// need a higher level.
    static constexpr int kLevels[] = {1, 1, 3, 3, 7, 12};
    static constexpr int kLaneLevels[] = {1, 1, 4, 4, 9, 12};

    int type_;
    DeflateUse use_;
    std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor_{
        nullptr, libdeflate_free_compressor};  // made when first needed
};

}  // namespace tricodec::compress
