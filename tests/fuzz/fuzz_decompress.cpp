// SPDX-License-Identifier: Apache-2.0
/// Each decompressor of the CPU on bytes without a container. Bitcomp's is NVIDIA's and is left out.
///
/// An input is the stream, then bytes that choose the algorithm, its options and the kind of the bitstream.
#include "compress_options.h"
#include "fuzzing.h"

namespace tricodec::fuzzing {
namespace {

using compress::Codec;

void read(Choices& choices) {
    CodecOptions options = codec_options(choices);
    options.bitstream = choices.flag() ? BitstreamKind::raw : BitstreamKind::with_uncompressed_size;
    const auto stream = choices.rest();
    const Codec codec(options);
    const auto size = codec.decompressed_sizes(std::span(&stream, 1)).front();
    std::vector<std::byte> data(size, std::byte{0});
    MutableBytes output = data;
    codec.decompress(std::span(&stream, 1), std::span(&output, 1));
    std::vector<std::byte> again(size, std::byte{0xff});
    output = again;
    codec.decompress(std::span(&stream, 1), std::span(&output, 1));
    require(data == again, "bytes of the output that were not written");
}

}  // namespace

void try_input(Bytes input) {
    Choices choices(input);
    (void)succeeds([&] { read(choices); });
}

}  // namespace tricodec::fuzzing
