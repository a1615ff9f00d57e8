// SPDX-License-Identifier: Apache-2.0
/// DEFLATE streams by libdeflate and ISA-L.
#pragma once

#include <cstddef>
#include <memory>

#include "tricodec/compress/compress.h"

namespace tricodec::compress {

/// What a DEFLATE stream is for: the stream alone, a gzip member with its frame, or GDeflate's lanes.
enum class DeflateUse { raw, gzip, lanes };

/// Makes DEFLATE streams of one of the six strengths of CodecOptions::algorithm_type. One thread at a time.
class DeflateCompressor {
public:
    DeflateCompressor(int algorithm_type, DeflateUse use);
    ~DeflateCompressor();
    DeflateCompressor(const DeflateCompressor&) = delete;
    DeflateCompressor& operator=(const DeflateCompressor&) = delete;

    /// `output` has deflate_bound() bytes.
    [[nodiscard]] std::size_t compress(ByteView input, MutableBytes output);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

[[nodiscard]] std::size_t deflate_bound(std::size_t size_bytes);

/// Whether matches save next to nothing, judged by an eighth of `input`: Note [Literals alone].
[[nodiscard]] bool literals_suffice(ByteView input);

/// False if this build lacks libdeflate.
[[nodiscard]] bool deflate_available() noexcept;

}  // namespace tricodec::compress
