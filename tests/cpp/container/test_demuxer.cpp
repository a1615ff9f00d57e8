// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "media.h"
#include "tricodec/base/error.h"
#include "tricodec/container/demuxer.h"

namespace tricodec {
namespace {

using testing::clip;
using testing::standard_clip;
using testing::write_file;

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
