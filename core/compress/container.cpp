// SPDX-License-Identifier: Apache-2.0
#include "compress/container.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/bytes.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

constexpr std::uint32_t kMagic5 = 0x52911326;
constexpr std::uint32_t kMagic6 = 0x52911327;
constexpr std::uint64_t kHeader5 = 64;
constexpr std::uint64_t kHeader6 = 56;
constexpr std::uint64_t kLargestChunk = std::uint64_t{1} << 32;
constexpr std::uint64_t kCascadedBlock = 4096;
constexpr char kTrailerMagic[] = "TCRC32\0\1";
constexpr std::size_t kTrailerHead = 16;
constexpr unsigned kShuffleBit = 30;  // where bitshuffle_mode starts in the word with LZ4's data type

[[noreturn]] void damaged(const std::string& what) {
    fail(ErrorCode::corrupt_data, "this is not a valid nvCOMP stream: " + what);
}

/// `must` is a text, or a function that makes one for an error only: a batch has a thousand headers.
void expect(bool condition, const char* field, std::uint64_t value, const auto& must) {
    if (condition) return;
    const std::string start = std::string(field) + " is " + std::to_string(value) + "; ";
    if constexpr (std::is_invocable_v<decltype(must)>) {
        damaged(start + must());
    } else {
        damaged(start + must);
    }
}

/// What the container and the format of an algorithm fix.
struct Format {
    std::uint64_t spec_bytes_5 = 0;  ///< of the options in a container of version 5
    std::uint64_t spec_bytes_6 = 0;
    std::uint64_t most = 0;  ///< uncompressed bytes for one compressed byte; 0 if that is not known
};

/// In the order of Compression.
constexpr std::array<Format, kNumCompressions> kFormats = {{
    {4, 12, 255},    // LZ4
    {1, 4, 64},      // Snappy
    {1, 16, 0},      // ANS
    {4, 8, 29129},   // GDeflate: 18 bits for a length of 65538 and its distance
    {24, 40, 2048},  // Cascaded: a block's header has 8 bytes or more, and the largest that nvCOMP takes is 16 KiB
    {8, 24, 1024},   // Bitcomp: the index has 8 bytes for each 8192
    {1, 4, 32768},   // Zstd: four bytes for a block of 128 KiB
    {4, 8, 1032},    // Deflate: two bits for a length of 258 and its distance
    {1, 8, 1032},    // Gzip
}};

const Format& format_of(Compression algorithm) noexcept {
    return kFormats[static_cast<std::size_t>(algorithm)];
}

std::uint64_t table_start(Compression algorithm, int version) noexcept {
    const Format& format = format_of(algorithm);
    return align_up(version == 5 ? kHeader5 + format.spec_bytes_5 : kHeader6 + format.spec_bytes_6, 8);
}

ElementType element_type(std::uint32_t number, int version) {
    const bool six = version == 6;
    expect(number <= 7 || number == 9 || number == 10 || number == 255 || (six && (number == 11 || number == 12)),
           "the data type", number, six ? "it must be 0 to 7, 9 to 12 or 255" : "it must be 0 to 7, 9, 10 or 255");
    if (six && number == 9) return ElementType::float8_e4m3;
    if (six && number == 10) return ElementType::float16;
    if (number == 11) return ElementType::uint32;  // floats of 4 and 8 bytes, as Bitcomp sees them
    if (number == 12) return ElementType::uint64;
    return static_cast<ElementType>(number);
}

int bounded(std::int32_t value, int most, const char* field) {
    if (value < 0 || value > most) {
        damaged(std::string(field) + " is " + std::to_string(value) + "; it must be 0 to " + std::to_string(most));
    }
    return value;
}

