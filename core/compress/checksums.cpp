// SPDX-License-Identifier: Apache-2.0
#include "compress/checksums.h"

#include <array>
#include <cstring>

#include "base/bytes.h"
#include "tricodec/base/error.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace tricodec::compress {
namespace {

constexpr char kMagic[] = "TCRC32C\1";
constexpr std::size_t kHead = 16;                  // of the trailer
constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, reflected

/// tables[k][b]: the effect of byte b on the register k bytes later.
constexpr auto kTables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1u) != 0 ? kPolynomial : 0u);
        tables[0][byte] = value;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t value = tables[k - 1][byte];
            tables[k][byte] = value >> 8 ^ tables[0][value & 0xffu];
        }
    }
    return tables;
}();

std::uint32_t by_table(const std::byte* p, std::size_t size, std::uint32_t crc) noexcept {
    for (; size >= 8; p += 8, size -= 8) {
        const std::uint64_t word = load<std::uint64_t>(p) ^ crc;
        crc = 0;
        for (unsigned i = 0; i < 8; ++i) crc ^= kTables[7 - i][word >> (8 * i) & 0xffu];
    }
    for (; size > 0; ++p, --size) crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<std::uint32_t>(*p)) & 0xffu];
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(const std::byte* p, std::size_t size,
                                                               std::uint32_t crc) noexcept {
    std::uint64_t value = crc;
    for (; size >= 8; p += 8, size -= 8) value = _mm_crc32_u64(value, load<std::uint64_t>(p));
    auto narrow = static_cast<std::uint32_t>(value);
    for (; size > 0; ++p, --size) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*p));
    return narrow;
}
#endif

}  // namespace

std::uint32_t crc32c(ByteView bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
    static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
    if (has_instruction) return ~by_instruction(bytes.data(), bytes.size(), ~before);
#endif
    return ~by_table(bytes.data(), bytes.size(), ~before);
}

std::uint64_t trailer_bytes(std::uint64_t num_chunks) noexcept {
    return kHead + 4 * num_chunks + 4;
}

void write_trailer(std::byte* to, ByteView head, std::span<const std::uint32_t> chunk_sums) {
    std::memcpy(to, kMagic, 8);
    store<std::uint64_t>(to + 8, chunk_sums.size());
    if (!chunk_sums.empty()) std::memcpy(to + kHead, chunk_sums.data(), 4 * chunk_sums.size());
    store<std::uint32_t>(to + kHead + 4 * chunk_sums.size(), crc32c(head));
}

std::vector<std::uint32_t> read_trailer(ByteView rest, ByteView head, std::uint64_t num_chunks) {
    if (rest.size() < kHead || std::memcmp(rest.data(), kMagic, 8) != 0) return {};
    TRICODEC_EXPECT(load<std::uint64_t>(rest.data() + 8) == num_chunks && rest.size() >= trailer_bytes(num_chunks),
                    corrupt_data, "Checksum doesn't match. The checksums' own table is damaged. : code=13.");
    std::vector<std::uint32_t> sums(num_chunks + 1);
    std::memcpy(sums.data(), rest.data() + kHead, 4 * sums.size());
    TRICODEC_EXPECT(sums.back() == crc32c(head), corrupt_data,
                    "Checksum doesn't match. The header or the chunk table is damaged. : code=13.");
    return sums;  // with that of the head: a stream without chunks has checksums too
}

}  // namespace tricodec::compress
