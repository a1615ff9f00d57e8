// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "compress/chunk_codec.h"
#include "tricodec/error.h"

namespace tricodec::compress {
namespace {

constexpr std::uint64_t kLargestChunk = std::uint64_t{1} << 32;

void expect_within(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
    TRICODEC_EXPECT(value >= least && value <= most, invalid_argument,
                    std::string(name) + " is " + std::to_string(value) + "; it must be " + std::to_string(least) +
                        " to " + std::to_string(most));
}

void expect_type(bool accepted, ElementType type, const char* algorithm, const char* types) {
    TRICODEC_EXPECT(accepted, invalid_argument,
                    "Illegal data type for " + std::string(algorithm) + " algorithm specified: data_type is \"" +
                        std::string(to_typestr(type)) + "\"; it must be one of " + types);
}

}  // namespace

ChunkOptions resolve_options(const CodecOptions& options, Compression algorithm) {
    ChunkOptions result;
    result.algorithm = algorithm;
    result.trusted = options.trusted;
    result.element_type = options.element_type.value_or(algorithm == Compression::cascaded ? ElementType::int32
                                                        : algorithm == Compression::lz4    ? ElementType::int8
                                                                                           : ElementType::uint8);
    const ElementType type = result.element_type;
    const auto number = static_cast<unsigned>(type);
    switch (algorithm) {
        case Compression::lz4:
            expect_type(number <= 5 || type == ElementType::bits, type, "LZ4", "|i1, |u1, <i2, <u2, <i4, <u4, |b1");
            if (options.level) expect_within("level", *options.level, 0, 12);
            result.level = options.level;
            TRICODEC_EXPECT(type != ElementType::bits || options.bit_shuffle == BitShuffle::none, invalid_argument,
                            "bitshuffle_mode needs elements of whole bytes; data_type is \"|b1\"");
            result.bit_shuffle = options.bit_shuffle;
            break;
        case Compression::zstd:
            if (options.level) expect_within("level", *options.level, -7, 22);
            result.level = options.level;
            break;
        case Compression::deflate:
        case Compression::gdeflate:
        case Compression::gzip:
            result.algorithm_type = options.algorithm_type.value_or(1);
            TRICODEC_EXPECT(result.algorithm_type >= 0 && result.algorithm_type <= 5, invalid_argument,
                            "Unknown algorithm type: algorithm_type is " + std::to_string(result.algorithm_type) +
                                "; it must be 0 (fastest) to 5 (smallest)");
            break;
        case Compression::bitcomp:
            result.algorithm_type = options.algorithm_type.value_or(0);
            TRICODEC_EXPECT(result.algorithm_type == 0 || result.algorithm_type == 1, invalid_argument,
                            "Unknown algorithm type: algorithm_type is " + std::to_string(result.algorithm_type) +
                                "; Bitcomp's are 0 (default) and 1 (sparse)");
            break;
        case Compression::cascaded:
            expect_type(number <= 7, type, "Cascaded", "|i1, |u1, <i2, <u2, <i4, <u4, <i8, <u8");
            expect_within("num_rles", options.num_rles, 0, 7);
            expect_within("num_deltas", options.num_deltas, 0, 3);
            result.num_rles = options.num_rles;
            result.num_deltas = options.num_deltas;
            result.use_bitpack = options.use_bitpack;
            break;
        case Compression::ans:
            expect_type(number <= 1 || number == 9 || number == 10, type, "ANS", "|i1, |u1, <f2, |f1");
            break;
        case Compression::snappy:
            break;
    }
    TRICODEC_EXPECT(options.chunk_bytes > 0 && options.chunk_bytes <= kLargestChunk, invalid_argument,
                    "uncomp_chunk_size is " + std::to_string(options.chunk_bytes) + "; it must be 1 to 2^32");
    const bool typed =
        algorithm == Compression::cascaded || algorithm == Compression::bitcomp || algorithm == Compression::ans;
    TRICODEC_EXPECT(!typed || options.bitstream != BitstreamKind::native || options.chunk_bytes % size_of(type) == 0,
                    invalid_argument,
                    "uncomp_chunk_size is " + std::to_string(options.chunk_bytes) + "; with data_type \"" +
                        std::string(to_typestr(type)) + "\" it must be a multiple of " + std::to_string(size_of(type)));
    return result;
}

std::unique_ptr<ChunkCodec> make_chunk_codec(const ChunkOptions& options) {
    std::unique_ptr<ChunkCodec> codec;
    switch (options.algorithm) {
        case Compression::lz4:
            codec = make_lz4(options);
            break;
        case Compression::snappy:
            codec = make_snappy(options);
            break;
        case Compression::zstd:
            codec = make_zstd(options);
            break;
        case Compression::deflate:
        case Compression::gzip:
            codec = make_deflate(options);
            break;
        case Compression::gdeflate:
            codec = make_gdeflate(options);
            break;
        case Compression::cascaded:
            codec = make_cascaded(options);
            break;
        case Compression::bitcomp:
            codec = make_bitcomp(options);
            break;
        case Compression::ans:
            break;
    }
    TRICODEC_EXPECT(codec != nullptr, unsupported, compression_unavailable_reason(options.algorithm));
    return codec;
}

}  // namespace tricodec::compress
