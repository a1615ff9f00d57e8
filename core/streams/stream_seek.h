// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "index/frame_times.h"
#include "index/stream_index.h"
#include "tricodec/io/media_source.h"

namespace tricodec::streams {

/// Which frames of a stream its outputs get, once decoding has begun at some packet.
struct StreamStart {
    std::optional<double> from_seconds{};  ///< frames that begin before this time are left out
    std::int64_t num_left_out = 0;         ///< the first so many frames are left out
    /// Time stamps of the frames after those, where packets have none, or none that rise; else empty.
    std::vector<std::int64_t> pts{};
    /// None of the frames refers to one before the packet, so that all that the codec holds to be doubtful are right.
    bool whole = false;
};

/// The frames of a video stream by number: where decoding begins so that all frames from a time on are whole.
class StreamSeek {
public:
    /// Indexes the stream. Throws as FrameReader.
    StreamSeek(const MediaSource& source, int stream_index);

    struct Target {
        std::int64_t packet = 0;  ///< decoding begins with it
        StreamStart start;
    };
    /// For the first frame at or after a time or, with `key`, for the key frame from which the frame at this time is
    /// decoded.
    [[nodiscard]] Target target(double seconds, bool key) const;
    [[nodiscard]] const StreamIndex& index() const noexcept { return *index_; }
    /// The last packet up to `packet` where decoding may begin and that is stored for no later time than `seconds`.
    [[nodiscard]] std::int64_t entry_before(std::int64_t packet, double seconds) const;

private:
    struct Indexed {
        StreamInfo stream;
        std::shared_ptr<const StreamIndex> index;
    };
    explicit StreamSeek(Indexed indexed);
    [[nodiscard]] static Indexed indexed(const MediaSource& source, int stream_index);

    StreamInfo stream_;
    std::shared_ptr<const StreamIndex> index_;
    FrameTimes times_;
    bool timed_ = false;  // every packet has a time stamp, and those of the frames rise
};

}  // namespace tricodec::streams
