// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tricodec/audio/audio_encoder.h"
#include "tricodec/container/muxer.h"
#include "tricodec/encode/encoder.h"
#include "tricodec/image/transform.h"
#include "tricodec/io/media_source.h"
#include "tricodec/io/media_target.h"

namespace tricodec {

struct TranscodeProgress {
    std::int64_t num_frames = 0;  ///< written so far
    double seconds = 0;           ///< of the output so far
    double total_seconds = 0;     ///< of the output at the end, 0 unknown
};

/// The part of the source that `transcode` takes, and the form of its output.
struct TranscodeOptions {
    /// Codec, device, rate, options. The codec "copy" copies the packets, from a key frame on. Size, frame rate, time
    /// base, colors and orientation are the source's where they are not set; `format` unknown is the source's if the
    /// encoder accepts it, else the nearest that it accepts.
    EncoderOptions encoder{.format = PixelFormat::unknown, .frame_rate = {}};
    MuxerOptions muxer;        ///< metadata that it does not have, and chapters, are the source's
    int stream_index = -1;     ///< of the video; -1 is the best video stream
    std::optional<Crop> crop;  ///< of the upright pictures, before the size
    std::optional<Size> size;  ///< of the upright pictures
    /// Interlaced pictures become progressive ones, as many, by libavfilter's bwdif. Throws Error(unsupported) where
    /// that library is missing.
    bool deinterlace = false;
    /// Frames that begin from here on, and before end_seconds, by their places in the source: their times, unless these
    /// jump. The first frame has time 0 in the output.
    std::optional<double> start_seconds;
    std::optional<double> end_seconds;
    bool audio = true;  ///< all audio streams, copied packet by packet
    /// Instead of a copy: decoded and encoded again, exactly from start_seconds to end_seconds.
    std::optional<AudioEncoding> audio_encoding;
    /// Parts of the source, cut at key frames, that are transcoded side by side and joined.
    int num_workers = 1;
    /// Called on the calling thread now and then; false cancels.
    std::function<bool(const TranscodeProgress&)> progress;
};

/// What a `transcode` wrote, and what was damaged.
struct TranscodeResult {
    std::int64_t num_frames = 0;
    std::int64_t num_audio_packets = 0;
    /// Of the video, in the range that was asked for: they cost their frames, and the result has what was decodable.
    /// A codec with several threads may count one of them twice. All packets that are missing at the end of a source
    /// that was cut short count as one.
    std::int64_t num_damaged_packets = 0;
    std::int64_t size_bytes = 0;  ///< of the packets
    double seconds = 0;           ///< of the output, to the end of its last frame
    std::string left_out;         ///< streams of the source that the output does not have, for people; or empty
    std::string decoder;          ///< the engine that decoded, for people
    std::string encoder;          ///< the engine that encoded, for people
    bool cancelled = false;       ///< what was written until then is a whole file
};

/// Demultiplexes, decodes, crops and resizes, encodes and multiplexes, each stage on a separate thread.
/// Throws what the stages throw, Error(invalid_argument) for a range without frames and Error(corrupt_data) where no
/// frame can be decoded; a target file is then as it was. The target is another file than the source. A new file has
/// the source's permissions, less the umask. check_interrupt() is called on the calling thread.
[[nodiscard]] TranscodeResult transcode(const MediaSource& source, const MediaTarget& target,
                                        const TranscodeOptions& options = {});

}  // namespace tricodec
