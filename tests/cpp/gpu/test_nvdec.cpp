// SPDX-License-Identifier: Apache-2.0
/// NVDEC against libavcodec, frame by frame. TRICODEC_GPU_CLIPS may name a folder of more clips.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <thread>

#include "media.h"
#include "tricodec/decoder.h"
#include "tricodec/demuxer.h"
#include "tricodec/error.h"
#include "tricodec/transform.h"
#include "video/nvdec/nv_decoder.h"
#include "video/nvdec/session.h"

namespace tricodec {
namespace {

using testing::clip;
using testing::packed;

constexpr Device kGpu{Device::Kind::cuda, 0};

std::unique_ptr<Demuxer> open(const std::filesystem::path& path) {
    return Demuxer::open(MediaSource::from_path(path));
}

std::vector<Packet> packets_of(const std::filesystem::path& path) {
    const auto demuxer = open(path);
    std::vector<Packet> packets;
    while (auto packet = demuxer->read()) packets.push_back(std::move(*packet));
    return packets;
}

std::vector<Frame> decode(const std::vector<Packet>& packets, Decoder& decoder, std::int64_t first_tag = 0) {
    std::vector<Frame> frames;
    const auto drain = [&] {
        while (auto frame = decoder.receive()) frames.push_back(std::move(*frame));
    };
    for (const auto& packet : packets) {
        decoder.send(packet, first_tag++);
        drain();
    }
    decoder.send_end();
    drain();
    return frames;
}

std::string words(const ColorDescription& color) {
    return std::string(to_string(color.matrix)) + "/" + std::string(to_string(color.primaries)) + "/" +
           std::string(to_string(color.transfer)) + "/" + std::string(to_string(color.range)) + "/" +
           std::string(to_string(color.chroma_location));
}

/// What differs between two decodings, in words; empty if nothing does.
std::string difference(const std::vector<Frame>& cpu, const std::vector<Frame>& gpu, bool timed = true) {
    std::string text;
    if (cpu.size() != gpu.size()) {
        text += std::to_string(cpu.size()) + " frames by libavcodec, " + std::to_string(gpu.size()) + " by NVDEC; ";
    }
    std::size_t different = 0, first = 0, times = 0, tags = 0, keys = 0, types = 0, colors = 0;
    int largest = 0;
    for (std::size_t i = 0; i < std::min(cpu.size(), gpu.size()); ++i) {
        const auto& one = cpu[i];
        const auto& other = gpu[i];
        // Without presentation times libavcodec's guess depends on its delay; ours is the n-th decoding time.
        times += (timed && one.pts != other.pts) || one.duration != other.duration;
        tags += one.index != other.index;
        keys += one.key != other.key;
        types += one.picture_type != other.picture_type;
        if (one.color != other.color && colors++ == 0) {
            text += "color is " + words(other.color) + ", not " + words(one.color) + "; ";
        }
        if (one.width != other.width || one.height != other.height) {
            text += "frame " + std::to_string(i) + " is " + std::to_string(other.width) + "x" +
                    std::to_string(other.height) + ", not " + std::to_string(one.width) + "x" +
                    std::to_string(one.height) + "; ";
            break;
        }
        const auto expected = packed(convert_layout(one, other.format));
        const auto found = packed(other);
        if (expected == found) continue;
        if (different++ == 0) first = i;
        if (info(other.format).bytes_per_sample == 1) {
            for (std::size_t k = 0; k < found.size(); ++k) {
                largest =
                    std::max(largest, std::abs(std::to_integer<int>(found[k]) - std::to_integer<int>(expected[k])));
            }
        }
    }
    const auto add = [&](std::size_t count, const char* what) {
        if (count != 0) text += std::to_string(count) + " frames differ in " + what + "; ";
    };
    add(different,
        ("samples (the first is " + std::to_string(first) + ", by at most " + std::to_string(largest) + ")").c_str());
    add(times, "time");
    add(tags, "tag");
    add(keys, "key");
    add(types, "picture type");
    add(colors, "color");
    return text;
}

struct Compared {
    std::string refusal;
    std::string difference;
    std::size_t num_frames = 0;
    PixelFormat format = PixelFormat::unknown;
    bool damaged = false;  ///< what is made up where data are missing is each decoder's own
};

/// libavcodec does not notice everything.
bool is_named_damaged(const std::filesystem::path& path) {
    const auto name = path.filename().string();
    return name.starts_with("zeroed") || name.starts_with("flipped") || name.starts_with("truncated");
}

Compared compare(const std::filesystem::path& path) {
    const auto stream = open(path)->stream();
    Compared result;
    result.refusal = nvdec_refusal(stream, kGpu);
    if (!result.refusal.empty()) return result;
    const auto packets = packets_of(path);
    const auto on_gpu = make_nv_decoder(stream, kGpu);
    const auto gpu = decode(packets, *on_gpu);
    const auto on_cpu = Decoder::create(stream, {"cpu", 1});
    const auto cpu = decode(packets, *on_cpu);
    result.damaged = !on_cpu->issues().empty() || is_named_damaged(path);
    result.num_frames = gpu.size();
    if (!gpu.empty()) result.format = gpu[0].format;
    result.difference = difference(cpu, gpu, packets[0].pts != kNoTimestamp);
    if (!on_gpu->issues().empty()) {
        result.difference +=
            std::to_string(on_gpu->issues().size()) + " issues, the first: " + on_gpu->issues()[0].message;
    }
    return result;
}

struct CodecCase {
    const char* file;
    const char* arguments;
    PixelFormat format;
    const char* size = "322x242";
};

class NvdecOfCodec : public ::testing::TestWithParam<CodecCase> {};

TEST_P(NvdecOfCodec, gives_the_frames_that_libavcodec_gives) {
    const auto& wanted = GetParam();
    const auto result = compare(clip(wanted.file, wanted.arguments, 30, wanted.size));
    EXPECT_EQ(result.refusal, "");
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.format, wanted.format);
    EXPECT_EQ(result.num_frames, 30u);
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, NvdecOfCodec,
    ::testing::Values(
        CodecCase{"g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", PixelFormat::nv12},
        CodecCase{"g.h264.open.mkv",
                  "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3 -x264-params open-gop=1:b-pyramid=normal",
                  PixelFormat::nv12},
        CodecCase{"g.h264.ts", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", PixelFormat::nv12},
        CodecCase{"g.h264.mbaff.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -flags +ilme+ildct -x264-params tff=1",
                  PixelFormat::nv12, "320x256"},
        CodecCase{"g.hevc.mp4",
                  "-pix_fmt yuv420p -c:v libx265 -preset fast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::nv12},
        CodecCase{"g.hevc10.mkv",
                  "-pix_fmt yuv420p10le -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::p010le},
        CodecCase{"g.hevc12.mkv",
                  "-pix_fmt yuv420p12le -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::p012le},
        CodecCase{"g.hevc444.mkv",
                  "-pix_fmt yuv444p -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::yuv444p},
        CodecCase{"g.hevc444_10.mkv",
                  "-pix_fmt yuv444p10le -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::yuv444p10msble},
        CodecCase{"g.hevc444_12.mkv",
                  "-pix_fmt yuv444p12le -c:v libx265 -preset ultrafast -x265-params keyint=12:pools=1:log-level=none",
                  PixelFormat::yuv444p12msble},
        CodecCase{"g.vp8.webm", "-pix_fmt yuv420p -c:v libvpx -b:v 300k -deadline realtime", PixelFormat::nv12},
        CodecCase{"g.vp9.webm", "-pix_fmt yuv420p -c:v libvpx-vp9 -b:v 300k -deadline realtime", PixelFormat::nv12},
        CodecCase{"g.vp9.odd.webm", "-vf scale=323:243 -pix_fmt yuv420p -c:v libvpx-vp9 -b:v 300k -deadline realtime",
                  PixelFormat::nv12},
        CodecCase{"g.vp9_10.webm", "-pix_fmt yuv420p10le -c:v libvpx-vp9 -profile:v 2 -b:v 300k -deadline realtime",
                  PixelFormat::p010le}),
    [](const auto& parameter) {
        std::string name(parameter.param.file);
        for (auto& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
        return name;
    });

TEST(Nvdec, every_clip_of_the_folder_gives_the_frames_that_libavcodec_gives) {
    const char* folder = std::getenv("TRICODEC_GPU_CLIPS");
    if (folder == nullptr) return;  // the clips above are the test; these are more of it
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    ASSERT_FALSE(paths.empty()) << folder << " has no files";
    for (const auto& path : paths) {
        try {
            const auto stream = open(path)->stream();
            const auto result = compare(path);
            std::printf("%-40s %-10s %5zu %-16s %s%s%s\n", path.filename().c_str(), stream.codec_name.c_str(),
                        result.num_frames, std::string(to_string(result.format)).c_str(),
                        result.damaged ? "damaged: " : "",
                        result.refusal.empty() ? "" : ("CPU: " + result.refusal).c_str(), result.difference.c_str());
            if (nvdec_is_exact(stream.codec) && !result.damaged) {
                EXPECT_EQ(result.difference, "") << path;
            }
        } catch (const Error& error) {
            // Files that are no video, and what only decoding shows that NVDEC cannot do.
            std::printf("%-40s %s\n", path.filename().c_str(), error.what());
            EXPECT_TRUE(error.code() == ErrorCode::unsupported || error.code() == ErrorCode::corrupt_data) << path;
        }
    }
}

TEST(Nvdec, frames_outlive_their_decoder_and_stay_as_they_are) {
    const auto path = clip("g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "322x242");
    const auto stream = open(path)->stream();
    const auto packets = packets_of(path);
    auto decoder = make_nv_decoder(stream, kGpu);
    const auto held = decode(packets, *decoder);
    std::vector<std::vector<std::byte>> before;
    for (const auto& frame : held) before.push_back(packed(frame));
    decoder->reset();
    (void)decode(packets, *decoder);
    decoder.reset();
    for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(packed(held[i]), before[i]) << i;
}

TEST(Nvdec, reset_begins_again_at_any_key_frame) {
    const auto path = clip("g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "322x242");
    const auto stream = open(path)->stream();
    const auto packets = packets_of(path);
    const auto decoder = make_nv_decoder(stream, kGpu);
    const auto whole = decode(packets, *decoder);
    for (std::size_t i = 0; i < packets.size(); ++i) {
        if (!packets[i].key) continue;
        decoder->reset(i > 0);
        const auto part = decode({packets.begin() + static_cast<std::ptrdiff_t>(i), packets.end()}, *decoder,
                                 static_cast<std::int64_t>(i));
        ASSERT_EQ(part.size(), packets.size() - i);
        for (std::size_t k = 0; k < part.size(); ++k) EXPECT_EQ(packed(part[k]), packed(whole[i + k])) << i << "+" << k;
    }
    EXPECT_TRUE(decoder->issues().empty());
}

TEST(Nvdec, a_stream_that_begins_at_an_open_group_gives_the_frames_that_libavcodec_gives) {
    const auto h264 =
        clip("g.h264.open.mkv", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3 -x264-params open-gop=1:b-pyramid=normal",
             30, "322x242");
    const auto hevc =
        clip("g.hevc.mp4", "-pix_fmt yuv420p -c:v libx265 -preset fast -x265-params keyint=12:pools=1:log-level=none",
             30, "322x242");
    for (const auto& path : {h264, hevc}) {
        const auto stream = open(path)->stream();
        auto packets = packets_of(path);
        const auto second =
            std::find_if(packets.begin() + 1, packets.end(), [](const Packet& packet) { return packet.key; });
        packets.erase(packets.begin(), second);
        const auto gpu = decode(packets, *make_nv_decoder(stream, kGpu));
        const auto cpu = decode(packets, *Decoder::create(stream, {"cpu", 1}));
        EXPECT_EQ(difference(cpu, gpu), "") << path;
    }
}

TEST(Nvdec, sessions_are_reused_for_streams_of_the_same_and_of_smaller_size) {
    const auto large = clip("g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "322x242");
    const auto small = clip("g.h264.small.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "162x98");
    nvdec::drop_idle_sessions();
    EXPECT_EQ(compare(large).difference, "");
    EXPECT_EQ(nvdec::num_idle_sessions(), 1);
    EXPECT_EQ(compare(large).difference, "");
    EXPECT_EQ(nvdec::num_idle_sessions(), 1);
    EXPECT_EQ(compare(small).difference, "");
    EXPECT_EQ(nvdec::num_idle_sessions(), 1);
    EXPECT_EQ(compare(large).difference, "");
    EXPECT_EQ(nvdec::num_idle_sessions(), 1);
}

TEST(Nvdec, a_stream_may_change_its_size) {
    const auto one = packets_of(clip("g.size1.h264", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 2", 20, "322x242"));
    const auto two = packets_of(clip("g.size2.h264", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 2", 20, "642x362"));
    std::vector<Packet> packets = one;
    packets.insert(packets.end(), two.begin(), two.end());
    packets.insert(packets.end(), one.begin(), one.end());
    StreamInfo stream;
    stream.kind = StreamKind::video;
    stream.codec = Codec::h264;
    stream.codec_name = "h264";
    const auto gpu = decode(packets, *make_nv_decoder(stream, kGpu));
    auto cpu = decode(packets, *Decoder::create(stream, {"cpu", 1}));
    EXPECT_EQ(cpu.size(), 60u);
    // NVDEC's parser does not tell where chroma is sited; streams of a demuxer do.
    for (auto& frame : cpu) frame.color.chroma_location = ChromaLocation::unspecified;
    EXPECT_EQ(difference(cpu, gpu), "");
}

TEST(Nvdec, damaged_packets_cost_their_frames_only) {
    const auto path = clip("g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "322x242");
    const auto stream = open(path)->stream();
    auto packets = packets_of(path);
    for (std::size_t i = 13; i < 20; ++i) {
        std::vector<std::byte> bytes(packets[i].data.begin(), packets[i].data.end());
        for (std::size_t at = 8; at < bytes.size(); at += 7) bytes[at] ^= std::byte{0x55};
        auto damaged = Packet::copy(bytes);
        damaged.pts = packets[i].pts;
        damaged.dts = packets[i].dts;
        damaged.time_base = packets[i].time_base;
        packets[i] = std::move(damaged);
    }
    const auto decoder = make_nv_decoder(stream, kGpu);
    const auto frames = decode(packets, *decoder);
    EXPECT_GE(frames.size(), 12u);
    EXPECT_FALSE(decoder->issues().empty());
    const auto whole = decode(packets_of(path), *make_nv_decoder(stream, kGpu));
    EXPECT_EQ(packed(frames[0]), packed(whole[0]));
    // From the next key frame on everything is right again.
    EXPECT_EQ(packed(frames.back()), packed(whole.back()));
}

TEST(Nvdec, decoders_on_several_threads_do_not_disturb_one_another) {
    const auto path = clip("g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "322x242");
    std::vector<std::string> found(12);
    {
        std::vector<std::jthread> threads;
        for (auto& text : found) {
            threads.emplace_back([&] {
                try {
                    for (int round = 0; round < 3; ++round) text += compare(path).difference;
                } catch (const std::exception& error) {
                    text += error.what();
                }
            });
        }
    }
    for (const auto& text : found) EXPECT_EQ(text, "");
}

TEST(Nvdec, auto_takes_the_gpu_where_frames_are_exact_and_the_cpu_elsewhere) {
    const auto h264 = open(clip("g.h264.mp4", "-pix_fmt yuv420p -c:v libx264 -g 12 -bf 3", 30, "322x242"));
    EXPECT_EQ(Decoder::create(h264->stream(), {"auto", 1})->device(), kGpu);
    const auto mpeg2 = open(clip("g.mpeg2.mkv", "-pix_fmt yuv420p -c:v mpeg2video", 30, "322x242"));
    EXPECT_EQ(Decoder::create(mpeg2->stream(), {"auto", 1})->device(), Device{});
    const auto deep = open(clip("g.h264_10.mkv", "-pix_fmt yuv422p10le -c:v libx264", 30, "322x242"));
    EXPECT_EQ(Decoder::create(deep->stream(), {"auto", 1})->device(), Device{});
    EXPECT_THROW((void)Decoder::create(deep->stream(), {"cuda", 1}), Error);
    // Packets alone do not tell: the CPU takes over once the pictures turn out to be too much.
    const auto decoder = Decoder::create(Codec::h264, {"auto", 1});
    const auto packets = packets_of(clip("g.deep.h264", "-pix_fmt yuv422p10le -c:v libx264", 30, "322x242"));
    EXPECT_EQ(decode(packets, *decoder).size(), 30u);
    EXPECT_EQ(decoder->device(), Device{});
}

}  // namespace
}  // namespace tricodec