/// Reads the options of the algorithm (Note [Container layout]).
ChunkOptions read_spec(Compression algorithm, int version, const std::byte* spec) {
    ChunkOptions options;
    options.algorithm = algorithm;
    switch (algorithm) {
        case Compression::lz4: {
            const auto word = load<std::uint32_t>(spec);
            const std::uint32_t mode = version == 5 ? word >> kShuffleBit : load<std::uint32_t>(spec + 4);
            const std::uint32_t type = version == 5 ? word - (mode << kShuffleBit) : word;
            expect(mode <= 2, "bitshuffle_mode", mode, "it must be 0 to 2");
            expect(mode == 0 || type <= 5, "the data type", type, "with bitshuffle_mode it must be 0 to 5");
            options.bit_shuffle = static_cast<BitShuffle>(mode);
            options.element_type = element_type(type, version);
            break;
        }
        case Compression::deflate:
        case Compression::gdeflate:
            options.algorithm_type = bounded(load<std::int32_t>(spec), 5, "algorithm_type");
            break;
        case Compression::gzip:
            options.algorithm_type = version == 5 ? bounded(static_cast<int>(spec[0]), 5, "algorithm_type")
                                                  : bounded(load<std::int32_t>(spec), 5, "algorithm_type");
            break;
        case Compression::bitcomp:
            options.algorithm_type = bounded(load<std::int32_t>(spec), 1, "Bitcomp's algorithm_type");
            options.element_type = element_type(load<std::uint32_t>(spec + 4), version);
            break;
        case Compression::cascaded: {
            options.release = version;
            const std::uint32_t type = load<std::uint32_t>(spec + (version == 5 ? 8 : 0));
            expect(type <= 7, "Cascaded's data type", type, "it must be 0 to 7");
            options.element_type = static_cast<ElementType>(type);
            if (version != 5) break;
            options.num_rles = bounded(load<std::int32_t>(spec + 12), 7, "num_rles");
            options.num_deltas = bounded(load<std::int32_t>(spec + 16), 3, "num_deltas");
            options.use_bitpack = load<std::int32_t>(spec + 20) != 0;
            break;
        }
        case Compression::ans: {
            options.release = version;
            if (version != 5) {
                options.element_type = element_type(load<std::uint32_t>(spec + 4), version);
                break;
            }
            const auto mode = static_cast<unsigned>(spec[0]) >> 3 & 3u;
            options.element_type = mode == 0   ? ElementType::uint8
                                   : mode == 1 ? ElementType::float16
                                               : ElementType::float8_e4m3;
            break;
        }
        case Compression::snappy:
        case Compression::zstd:
            break;
    }
    return options;
}

}  // namespace

Container read_header(ByteView start, std::uint64_t total_bytes) {
    const std::byte* p = start.data();
    expect(start.size() >= kHeader6, "its length", total_bytes, "a header alone is 56 bytes or more");
    const auto magic = load<std::uint32_t>(p);
    if (magic != kMagic5 && magic != kMagic6) {
        char text[16];
        std::snprintf(text, sizeof text, "0x%08" PRIx32, magic);
        damaged(std::string("it starts with ") + text + "; 0x52911326 or 0x52911327 is expected");
    }
    Container c;
    c.version = magic == kMagic5 ? 5 : 6;
    const bool five = c.version == 5;
    const std::uint64_t header = five ? kHeader5 : kHeader6;
    expect(start.size() >= header, "its length", total_bytes, "the header is 64 bytes");
    expect(static_cast<int>(p[4]) == c.version, "the version", static_cast<unsigned>(p[4]),
           five ? "the start says 5" : "the start says 6");
    const auto number = static_cast<unsigned>(p[6]);
    expect(number < kNumCompressions, "the algorithm", number, "0 to 8 are known");
    const auto algorithm = static_cast<Compression>(number);
    c.data_bytes = load<std::uint64_t>(p + 8);
    c.uncompressed_bytes = load<std::uint64_t>(p + 16);
    c.num_chunks = load<std::uint64_t>(p + 24);
    c.chunk_bytes = load<std::uint64_t>(p + (five ? 48 : 32));
    c.data_offset = load<std::uint32_t>(p + (five ? 56 : 40));
    const std::byte* flags = p + (five ? 44 : 53);
    c.has_foreign_checksums = flags[0] != std::byte{0} || flags[1] != std::byte{0};
    expect(p[five ? 32 : 52] != std::byte{0}, "the flag of the chunk table", 0, "streams without a table are not read");

    c.table_offset = table_start(algorithm, c.version);
    expect(start.size() >= std::min(total_bytes, c.table_offset) && total_bytes >= c.table_offset, "its length",
           total_bytes, [&] { return "header and options are " + std::to_string(c.table_offset) + " bytes"; });
    c.options = read_spec(algorithm, c.version, p + header);
    expect(c.chunk_bytes > 0 && c.chunk_bytes <= kLargestChunk, "the chunk size", c.chunk_bytes,
           "it must be 1 to 2^32");
    const std::uint64_t wanted = ceil_div(c.uncompressed_bytes, c.chunk_bytes);
    expect(c.num_chunks == wanted, "the number of chunks", c.num_chunks, [&] {
        return std::to_string(c.uncompressed_bytes) + " bytes in chunks of " + std::to_string(c.chunk_bytes) + " are " +
               std::to_string(wanted);
    });
    expect(c.num_chunks <= (total_bytes - c.table_offset) / 16, "the number of chunks", c.num_chunks,
           [&] { return "the stream of " + std::to_string(total_bytes) + " bytes has no room for their table"; });
    expect(c.data_offset >= c.table_offset + 16 * c.num_chunks && c.data_offset <= total_bytes, "the chunks' offset",
           c.data_offset, "the table ends later, or the stream ends before");
    // Else a stream with zeros in place of its counts would be a valid empty array.
    expect(c.num_chunks > 0 || (c.data_bytes == 0 && c.data_offset < c.table_offset + 16), "the chunks' offset",
           c.data_offset, "there are no chunks, but room for a table or their bytes");
    expect(c.data_bytes <= total_bytes - c.data_offset, "the chunks' size", c.data_bytes, [&] {
        return "the stream has " + std::to_string(total_bytes - c.data_offset) + " bytes after offset " +
               std::to_string(c.data_offset);
    });
    return c;
}

