// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "media/avio.h"
#include "media/ffmpeg.h"
#include "tricodec/stream_reader.h"

namespace tricodec::streams {

/// A demuxer with all of its streams, as libavformat describes them: from our byte reader, or, where the caller names
/// a device or allows a protocol, from libavformat's own.
class MediaInput {
public:
    MediaInput(const MediaSource& source, const StreamReaderOptions& options);
    MediaInput(const std::string& url, const StreamReaderOptions& options);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] AVFormatContext& context() const noexcept { return *context_; }
    [[nodiscard]] std::span<AVStream* const> streams() const noexcept {
        return {context_->streams, context_->nb_streams};
    }
    /// The best stream of a kind, or -1.
    [[nodiscard]] int best(AVMediaType type) const noexcept;

    /// 0, AVERROR(EAGAIN) or AVERROR_EOF; throws what is wrong with anything else.
    int read(AVPacket& packet);
    /// Throws Error(unsupported) if the source or its format cannot seek there.
    void seek(std::int64_t time_us, int flags);

private:
    void open_format(const char* url, const AVInputFormat* format, ff::FormatContextPtr context,
                     const StreamReaderOptions& options, std::map<std::string, std::string> settings);
    void rethrow();
    /// What a failure of libavformat is, after rethrow().
    [[nodiscard]] ErrorCode code_of(int code) const;
    void expect_read(int code, const std::string& what) const;
    /// Says in the log, once, if the source was cut short; Note [Files cut short].
    void note_end();

    std::string name_;
    std::unique_ptr<AvioReader> io_;  // null where libavformat reads
    ff::FormatContextPtr context_;    // closed before io_
    std::int64_t max_packet_bytes_;
    bool end_noted_ = false;
};

}  // namespace tricodec::streams
