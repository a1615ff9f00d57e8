// SPDX-License-Identifier: Apache-2.0
#include "compress/trailer.h"

#include <cstring>

#include "compress/bytes.h"
#include "compress/crc32c.h"
#include "tricodec/error.h"

namespace tricodec::compress {
namespace {
constexpr char kMagic[] = "TCRC32C\1";
constexpr std::size_t kHead = 16;
}  // namespace

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
    return sums;  // the head's stays at the end, so that a stream of no chunks has checksums too
}

}  // namespace tricodec::compress