std::vector<ChunkPlace> read_table(const Container& c, ByteView table) {
    TRICODEC_INVARIANT(table.size() >= 16 * c.num_chunks);
    std::vector<ChunkPlace> places(c.num_chunks);
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < c.num_chunks; ++i) {
        const auto offset = load<std::uint64_t>(table.data() + 8 * i);
        const auto size = load<std::uint64_t>(table.data() + 8 * (c.num_chunks + i));
        const auto where = [&] { return "chunk " + std::to_string(i) + " of " + std::to_string(c.num_chunks); };
        if (offset % kChunkAlignment != 0 || offset < end || offset > c.data_bytes || size > c.data_bytes - offset) {
            damaged(where() + " lies at " + std::to_string(offset) + " with " + std::to_string(size) +
                    " bytes; chunks are in order, start on multiples of 8 and lie within " +
                    std::to_string(c.data_bytes) + " bytes");
        }
        if (size == 0) damaged(where() + " is empty");
        const bool unknown = c.options.algorithm == Compression::cascaded && c.options.release != 5;
        if (!unknown) expect_possible_ratio(c.options.algorithm, size, c.chunk_size(i));
        places[i] = {c.data_offset + offset, size};
        end = offset + size;
    }
    return places;
}

std::uint64_t head_bytes(const ChunkOptions& options, std::uint64_t num_chunks) noexcept {
    return align_up(table_start(options.algorithm, options.release) + 16 * num_chunks, chunk_alignment(options));
}

std::uint32_t type_number(ElementType type, int release) noexcept {
    if (release == 6 && type == ElementType::float16) return 10;
    if (release == 6 && type == ElementType::float8_e4m3) return 9;
    return static_cast<std::uint32_t>(type);
}

