// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <utility>

#include "tricodec/compress.h"
#include "tricodec/error.h"

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

bool same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Where a word stands in a list.
std::size_t find_word(std::string_view name, std::span<const std::string_view> words, const char* argument) {
    std::string known;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (same_word(name, words[i])) return i;
        known += (i == 0 ? "" : ", ") + std::string(words[i]);
    }
    fail(ErrorCode::invalid_argument,
         std::string(argument) + " \"" + std::string(name) + "\" is not accepted; use one of " + known);
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
    std::string known;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (same_word(name, kNames[i])) return static_cast<Compression>(i);
        known += (i == 0 ? "" : ", ") + std::string(kNames[i]);
    }
    fail(ErrorCode::invalid_argument,
         "Unknown algorithm: \"" + std::string(name) + "\". It must be one of " + known + ", in any case.");
}

std::size_t size_of(ElementType type) noexcept {
    switch (type) {
        case ElementType::int16:
        case ElementType::uint16:
        case ElementType::float16:
            return 2;
        case ElementType::int32:
        case ElementType::uint32:
            return 4;
        case ElementType::int64:
        case ElementType::uint64:
            return 8;
        default:
            return 1;
    }
}

std::string_view to_typestr(ElementType type) noexcept {
    for (const auto& [known, text] : kTypes) {
        if (known == type) return text;
    }
    return "|u1";
}

ElementType parse_element_type(std::string_view typestr) {
    std::string known;
    // "u1" and "=i4" mean what "|u1" and "<i4" do: one byte has no order, and this is a little-endian library.
    std::string_view plain = typestr;
    if (!plain.empty() && std::string_view("<|=").find(plain[0]) != std::string_view::npos) plain.remove_prefix(1);
    for (const auto& [type, text] : kTypes) {
        if (plain == text.substr(1)) return type;
        known += (known.empty() ? "" : ", ") + std::string(text);
    }
    fail(ErrorCode::invalid_argument,
         "data_type \"" + std::string(typestr) + "\" is not accepted; use one of " + known);
}

}  // namespace tricodec
