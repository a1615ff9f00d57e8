// SPDX-License-Identifier: Apache-2.0
/// nvCOMP's container: what it says, its data, and ranges of them.
#include <algorithm>

#include "fuzzing.h"
#include "tricodec/compress/compress.h"

namespace tricodec::fuzzing {
namespace {

using compress::Codec;

/// The data of a stream, in memory that was filled with `fill` before.
std::vector<std::byte> decompressed(const Codec& codec, Bytes stream, std::byte fill) {
    std::vector<std::byte> data;
    codec.decompress(std::span(&stream, 1), [&](std::size_t, std::size_t size) -> MutableBytes {
        data.assign(size, fill);
        return data;
    });
    return data;
}

void read(Choices& choices) {
    CodecOptions options;
    options.checksums =
        choices.flag() ? ChecksumPolicy::no_compute_verify_if_present : ChecksumPolicy::no_compute_no_verify;
    options.num_threads = 1;
    const Codec codec(options);
    options.num_threads = 2;
    const Codec with_two_threads(options);
    const auto first = static_cast<std::uint64_t>(choices.number());
    const auto length = static_cast<std::uint64_t>(choices.byte());
    const auto stream = choices.rest();

    const auto info = codec.inspect(stream);
    require(info.compressed_bytes <= stream.size(), "more compressed bytes than there are");
    const auto data = decompressed(codec, stream, std::byte{0});
    require(data.size() == info.uncompressed_bytes, "other data than inspect() says");
    require(data == decompressed(with_two_threads, stream, std::byte{0xff}),
            "bytes of the output that were not written, or that depend on the threads");
    const auto begin = data.empty() ? 0 : first % data.size();
    const auto end = std::min<std::uint64_t>(data.size(), begin + length);
    std::vector<std::byte> part;
    codec.decompress_range(stream, begin, end, [&](std::size_t, std::size_t size) -> MutableBytes {
        part.resize(size);
        return part;
    });
    require(std::equal(part.begin(), part.end(), data.begin() + static_cast<std::ptrdiff_t>(begin),
                       data.begin() + static_cast<std::ptrdiff_t>(end)),
            "a range that is not that part of the data");
}

}  // namespace

void try_input(Bytes input) {
    Choices choices(input);
    (void)succeeds([&] { read(choices); });
}

}  // namespace tricodec::fuzzing
