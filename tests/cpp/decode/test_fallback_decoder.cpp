// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "decode/engines.h"
#include "media.h"
#include "tricodec/base/error.h"
#include "tricodec/container/demuxer.h"

namespace tricodec {
namespace {

/// The CPU's decoder, which refuses the stream at a packet, as a decoder does that meets something it cannot do.
class Refusing final : public Decoder {
public:
    Refusing(std::unique_ptr<Decoder> decoder, int good_packets, ErrorCode code)
        : decoder_(std::move(decoder)), good_packets_(good_packets), code_(code) {}
    void send(const Packet& packet, std::int64_t tag) override {
        if (good_packets_-- == 0) fail(code_, "it is too much");
        decoder_->send(packet, tag);
    }
    void send_end() override { decoder_->send_end(); }
    std::optional<Frame> receive() override { return decoder_->receive(); }
    void reset(bool mid_stream) override { decoder_->reset(mid_stream); }
    const std::deque<DecodeIssue>& issues() const noexcept override { return decoder_->issues(); }
    std::int64_t num_issues() const noexcept override { return decoder_->num_issues(); }
    std::string engine() const override { return "refusing"; }
    Device device() const noexcept override { return {}; }

private:
    std::unique_ptr<Decoder> decoder_;
    int good_packets_;
    ErrorCode code_;
};

std::vector<std::byte> all_frames(Demuxer& demuxer, Decoder& decoder) {
    std::vector<std::byte> bytes;
    std::int64_t number = 0;
    const auto drain = [&] {
        while (auto frame = decoder.receive()) {
            EXPECT_GE(frame->index, 0);
            const auto one = testing::packed(*frame);
            bytes.insert(bytes.end(), one.begin(), one.end());
        }
    };
    while (const auto packet = demuxer.read()) {
        decoder.send(*packet, number++);
        drain();
    }
    decoder.send_end();
    drain();
    return bytes;
}

std::unique_ptr<Decoder> refusing(const StreamInfo& stream, int good_packets, ErrorCode code) {
    return with_fallback(std::make_unique<Refusing>(Decoder::create(stream, {"cpu", 1}), good_packets, code), stream,
                         [stream] { return Decoder::create(stream, {"cpu", 1}); });
}

class FallbackAfter : public ::testing::TestWithParam<int> {};

TEST_P(FallbackAfter, packets_without_a_frame_gives_every_frame) {
    const auto path = testing::standard_clip();
    const auto demuxer = Demuxer::open(MediaSource::from_path(path));
    const auto decoder = refusing(demuxer->stream(), GetParam(), ErrorCode::unsupported);
    EXPECT_EQ(decoder->engine(), "refusing");
    EXPECT_EQ(all_frames(*demuxer, *decoder), testing::ffmpeg_bytes(path));
    EXPECT_EQ(decoder->engine(), "libavcodec h264");
}

INSTANTIATE_TEST_SUITE_P(Packets, FallbackAfter, ::testing::Values(0, 1, 2));

TEST(FallbackDecoder, once_a_frame_is_out_a_device_that_fails_is_an_error) {
    const auto demuxer = Demuxer::open(MediaSource::from_path(testing::standard_clip()));
    const auto decoder = refusing(demuxer->stream(), 30, ErrorCode::device);
    EXPECT_THROW((void)all_frames(*demuxer, *decoder), Error);
}

/// Clips of 300 frames, so that the packets from the first one on are not kept any more.
struct LongClip {
    const char* name;
    const char* arguments;
};

class FallbackInMidStream : public ::testing::TestWithParam<LongClip> {};

TEST_P(FallbackInMidStream, gives_every_frame_once_and_as_it_is) {
    const auto path = testing::clip(GetParam().name, GetParam().arguments, 300, "64x48");
    const auto expected = testing::ffmpeg_bytes(path);
    for (const int good_packets : {5, 70, 131, 299}) {
        const auto demuxer = Demuxer::open(MediaSource::from_path(path));
        const auto decoder = refusing(demuxer->stream(), good_packets, ErrorCode::unsupported);
        EXPECT_EQ(all_frames(*demuxer, *decoder), expected) << good_packets;
        EXPECT_EQ(decoder->num_issues(), 0) << good_packets;
        EXPECT_NE(decoder->engine(), "refusing");
    }
}

INSTANTIATE_TEST_SUITE_P(
    Clips, FallbackInMidStream,
    ::testing::Values(LongClip{"long.gop12.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf 3"},
                      LongClip{"long.gop1.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 1"},
                      LongClip{"long.one_gop.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 600 -bf 3"},
                      LongClip{"long.open.mkv",
                               "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf 3 "
                               "-x264-params open-gop=1:b-pyramid=normal"},
                      LongClip{"long.hevc.mkv",
                               "-pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params "
                               "keyint=12:bframes=3:pools=1:frame-threads=1:log-level=none"},
                      LongClip{"long.vp9.webm",
                               "-pix_fmt yuv420p -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 12 -b:v 100k"}),
    testing::name_of_file);

TEST(FallbackDecoder, errors_that_another_decoder_would_meet_too_are_errors) {
    const auto demuxer = Demuxer::open(MediaSource::from_path(testing::standard_clip()));
    const auto decoder = refusing(demuxer->stream(), 0, ErrorCode::refused);
    EXPECT_THROW((void)all_frames(*demuxer, *decoder), Error);
}

}  // namespace
}  // namespace tricodec
