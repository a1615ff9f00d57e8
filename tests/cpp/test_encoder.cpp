// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "media.h"
#include "tricodec/decoder.h"
#include "tricodec/demuxer.h"
#include "tricodec/encoder.h"
#include "tricodec/error.h"
#include "tricodec/frame_reader.h"
#include "tricodec/muxer.h"
#include "video/avcodec/encoder_settings.h"

namespace tricodec {
namespace {

using testing::packed;
using testing::standard_clip;

std::vector<Frame> clip_frames(int count) {
    const auto reader = FrameReader::open(MediaSource::from_path(standard_clip()));
    std::vector<std::int64_t> wanted;
    for (int i = 0; i < count; ++i) wanted.push_back(i);
    return reader->frames(wanted);
}

std::vector<std::byte> joined(const std::vector<Frame>& frames) {
    std::vector<std::byte> bytes;
    for (const auto& frame : frames) {
        const auto one = packed(frame);
        bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return bytes;
}

EncoderOptions lossless_h264(const Frame& like) {
    EncoderOptions options;
    options.width = like.width;
    options.height = like.height;
    options.frame_rate = {25, 1};
    options.num_b_frames = 0;  // lossless keeps none out, but the order of packets is then that of frames
    options.options = {{"preset", "ultrafast"}, {"qp", "0"}};
    return options;
}

std::vector<Packet> encode_all(Encoder& encoder, const std::vector<Frame>& frames) {
    std::vector<Packet> packets;
    for (const auto& frame : frames) {
        for (auto& packet : encoder.encode(frame)) packets.push_back(std::move(packet));
    }
    for (auto& packet : encoder.flush()) packets.push_back(std::move(packet));
    return packets;
}

TEST(Encoder, makes_packets_that_decode_to_the_same_pixels_when_it_loses_nothing) {
    const auto frames = clip_frames(10);
    const auto encoder = Encoder::create(lossless_h264(frames[0]));

    const auto packets = encode_all(*encoder, frames);

    const auto decoder = Decoder::create(Codec::h264);
    std::vector<Frame> decoded;
    for (const auto& packet : packets) {
        for (auto& frame : decoder->decode(packet)) decoded.push_back(std::move(frame));
    }
    for (auto& frame : decoder->flush()) decoded.push_back(std::move(frame));
    EXPECT_EQ(joined(decoded), joined(frames));
}

TEST(Encoder, counts_time_by_the_frame_rate_where_frames_have_none) {
    auto frames = clip_frames(3);
    auto options = lossless_h264(frames[0]);
    options.time_base = {1, 12800};
    for (auto& frame : frames) frame.pts = kNoTimestamp;

    const auto packets = encode_all(*Encoder::create(options), frames);

    ASSERT_EQ(packets.size(), 3u);
    EXPECT_EQ(packets[2].pts - packets[0].pts, 2 * 512);
}

TEST(Encoder, makes_key_frames_where_they_are_forced) {
    const auto frames = clip_frames(6);
    const auto encoder = Encoder::create(lossless_h264(frames[0]));

    std::vector<bool> keys;
    const auto keep = [&](const std::vector<Packet>& packets) {
        for (const auto& packet : packets) keys.push_back(packet.key);
    };
    for (std::size_t i = 0; i < frames.size(); ++i) keep(encoder->encode(frames[i], {.force_key = i == 4}));
    keep(encoder->flush());

    EXPECT_EQ(keys, (std::vector<bool>{true, false, false, false, true, false}));
}

TEST(Encoder, puts_headers_before_every_key_frame_or_only_the_first_or_beside) {
    const auto frames = clip_frames(6);
    auto options = lossless_h264(frames[0]);
    options.gop_size = 2;
    const auto count = [&] {
        const auto encoder = Encoder::create(options);
        const auto headers = encoder->headers();
        EXPECT_GT(headers.size(), 8u);
        int found = 0;
        for (const auto& packet : encode_all(*encoder, frames)) {
            found +=
                packet.data.size() > headers.size() && std::equal(headers.begin(), headers.end(), packet.data.begin());
        }
        return found;
    };

    EXPECT_EQ(count(), 3);
    options.repeat_headers = false;
    EXPECT_EQ(count(), 1);
    options.global_header = true;
    EXPECT_EQ(count(), 0);
}

void expect_error(ErrorCode code, const std::string& text, const EncoderOptions& options) {
    try {
        (void)Encoder::create(options);
        FAIL() << "nothing was thrown; expected " << text;
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
}

TEST(Encoder, refuses_what_it_cannot_encode_and_says_why) {
    const auto frames = clip_frames(1);
    const auto good = lossless_h264(frames[0]);
    auto odd = good;
    odd.width = 319;
    expect_error(ErrorCode::invalid_argument, "multiple of 2", odd);
    auto format = good;
    format.format = PixelFormat::rgb24;
    expect_error(ErrorCode::invalid_argument, "yuv420p", format);
    auto option = good;
    option.options["no_such_option"] = "1";
    expect_error(ErrorCode::invalid_argument, "no_such_option", option);
    auto value = good;
    value.options["preset"] = "no_such_preset";
    expect_error(ErrorCode::invalid_argument, "no_such_preset", value);
    auto codec = good;
    codec.codec = "no_such_codec";
    expect_error(ErrorCode::invalid_argument, "no_such_codec", codec);
}

TEST(Encoder, takes_a_constant_quality_by_the_name_that_the_encoder_has_for_it) {
    using Settings = std::map<std::string, std::string>;

    for (const char* name : {"libx264", "libx265", "libsvtav1", "libvpx-vp9"}) {
        EXPECT_EQ(quality_settings(name, 23), (Settings{{"crf", "23"}})) << name;
    }
    for (const char* name : {"h264_nvenc", "hevc_nvenc", "av1_nvenc"}) {
        EXPECT_EQ(quality_settings(name, 18.5), (Settings{{"cq", "18.5"}})) << name;
    }
}

TEST(Encoder, takes_the_quality_of_its_options_before_crf) {
    const auto frames = clip_frames(3);
    const auto size_of = [&](std::optional<double> crf, const std::map<std::string, std::string>& named) {
        EncoderOptions options = lossless_h264(frames[0]);
        options.options = {{"preset", "ultrafast"}};
        options.options.insert(named.begin(), named.end());
        options.crf = crf;
        std::size_t size = 0;
        for (const auto& packet : encode_all(*Encoder::create(options), frames)) size += packet.data.size();
        return size;
    };
    const auto small = size_of({}, {{"crf", "40"}});

    EXPECT_EQ(size_of(40, {}), small);
    EXPECT_EQ(size_of(10, {{"crf", "40"}}), small);
    EXPECT_GT(size_of(10, {}), 2 * small);
}

TEST(Encoder, refuses_a_time_stamp_that_does_not_increase) {
    const auto frames = clip_frames(2);
    const auto encoder = Encoder::create(lossless_h264(frames[0]));
    encoder->send(frames[1]);
    EXPECT_THROW(encoder->send(frames[0]), Error);
}

struct ContainerCase {
    const char* format;
    bool fast_start;
    bool fragmented;
};

class MuxerOf : public ::testing::TestWithParam<ContainerCase> {};

TEST_P(MuxerOf, writes_b_frames_with_the_times_that_the_frames_had) {
    const auto& wanted = GetParam();
    const auto frames = clip_frames(20);
    auto options = lossless_h264(frames[0]);
    options.options = {{"preset", "medium"}};
    options.num_b_frames = 3;
    options.time_base = {1, 12800};
    options.global_header = wants_global_headers(wanted.format);
    const auto encoder = Encoder::create(options);
    auto bytes = std::make_shared<std::vector<std::byte>>();
    MuxerOptions muxing;
    muxing.format = wanted.format;
    muxing.fast_start = wanted.fast_start;
    muxing.fragmented = wanted.fragmented;

    const auto muxer = Muxer::open(MediaTarget::from_memory(bytes), muxing);
    const int stream = muxer->add_stream(encoder->stream());
    for (const auto& packet : encode_all(*encoder, frames)) muxer->write(packet, stream);
    muxer->finish();

    EXPECT_GT(encoder->reorder_depth(), 0);
    const auto reader = FrameReader::open(MediaSource::from_bytes(*bytes, bytes));
    ASSERT_EQ(reader->num_frames(), 20);
    const auto decoded = clip_frames(20);
    const double first = reader->frame(0).pts_seconds();
    for (int i = 0; i < 20; ++i) {
        EXPECT_NEAR(reader->frame(i).pts_seconds() - first, decoded[static_cast<std::size_t>(i)].pts_seconds(), 1e-3);
    }
}

INSTANTIATE_TEST_SUITE_P(Containers, MuxerOf,
                         ::testing::Values(ContainerCase{"mp4", false, false}, ContainerCase{"mp4", true, false},
                                           ContainerCase{"mp4", false, true}, ContainerCase{"mov", false, false},
                                           ContainerCase{"matroska", false, false},
                                           ContainerCase{"mpegts", false, false}),
                         [](const auto& each) {
                             return std::string(each.param.format) + (each.param.fast_start ? "_fast_start" : "") +
                                    (each.param.fragmented ? "_fragmented" : "");
                         });

TEST(Muxer, refuses_containers_that_write_other_files) {
    for (const char* format : {"hls", "dash", "segment", "image2", "tee"}) {
        MuxerOptions options;
        options.format = format;
        auto bytes = std::make_shared<std::vector<std::byte>>();
        EXPECT_THROW((void)Muxer::open(MediaTarget::from_memory(bytes), options), Error) << format;
    }
}

TEST(Muxer, copies_a_file_without_changing_its_packets) {
    const auto demuxer = Demuxer::open(MediaSource::from_path(standard_clip()));
    auto bytes = std::make_shared<std::vector<std::byte>>();
    const auto muxer = Muxer::open(MediaTarget::from_memory(bytes, "copy.mkv"));
    const int stream = muxer->add_stream(demuxer->stream());
    std::vector<std::vector<std::byte>> given;
    while (const auto packet = demuxer->read()) {
        given.emplace_back(packet->data.begin(), packet->data.end());
        muxer->write(*packet, stream);
    }
    muxer->finish();

    const auto copy = Demuxer::open(MediaSource::from_bytes(*bytes, bytes));
    for (const auto& packet : given) {
        const auto read = copy->read();
        ASSERT_TRUE(read.has_value());
        EXPECT_TRUE(std::equal(packet.begin(), packet.end(), read->data.begin(), read->data.end()));
    }
    EXPECT_FALSE(copy->read().has_value());
}

}  // namespace
}  // namespace tricodec
