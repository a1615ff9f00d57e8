// SPDX-License-Identifier: Apache-2.0
/// Packets of any bytes, times and sizes to containers, which are read again.
#include <memory>

#include "fuzzing.h"
#include "tricodec/container/demuxer.h"
#include "tricodec/container/muxer.h"

namespace tricodec::fuzzing {
namespace {

constexpr const char* kFormats[] = {"mp4", "mov", "matroska", "webm", "mpegts", "ivf", "avi", "nut", "flv", "h264"};
constexpr CodecId kCodecs[] = {CodecId::h264, CodecId::hevc,  CodecId::av1,   CodecId::vp8,
                               CodecId::vp9,  CodecId::mpeg2, CodecId::mpeg4, CodecId::mjpeg};
constexpr int kMostPackets = 60;

/// A packet of the input: times near one another or anything, any flags, bytes of the rest.
Packet packet_of(Choices& choices, std::int64_t& clock) {
    const auto shape = choices.byte();
    const auto size = choices.byte() * ((shape & 1) != 0 ? 16U : 1U);
    clock += static_cast<std::int64_t>(choices.byte()) - ((shape & 2) != 0 ? 64 : 0);
    if ((shape & 4) != 0) clock = choices.number();
    Packet packet = Packet::copy(choices.take(size));
    packet.dts = (shape & 8) != 0 ? kNoTimestamp : clock;
    packet.pts = (shape & 16) != 0 ? kNoTimestamp : (shape & 32) != 0 ? choices.number() : clock;
    packet.duration = (shape & 64) != 0 ? choices.number() : 1;
    packet.key = (shape & 128) != 0;
    return packet;
}

void read(Bytes file) {
    const auto demuxer = Demuxer::open(source_of(file), {.all_streams = true});
    for (int k = 0; k < kMostPackets && demuxer->read(); ++k) {
    }
}

/// Packets of a file as they are.
void remux(Choices& choices, Muxer& muxer) {
    const auto demuxer = Demuxer::open(source_of(choices.rest()), {.all_streams = true});
    std::vector<int> numbers;
    for (const auto& stream : demuxer->info().streams) {
        int number = -1;
        (void)succeeds([&] { number = muxer.add_stream(stream); });
        numbers.push_back(number);
    }
    for (int k = 0; k < kMostPackets; ++k) {
        const auto packet = demuxer->read();
        if (!packet) break;
        const auto number = numbers.at(static_cast<std::size_t>(packet->stream_index));
        if (number >= 0) (void)succeeds([&] { muxer.write(*packet, number); });
    }
}

/// Packets that the input describes, of up to two streams.
void write(Choices& choices, Muxer& muxer) {
    const auto num_streams = 1 + choices.below(2);
    for (std::size_t i = 0; i < num_streams; ++i) {
        const auto codec = kCodecs[choices.below(std::size(kCodecs))];
        const auto width = static_cast<int>(choices.byte() * 16);
        const auto height = static_cast<int>(choices.byte() * 16);
        const Rational time_base{static_cast<std::int32_t>(choices.byte()) + 1,
                                 static_cast<std::int32_t>(choices.byte() * 100) + 1};
        muxer.add_stream(describe_stream(codec, width, height, time_base, choices.take(choices.byte())));
    }
    std::int64_t clock = 0;
    for (int k = 0; k < kMostPackets && !choices.rest().empty(); ++k) {
        const auto packet = packet_of(choices, clock);
        const auto stream = static_cast<int>(choices.below(num_streams));
        log(LogLevel::debug, "packet of stream " + std::to_string(stream) + ", dts " + std::to_string(packet.dts) +
                                 ", pts " + std::to_string(packet.pts) + ", duration " +
                                 std::to_string(packet.duration) + ", bytes " + std::to_string(packet.data.size()));
        (void)succeeds([&] { muxer.write(packet, stream); });
    }
}

void run(Choices& choices) {
    MuxerOptions options;
    options.format = kFormats[choices.below(std::size(kFormats))];
    const auto way = choices.byte();
    options.fragmented = (way & 1) != 0;
    options.fast_start = (way & 2) != 0;
    auto file = std::make_shared<std::vector<std::byte>>();
    const auto finished = succeeds([&] {
        const auto muxer = Muxer::open(MediaTarget::from_memory(file), options);
        if ((way & 4) != 0)
            remux(choices, *muxer);
        else
            write(choices, *muxer);
        muxer->finish();
    });
    if (finished) (void)succeeds([&] { read(*file); });
}

}  // namespace

void try_input(Bytes input) {
    Choices choices(input);
    (void)succeeds([&] { run(choices); });
}

}  // namespace tricodec::fuzzing
