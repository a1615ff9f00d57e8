// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>

#include "fuzzing.h"
#include "tricodec/compress/compress.h"

namespace tricodec::fuzzing {

/// Options of a codec of the CPU by five bytes of the input; tests/fuzz/make_corpus.py writes the same ones.
inline CodecOptions codec_options(Choices& choices) {
    constexpr Compression kAlgorithms[] = {Compression::lz4,     Compression::snappy, Compression::gdeflate,
                                           Compression::deflate, Compression::gzip,   Compression::zstd,
                                           Compression::cascaded};
    constexpr ElementType kTypes[] = {ElementType::int8,  ElementType::uint8,  ElementType::int16, ElementType::uint16,
                                      ElementType::int32, ElementType::uint32, ElementType::int64, ElementType::uint64};
    CodecOptions options;
    options.num_threads = 1;
    options.algorithm = kAlgorithms[choices.below(std::size(kAlgorithms))];
    if (options.algorithm == Compression::cascaded) options.element_type = kTypes[choices.below(std::size(kTypes))];
    options.num_rles = static_cast<int>(choices.below(8));
    options.num_deltas = static_cast<int>(choices.below(4));
    options.use_bitpack = choices.flag();
    return options;
}

}  // namespace tricodec::fuzzing
