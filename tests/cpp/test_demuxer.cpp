// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "media.h"
#include "tricodec/demuxer.h"
#include "tricodec/error.h"
#include "tricodec/limits.h"

namespace tricodec {
namespace {

using testing::clip;
using testing::read_file;
using testing::standard_clip;
using testing::write_file;

std::vector<Packet> all_packets(Demuxer& demuxer) {
    std::vector<Packet> packets;
    while (auto packet = demuxer.read()) packets.push_back(std::move(*packet));
    return packets;
}

ErrorCode code_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.code();
    }
    ADD_FAILURE() << "nothing was raised";
    return ErrorCode::internal;
}

std::vector<std::byte> to_bytes(const std::string& text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
}

TEST(Demuxer, describes_the_stream) {
    const auto demuxer = Demuxer::open(MediaSource::from_path(standard_clip()));
    const auto& stream = demuxer->stream();
    EXPECT_EQ(stream.codec, Codec::h264);
    EXPECT_EQ(stream.width, 320);
    EXPECT_EQ(stream.height, 180);
    EXPECT_EQ(stream.pixel_format, PixelFormat::yuv420p);
    EXPECT_EQ(stream.num_frames, 50);
    EXPECT_EQ(stream.average_frame_rate, (Rational{25, 1}));
    EXPECT_NEAR(stream.duration_seconds(), 2.0, 1e-9);
    EXPECT_EQ(demuxer->info().size_bytes, static_cast<std::int64_t>(std::filesystem::file_size(standard_clip())));
}

TEST(Demuxer, gives_one_packet_a_frame_with_time_stamps) {
    const auto demuxer = Demuxer::open(MediaSource::from_path(standard_clip()));
    const auto packets = all_packets(*demuxer);
    ASSERT_EQ(packets.size(), 50u);
    EXPECT_TRUE(packets[0].key);
    EXPECT_EQ(std::count_if(packets.begin(), packets.end(), [](const auto& p) { return p.key; }), 5);
    std::set<std::int64_t> times;
    for (const auto& packet : packets) times.insert(packet.pts);
    EXPECT_EQ(times.size(), 50u);
    EXPECT_TRUE(
        std::is_sorted(packets.begin(), packets.end(), [](const auto& a, const auto& b) { return a.dts < b.dts; }));
    EXPECT_FALSE(demuxer->read().has_value());
}

TEST(Demuxer, packets_outlive_it) {
    auto demuxer = Demuxer::open(MediaSource::from_path(standard_clip()));
    const auto packets = all_packets(*demuxer);
    std::vector<std::vector<std::byte>> copies;
    for (const auto& packet : packets) copies.emplace_back(packet.data.begin(), packet.data.end());
    demuxer.reset();
    for (std::size_t i = 0; i < packets.size(); ++i) {
        EXPECT_TRUE(std::equal(packets[i].data.begin(), packets[i].data.end(), copies[i].begin(), copies[i].end()));
    }
}

TEST(Demuxer, reads_the_same_from_bytes_as_from_a_file) {
    const auto bytes = std::make_shared<std::vector<std::byte>>(read_file(standard_clip()));
    const auto from_file = all_packets(*Demuxer::open(MediaSource::from_path(standard_clip())));
    const auto from_bytes = all_packets(*Demuxer::open(MediaSource::from_bytes(*bytes, bytes)));
    ASSERT_EQ(from_file.size(), from_bytes.size());
    for (std::size_t i = 0; i < from_file.size(); ++i) {
        EXPECT_TRUE(std::ranges::equal(from_file[i].data, from_bytes[i].data));
        EXPECT_EQ(from_file[i].pts, from_bytes[i].pts);
        EXPECT_EQ(from_file[i].pos, from_bytes[i].pos);
    }
}

TEST(Demuxer, annexb_packets_make_an_elementary_stream) {
    DemuxerOptions options;
    options.annexb = true;
    const auto demuxer = Demuxer::open(MediaSource::from_path(standard_clip()), options);
    std::vector<std::byte> stream;
    for (const auto& packet : all_packets(*demuxer)) {
        ASSERT_GE(packet.data.size(), 4u);
        EXPECT_EQ(std::memcmp(packet.data.data(), "\0\0\0\1", 4), 0);
        stream.insert(stream.end(), packet.data.begin(), packet.data.end());
    }
    EXPECT_EQ(testing::ffmpeg_bytes(write_file("annexb.h264", stream)), testing::ffmpeg_bytes(standard_clip()));
}

TEST(Demuxer, seeks_to_the_key_frame_at_or_before) {
    const auto demuxer = Demuxer::open(MediaSource::from_path(standard_clip()));
    const auto packets = all_packets(*demuxer);
    const auto key = std::find_if(packets.begin() + 1, packets.end(), [](const auto& p) { return p.key; });
    demuxer->seek((key + 1)->pts);
    EXPECT_EQ(demuxer->read()->pos, key->pos);
    demuxer->seek(packets[0].pts);
    EXPECT_EQ(demuxer->read()->pos, packets[0].pos);
}

TEST(Demuxer, seeks_after_the_end) {
    const auto demuxer = Demuxer::open(MediaSource::from_path(standard_clip()));
    const auto count = all_packets(*demuxer).size();
    demuxer->seek(0);
    EXPECT_EQ(all_packets(*demuxer).size(), count);
}

