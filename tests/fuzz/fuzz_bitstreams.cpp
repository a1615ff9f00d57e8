// SPDX-License-Identifier: Apache-2.0
/// The readers of codec headers: NAL units, parameter sets, SEI, OBUs, VP9 frames, numbers, and .npy headers.
#include "bitstream/annexb.h"
#include "bitstream/av1_units.h"
#include "bitstream/key_inspector.h"
#include "bitstream/nal.h"
#include "bitstream/packet_inspector.h"
#include "bitstream/picture_areas.h"
#include "bitstream/sps.h"
#include "bitstream/vp9_frames.h"
#include "ffmpeg/conversions.h"
#include "fuzzing.h"
#include "io/bit_reader.h"
#include "tricodec/container/muxer.h"
#include "tricodec/io/packet.h"
#include "tricodec/tensor/npy_header.h"

namespace tricodec::fuzzing {
namespace {

constexpr CodecId kCodecs[] = {CodecId::h264, CodecId::hevc,  CodecId::av1,   CodecId::vp8,
                               CodecId::vp9,  CodecId::mpeg2, CodecId::mpeg4, CodecId::mjpeg};

bool is_inside(Bytes part, Bytes whole) {
    return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

void read_numbers(Bytes data) {
    if (const auto number = read_leb128(data)) require(number->num_bytes <= data.size(), "a leb128 past the end");
    BitReader bits({reinterpret_cast<const std::uint8_t*>(data.data()), data.size()});
    // Each turn takes six bits at least.
    for (std::size_t turn = 0; bits.ok(); ++turn) {
        require(turn <= 8 * data.size() / 6, "a bit reader that gives more bits than there are");
        (void)bits.bits(4);
        (void)bits.exp_golomb();
        (void)bits.signed_exp_golomb();
    }
    (void)succeeds([&] {
        const auto header = read_npy_header(data, data.size());
        require(header.header_bytes <= data.size(), "a .npy header past the end");
    });
}

void read_units(Bytes data, CodecId codec) {
    for (int length_size = 0; length_size <= 4; ++length_size) {
        for_each_nal(data, length_size, [&](Bytes nal) {
            require(is_inside(nal, data), "a NAL unit past the end");
            require(nal_payload(nal).size() <= nal.size(), "a payload longer than its NAL unit");
        });
        for (const auto nal : nals_to_picture(data, length_size, codec)) {
            require(is_inside(nal, data), "a NAL unit past the end");
        }
    }
    require(nal_length_size(codec, data) >= 0, "a length of less than nothing");
    for_each_sei(data, [&](int, std::span<const std::uint8_t> payload) {
        require(payload.size() <= data.size(), "an SEI payload longer than its unit");
    });
    if (!data.empty()) (void)h264_recovery_frame_count(data);  // of a NAL unit, which has a header
    (void)parse_h264_sps(data);
    (void)only_h264_sps(data);
    (void)parse_hevc_sps(data);
    (void)first_hevc_sps(data);
    (void)parse_vp9_header(data);
    if (const auto frames = vp9_frames(data)) {
        for (const auto frame : *frames) require(is_inside(frame, data), "a frame past its superframe");
    }
    (void)succeeds([&] { (void)sei_messages(codec, data); });
}

/// A stream with these headers, cut into packets.
void inspect(CodecId codec, Bytes headers, Bytes data, std::size_t packet_bytes) {
    const auto stream = describe_stream(codec, 64, 64, {1, 25}, headers);
    PacketInspector inspector(stream);
    KeyInspector keys(stream);
    PictureAreas areas(stream);
    Av1Units units(headers);
    ElementaryStreamFilter filter(*stream.parameters, {1, 25});
    while (!data.empty()) {
        const auto bytes = data.first(std::min(packet_bytes, data.size()));
        data = data.subspan(bytes.size());
        const auto packet = Packet::copy(bytes);
        const auto facts = inspector.inspect(packet);
        require(facts.referenced_bytes <= bytes.size(), "more referenced bytes than a packet has");
        (void)keys.is_key(packet);
        areas.learn(bytes);
        (void)areas.of(0);
        require(units.inspect(bytes).referenced_bytes <= bytes.size(), "more referenced bytes than a unit has");
        (void)sei_messages(stream, bytes);
        auto copy = ff::make_packet();
        fill_av_packet(*copy, packet);
        filter.push(std::move(copy));
        while (filter.pop() != nullptr) {
        }
    }
    filter.push_end();
    while (filter.pop() != nullptr) {
    }
}

}  // namespace

void try_input(Bytes input) {
    Choices choices(input);
    const auto codec = kCodecs[choices.below(std::size(kCodecs))];
    const std::size_t header_bytes = choices.byte();
    const std::size_t packet_bytes = choices.byte() * 4 + 1;
    read_numbers(choices.rest());
    read_units(choices.rest(), codec);
    const auto headers = choices.take(header_bytes);
    (void)succeeds([&] { inspect(codec, headers, choices.rest(), packet_bytes); });
}

}  // namespace tricodec::fuzzing
