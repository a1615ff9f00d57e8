// SPDX-License-Identifier: Apache-2.0
/// The names of options, and which values each algorithm accepts.
#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/suggestion.h"
#include "compress/chunk_codec.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "tricodec/compress/compress.h"

namespace tricodec {
namespace {

constexpr std::array<std::string_view, kNumCompressions> kNames = {
    "LZ4", "Snappy", "ANS", "GDeflate", "Cascaded", "Bitcomp", "Zstd", "Deflate", "Gzip"};

constexpr std::pair<ElementType, std::string_view> kTypes[] = {
    {ElementType::int8, "|i1"},        {ElementType::uint8, "|u1"},  {ElementType::int16, "<i2"},
    {ElementType::uint16, "<u2"},      {ElementType::int32, "<i4"},  {ElementType::uint32, "<u4"},
    {ElementType::int64, "<i8"},       {ElementType::uint64, "<u8"}, {ElementType::float16, "<f2"},
    {ElementType::float8_e4m3, "|f1"}, {ElementType::bits, "|b1"},
};

// As nvCOMP's Python interface spells them, in the order of the enumerators.
constexpr std::array<std::string_view, 3> kBitstreamKinds = {"NVCOMP_NATIVE", "RAW", "WITH_UNCOMPRESSED_SIZE"};
constexpr std::array<std::string_view, 5> kChecksumPolicies = {"NO_COMPUTE_NO_VERIFY", "COMPUTE_AND_NO_VERIFY",
                                                               "NO_COMPUTE_AND_VERIFY_IF_PRESENT",
                                                               "COMPUTE_AND_VERIFY_IF_PRESENT", "COMPUTE_AND_VERIFY"};
constexpr std::array<std::string_view, 3> kBitShuffles = {"NVCOMP_BITSHUFFLE_NONE", "NVCOMP_BITSHUFFLE_MSB_FIRST",
                                                          "NVCOMP_BITSHUFFLE_LSB_FIRST"};

/// The index of a word in a list.
std::size_t find_word(std::string_view name, std::span<const std::string_view> words, const char* argument) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (same_word(name, words[i])) return i;
    }
    const std::string known = listed(words);
    fail(ErrorCode::invalid_argument, std::string(argument) + " \"" + std::string(name) +
                                          "\" is not accepted; use one of " + known + did_you_mean(name, known));
}

}  // namespace

BitstreamKind parse_bitstream_kind(std::string_view name) {
    return static_cast<BitstreamKind>(find_word(name, kBitstreamKinds, "bitstream_kind"));
}

ChecksumPolicy parse_checksum_policy(std::string_view name) {
    return static_cast<ChecksumPolicy>(find_word(name, kChecksumPolicies, "checksum_policy"));
}

BitShuffle parse_bit_shuffle(std::string_view name) {
    return static_cast<BitShuffle>(find_word(name, kBitShuffles, "bitshuffle_mode"));
}

std::string_view to_string(Compression algorithm) noexcept {
    const auto index = static_cast<std::size_t>(algorithm);
    return index < kNames.size() ? kNames[index] : "unknown";
}

Compression parse_compression(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (same_word(name, kNames[i])) return static_cast<Compression>(i);
    }
    const std::string known = listed(kNames);
    fail(ErrorCode::invalid_argument, "Unknown algorithm: \"" + std::string(name) + "\". It must be one of " + known +
                                          ", in any case" +
                                          (did_you_mean(name, known).empty() ? "." : did_you_mean(name, known)));
}

std::size_t size_of(ElementType type) noexcept {
    return static_cast<std::size_t>(to_typestr(type)[2] - '0');  // as numpy says it
}

std::string_view to_typestr(ElementType type) noexcept {
    for (const auto& [known, text] : kTypes) {
        if (known == type) return text;
    }
    return "|u1";
}

ElementType parse_element_type(std::string_view typestr) {
    // "u1" and "=i4" mean "|u1" and "<i4": one byte has no order, and this is a little-endian library.
    std::string_view plain = typestr;
    if (!plain.empty() && std::string_view("<|=").find(plain[0]) != std::string_view::npos) plain.remove_prefix(1);
    for (const auto& [type, text] : kTypes) {
        if (plain == text.substr(1)) return type;
    }
    fail(ErrorCode::invalid_argument, "data_type \"" + std::string(typestr) + "\" is not accepted; use one of " +
                                          listed(kTypes, [](const auto& type) { return type.second; }));
}

namespace compress {
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

}  // namespace compress
}  // namespace tricodec