TEST(Demuxer, says_that_a_file_does_not_exist) {
    EXPECT_EQ(code_of([] { (void)Demuxer::open(MediaSource::from_path("no/such/file.mp4")); }), ErrorCode::not_found);
}

TEST(Demuxer, refuses_protocols_by_name) {
    for (const char* name : {"http://127.0.0.1/a.mp4", "concat:a.mp4|b.mp4", "subfile,,start,0,end,9,,:a.mp4",
                             "data:text/plain,x", "rtsp://127.0.0.1/x", "file:a.mp4", "pipe:0"}) {
        EXPECT_EQ(code_of([&] { (void)MediaSource::from_path(name); }), ErrorCode::refused) << name;
    }
}

TEST(Demuxer, refuses_playlists_and_scripts_whatever_they_are_called) {
    const std::string target = standard_clip().string();
    const std::vector<std::pair<std::string, std::string>> files = {
        {"playlist.m3u8",
         "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\n" + target + "\n#EXT-X-ENDLIST\n"},
        {"playlist_as.mp4",
         "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\n" + target + "\n#EXT-X-ENDLIST\n"},
        {"script.ffconcat", "ffconcat version 1.0\nfile '" + target + "'\n"},
        {"session.sdp",
         "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 "
         "H264/90000\n"},
        {"manifest.mpd",
         "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
         "type=\"static\"><Period></Period></MPD>\n"},
    };
    for (const auto& [name, text] : files) {
        const auto path = write_file(name, to_bytes(text));
        try {
            (void)Demuxer::open(MediaSource::from_path(path));
            ADD_FAILURE() << name << " was opened";
        } catch (const Error& error) {
            EXPECT_TRUE(error.code() == ErrorCode::refused || error.code() == ErrorCode::corrupt_data)
                << name << ": " << error.what();
        }
    }
}

TEST(Demuxer, refuses_what_is_no_regular_file) {
    EXPECT_EQ(code_of([] { (void)Demuxer::open(MediaSource::from_path("/dev/zero")); }), ErrorCode::refused);
    EXPECT_EQ(code_of([] { (void)Demuxer::open(MediaSource::from_path(std::filesystem::current_path())); }),
              ErrorCode::refused);
}

TEST(Demuxer, says_that_noise_is_no_media_file) {
    std::vector<std::byte> noise(5000);
    unsigned state = 1;
    for (auto& byte : noise) byte = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
    const auto path = write_file("noise.bin", noise);
    const auto code = code_of([&] { (void)Demuxer::open(MediaSource::from_path(path)); });
    EXPECT_TRUE(code == ErrorCode::corrupt_data || code == ErrorCode::refused);
    EXPECT_EQ(code_of([] { (void)Demuxer::open(MediaSource::from_bytes({}, nullptr)); }), ErrorCode::corrupt_data);
}

TEST(Demuxer, names_the_streams_when_the_index_is_wrong) {
    DemuxerOptions options;
    options.stream_index = 7;
    EXPECT_EQ(code_of([&] { (void)Demuxer::open(MediaSource::from_path(standard_clip()), options); }),
              ErrorCode::invalid_argument);
}

TEST(Demuxer, holds_the_size_limit) {
    const auto before = limits();
    auto small = before;
    small.max_width = 300;
    set_limits(small);
    const auto code = code_of([] { (void)Demuxer::open(MediaSource::from_path(standard_clip())); });
    set_limits(before);
    EXPECT_EQ(code, ErrorCode::refused);
}

class ThrowingReader final : public ByteReader {
public:
    explicit ThrowingReader(std::vector<std::byte> bytes, std::size_t throw_at)
        : bytes_(std::move(bytes)), throw_at_(throw_at) {}
    std::size_t read(std::span<std::byte> out) override {
        if (position_ + out.size() > throw_at_) throw std::runtime_error("the reader's own words");
        const auto count = std::min(out.size(), bytes_.size() - position_);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(position_), count, out.begin());
        position_ += count;
        return count;
    }
    void seek(std::int64_t position) override { position_ = static_cast<std::size_t>(position); }
    std::optional<std::int64_t> size_bytes() const override { return static_cast<std::int64_t>(bytes_.size()); }
    bool seekable() const override { return true; }

private:
    std::vector<std::byte> bytes_;
    std::size_t throw_at_;
    std::size_t position_ = 0;
};

TEST(Demuxer, passes_on_what_a_reader_throws) {
    const auto reader = std::make_shared<ThrowingReader>(read_file(standard_clip()), 0);
    try {
        (void)Demuxer::open(MediaSource::from_reader(reader));
        FAIL() << "nothing was raised";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "the reader's own words");
    }
}

TEST(Demuxer, reads_rotation_colour_and_aspect) {
    const auto path =
        clip("tagged.mkv",
             "-pix_fmt yuv420p -c:v libx264 -vf setsar=4/3 -colorspace bt709 -color_primaries bt709 -color_trc bt709 "
             "-color_range tv");
    const auto stream = Demuxer::open(MediaSource::from_path(path))->stream();
    EXPECT_EQ(stream.color.matrix, ColorMatrix::bt709);
    EXPECT_EQ(stream.color.range, ColorRange::limited);
    EXPECT_EQ(stream.sample_aspect_ratio, (Rational{4, 3}));
}

}  // namespace
}  // namespace tricodec
