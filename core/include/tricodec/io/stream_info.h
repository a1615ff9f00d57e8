// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tricodec/base/rational.h"
#include "tricodec/tensor/color.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/pixel_format.h"

struct AVCodecParameters;

namespace tricodec {

/// Video codecs that the library knows by name. `other` is anything else that libavcodec may decode.
enum class CodecId : std::uint8_t { unknown, mpeg1, mpeg2, mpeg4, vc1, wmv3, h264, mjpeg, hevc, vp8, vp9, av1, other };

/// FFmpeg's names: "h264", "hevc", "mpeg2video", ...
[[nodiscard]] std::string_view to_string(CodecId codec) noexcept;
/// Throws Error(invalid_argument) listing the accepted names.
[[nodiscard]] CodecId parse_codec(std::string_view name);

enum class StreamKind : std::uint8_t { video, audio, subtitle, data, attachment, other };
[[nodiscard]] std::string_view to_string(StreamKind kind) noexcept;

/// The display that an HDR video was graded on (SMPTE ST 2086): chromaticities x, y and luminance in cd/m2.
struct MasteringDisplay {
    std::array<double, 2> red{};
    std::array<double, 2> green{};
    std::array<double, 2> blue{};
    std::array<double, 2> white{};
    double min_luminance = 0;
    double max_luminance = 0;
};

/// The brightest pixel of an HDR video (MaxCLL) and the brightest average of a frame (MaxFALL), in cd/m2.
struct ContentLight {
    int max_cll = 0;
    int max_fall = 0;
};

/// What the container and the codec's headers say of one stream.
struct StreamInfo {
    int index = 0;
    StreamKind kind = StreamKind::other;
    CodecId codec = CodecId::unknown;
    std::string codec_name;  ///< FFmpeg's, also where `codec` is other
    std::string profile;     ///< "High", "Main 10", ... or empty
    int level = -1;          ///< the codec's own number, -1 unknown
    Rational time_base{};
    std::int64_t start_pts = kNoTimestamp;
    std::int64_t duration = kNoTimestamp;  ///< in time_base units
    std::int64_t num_frames = 0;           ///< as the container states it, 0 unknown
    std::int64_t bit_rate = 0;             ///< bits per second, 0 unknown

    int width = 0;
    int height = 0;
    PixelFormat pixel_format = PixelFormat::unknown;  ///< of the decoded frames: rgb24 for a stream of bgra
    std::string pixel_format_name;                    ///< FFmpeg's of the stream
    Rational average_frame_rate{};
    Rational real_frame_rate{};  ///< lowest rate that represents every time stamp (r_frame_rate)
    Rational sample_aspect_ratio{};
    ColorDescription color{};
    Orientation orientation{};
    bool interlaced = false;
    bool bottom_field_first = false;  ///< of an interlaced stream
    std::optional<MasteringDisplay> mastering_display;
    std::optional<ContentLight> content_light;
    bool attached_picture = false;  ///< a cover image, not a video

    int sample_rate = 0;         ///< audio
    int num_channels = 0;        ///< audio
    std::string channel_layout;  ///< audio, FFmpeg's name: "mono", "stereo", "5.1"; empty where none is stated
    std::string sample_format;   ///< audio, FFmpeg's name of what its decoder gives: "fltp", "s16"; empty unknown
    std::string language;
    std::string title;    ///< as the container names the stream
    int disposition = 0;  ///< libavformat's flags AV_DISPOSITION_: default, forced, ...

    std::shared_ptr<const AVCodecParameters> parameters;

    /// Duration in seconds, or 0 where the container does not say.
    [[nodiscard]] double duration_seconds() const noexcept;
};

/// A part of a file that has a name.
struct Chapter {
    double start_seconds = 0;
    double end_seconds = 0;
    std::string title;
};

/// What a container says of itself and of its streams.
struct MediaInfo {
    std::string name;             ///< of the source
    std::string format_name;      ///< FFmpeg's demuxer: "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "h264", ...
    double duration_seconds = 0;  ///< 0 unknown
    double start_seconds = 0;
    std::int64_t bit_rate = 0;     ///< bits per second, 0 unknown
    std::int64_t size_bytes = -1;  ///< -1 unknown
    bool elementary = false;       ///< a bare codec stream without a container
    /// The streams that are read if none is named: libavformat's choice, by default flag, packets and bit rate. Of
    /// video, cover pictures and streams without packets are left out while there is any other. -1 none.
    int best_video = -1;
    int best_audio = -1;
    std::vector<StreamInfo> streams;
    std::map<std::string, std::string> metadata;  ///< of the file, by FFmpeg's names: "title", "creation_time", ...
    std::vector<Chapter> chapters{};
};

}  // namespace tricodec
