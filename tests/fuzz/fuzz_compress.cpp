// SPDX-License-Identifier: Apache-2.0
/// Any data by any algorithm, kind of bitstream and size of chunks: what comes back is what went in.
#include "compress_options.h"
#include "fuzzing.h"

namespace tricodec::fuzzing {
namespace {

using compress::Codec;

void round_trip(Choices& choices) {
    constexpr BitstreamKind kKinds[] = {BitstreamKind::native, BitstreamKind::raw,
                                        BitstreamKind::with_uncompressed_size};
    constexpr std::size_t kChunks[] = {65536, 4096, 512, 64};
    CodecOptions options = codec_options(choices);
    options.bitstream = kKinds[choices.below(std::size(kKinds))];
    options.chunk_bytes = kChunks[choices.below(std::size(kChunks))];
    if (choices.flag()) options.checksums = ChecksumPolicy::compute_verify;
    const auto input = choices.rest();
    const Codec codec(options);
    std::vector<std::byte> stream(codec.max_compressed_bytes(input.size()));
    MutableBytes room = stream;
    stream.resize(codec.compress_to(std::span(&input, 1), std::span(&room, 1)).front());
    const Bytes compressed = stream;
    std::vector<std::byte> data(input.size());
    MutableBytes output = data;
    try {
        codec.decompress(std::span(&compressed, 1), std::span(&output, 1));
    } catch (const Error& error) {
        require(false, std::string("its own stream is refused: ") + error.what());
    }
    require(std::equal(data.begin(), data.end(), input.begin(), input.end()), "other data than went in");
}

}  // namespace

void try_input(Bytes input) {
    Choices choices(input);
    (void)succeeds([&] { round_trip(choices); });
}

}  // namespace tricodec::fuzzing