void write_head(std::byte* to, const ChunkOptions& options, std::uint64_t uncompressed_bytes, std::uint64_t chunk_bytes,
                std::span<const std::uint64_t> sizes) {
    const bool five = options.release == 5;
    const std::uint64_t table = table_start(options.algorithm, options.release);
    const std::uint64_t data_offset = head_bytes(options, sizes.size());
    TRICODEC_EXPECT(data_offset <= UINT32_MAX, invalid_argument,
                    "uncomp_chunk_size " + std::to_string(chunk_bytes) + " makes " + std::to_string(sizes.size()) +
                        " chunks with a table of more than 4 GiB; use larger chunks");
    std::memset(to, 0, table);
    std::memset(to + table + 16 * sizes.size(), 0, data_offset - table - 16 * sizes.size());
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        store<std::uint64_t>(to + table + 8 * i, offset);
        store<std::uint64_t>(to + table + 8 * (sizes.size() + i), sizes[i]);
        end = offset + sizes[i];
        offset = align_up(end, chunk_alignment(options));
    }
    store<std::uint32_t>(to, five ? kMagic5 : kMagic6);
    to[4] = static_cast<std::byte>(options.release);
    to[5] = five ? std::byte{3} : std::byte{0};
    to[6] = static_cast<std::byte>(options.algorithm);
    store<std::uint64_t>(to + 8, end);
    store<std::uint64_t>(to + 16, uncompressed_bytes);
    store<std::uint64_t>(to + 24, sizes.size());
    to[five ? 32 : 52] = std::byte{1};
    store<std::uint64_t>(to + (five ? 48 : 32), chunk_bytes);
    store<std::uint32_t>(to + (five ? 56 : 40), static_cast<std::uint32_t>(data_offset));
    std::byte* spec = to + (five ? kHeader5 : kHeader6);
    switch (options.algorithm) {
        case Compression::lz4:
            store<std::uint32_t>(spec, static_cast<std::uint32_t>(options.element_type) |
                                           static_cast<std::uint32_t>(options.bit_shuffle) << kShuffleBit);
            break;
        case Compression::deflate:
        case Compression::gdeflate:
            store<std::int32_t>(spec, options.algorithm_type);
            break;
        case Compression::gzip:
            spec[0] = static_cast<std::byte>(options.algorithm_type);
            break;
        case Compression::bitcomp:
            store<std::int32_t>(spec, options.algorithm_type);
            store<std::uint32_t>(spec + 4, static_cast<std::uint32_t>(options.element_type));
            break;
        case Compression::cascaded:
            store<std::uint64_t>(spec, kCascadedBlock);
            store<std::uint32_t>(spec + 8, static_cast<std::uint32_t>(options.element_type));
            store<std::int32_t>(spec + 12, options.num_rles);
            store<std::int32_t>(spec + 16, options.num_deltas);
            store<std::int32_t>(spec + 20, options.use_bitpack ? 1 : 0);
            break;
        case Compression::ans: {
            if (!five) {
                store<std::uint32_t>(spec + 4, type_number(options.element_type, 6));
                break;
            }
            const unsigned mode = options.element_type == ElementType::float16       ? 1
                                  : options.element_type == ElementType::float8_e4m3 ? 2
                                                                                     : 0;
            spec[0] = static_cast<std::byte>(mode << 3);
            break;
        }
        case Compression::snappy:
        case Compression::zstd:
            break;
    }
}

std::uint32_t checksum(ByteView bytes) noexcept {
    return libdeflate_crc32(0, bytes.data(), bytes.size());
}

std::uint64_t trailer_bytes(std::uint64_t num_chunks) noexcept {
    return kTrailerHead + 4 * num_chunks + 4;
}

void write_trailer(std::byte* to, ByteView head, std::span<const std::uint32_t> chunk_sums) {
    std::memcpy(to, kTrailerMagic, 8);
    store<std::uint64_t>(to + 8, chunk_sums.size());
    if (!chunk_sums.empty()) std::memcpy(to + kTrailerHead, chunk_sums.data(), 4 * chunk_sums.size());
    store<std::uint32_t>(to + kTrailerHead + 4 * chunk_sums.size(), checksum(head));
}

std::vector<std::uint32_t> read_trailer(ByteView rest, ByteView head, std::uint64_t num_chunks) {
    if (rest.size() < kTrailerHead || std::memcmp(rest.data(), kTrailerMagic, 8) != 0) return {};
    TRICODEC_EXPECT(load<std::uint64_t>(rest.data() + 8) == num_chunks && rest.size() >= trailer_bytes(num_chunks),
                    corrupt_data, "Checksum doesn't match. The checksums' own table is damaged. : code=13.");
    std::vector<std::uint32_t> sums(num_chunks + 1);
    std::memcpy(sums.data(), rest.data() + kTrailerHead, 4 * sums.size());
    TRICODEC_EXPECT(sums.back() == checksum(head), corrupt_data,
                    "Checksum doesn't match. The header or the chunk table is damaged. : code=13.");
    return sums;  // with that of the head: a stream without chunks has checksums too
}

void expect_addressable(std::uint64_t size_bytes) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
    TRICODEC_EXPECT(size_bytes <= kMost, invalid_argument,
                    "an array of " + std::to_string(size_bytes) + " bytes is larger than any memory; it must have " +
                        std::to_string(kMost) + " at most");
}

void expect_size(std::uint64_t size, std::uint64_t expected) {
    TRICODEC_EXPECT(
        size == expected, invalid_argument,
        "the output has " + std::to_string(expected) + " bytes; the stream expands to " + std::to_string(size));
}

void expect_possible_ratio(Compression algorithm, std::uint64_t compressed, std::uint64_t uncompressed) {
    const std::uint64_t most = format_of(algorithm).most;
    if (most != 0 && compressed < uncompressed / most) {
        damaged(std::to_string(compressed) + " bytes of " + std::string(to_string(algorithm)) + " cannot hold " +
                std::to_string(uncompressed) + "; one byte expands to " + std::to_string(most) + " at most");
    }
}

}  // namespace tricodec::compress
