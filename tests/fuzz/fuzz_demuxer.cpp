// SPDX-License-Identifier: Apache-2.0
/// A file through Demuxer and Decoder: packets of all streams or one, seeking, frames.
#include "bitstream/key_inspector.h"
#include "bitstream/packet_inspector.h"
#include "fuzzing.h"
#include "tricodec/container/demuxer.h"
#include "tricodec/decode/decoder.h"

namespace tricodec::fuzzing {
namespace {

constexpr int kMostPackets = 60;

/// Reads each byte, so that AddressSanitizer sees planes that are shorter than they claim.
void touch(const Frame& frame) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(frame.size_bytes()));
    pack(frame, bytes);
}

void read_packets(Demuxer& demuxer, Decoder* decoder) {
    PacketInspector inspector(demuxer.stream());
    KeyInspector keys(demuxer.stream());
    for (int k = 0; k < kMostPackets; ++k) {
        const auto packet = demuxer.read();
        if (!packet) break;
        require(
            packet->stream_index >= 0 && static_cast<std::size_t>(packet->stream_index) < demuxer.info().streams.size(),
            "a packet of a stream that is not there");
        if (packet->stream_index != demuxer.stream().index) continue;
        require(inspector.inspect(*packet).referenced_bytes <= packet->data.size(), "more bytes than the packet has");
        (void)keys.is_key(*packet);
        if (decoder == nullptr) continue;
        for (const auto& frame : decoder->decode(*packet, k)) touch(frame);
    }
    if (decoder != nullptr) {
        for (const auto& frame : decoder->flush()) touch(frame);
    }
}

void read(Choices& choices) {
    DemuxerOptions options;
    options.all_streams = choices.flag();
    options.annexb = choices.flag();
    options.ignore_edit_list = choices.flag();
    options.thorough = choices.flag();
    const auto place = choices.number();
    const auto demuxer = Demuxer::open(source_of(choices.rest()), options);
    std::unique_ptr<Decoder> decoder;
    if (demuxer->stream().kind == StreamKind::video) {
        DecoderOptions single;
        single.device = "cpu";
        single.num_threads = 1;
        (void)succeeds([&] { decoder = Decoder::create(demuxer->stream(), single); });
    }
    (void)succeeds([&] { read_packets(*demuxer, decoder.get()); });
    (void)demuxer->ends_early();
    if (!demuxer->seekable()) return;
    (void)succeeds([&] { demuxer->seek(place), read_packets(*demuxer, decoder.get()); });
    (void)succeeds([&] { demuxer->seek_bytes(place), read_packets(*demuxer, decoder.get()); });
}

}  // namespace

void try_input(Bytes input) {
    Choices choices(input);
    (void)succeeds([&] { read(choices); });
}

}  // namespace tricodec::fuzzing
