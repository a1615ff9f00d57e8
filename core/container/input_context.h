// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ffmpeg/avio.h"
#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/picture_limits.h"
#include "tricodec/base/limits.h"

namespace tricodec {

struct InputOptions {
    const AVInputFormat* format = nullptr;  ///< null: found from the bytes
    /// Formats of audio and of single pictures are accepted, too; the caller may name the format.
    bool any_media = false;
    std::map<std::string, std::string> settings;  ///< of the demuxer
    int buffer_bytes = 0;                         ///< asked of the source at a time; 0: a size that suits files
};

/// An open demuxer of libavformat with all of its streams: what Demuxer and StreamReader read from.
class InputContext {
public:
    /// Reads by our own byte reader: nothing else is ever opened, whatever the bytes say. Throws
    /// Error(not_found, io, refused, corrupt_data).
    InputContext(const MediaSource& source, InputOptions options);
    /// Lets libavformat open a device (`options.format`), or a URL by `protocols`, which are joined by commas.
    InputContext(const std::string& url, const std::string& protocols, InputOptions options);

    /// Opens a source again at its first byte.
    void open_again();
    /// Reads, and decodes where that is needed, until every stream is described. To be called once. Throws
    /// Error(refused) if a video has only pictures past the limits, before memory is taken for them. True if the source
    /// was opened again: what was read before is invalid.
    bool find_streams();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::string format_name() const { return context_->iformat->name; }
    [[nodiscard]] AVFormatContext& context() const noexcept { return *context_; }
    [[nodiscard]] std::span<AVStream* const> streams() const noexcept {
        return {context_->streams, context_->nb_streams};
    }
    /// The best stream of a kind, or -1.
    [[nodiscard]] int best(AVMediaType type) const noexcept;
    /// The same for video. Cover pictures and streams without a packet so far are taken only if there is no other.
    [[nodiscard]] int best_video() const;
    /// "'a', 'b'": settings that the demuxer does not have.
    [[nodiscard]] const std::string& unused_settings() const noexcept { return unused_; }
    [[nodiscard]] bool seekable() const noexcept { return io_ == nullptr || io_->seekable(); }
    /// The size of the source, as far as it is known by now.
    [[nodiscard]] std::optional<std::int64_t> size_bytes() const;

    /// Bytes that were read from the source so far; 0 where libavformat reads.
    [[nodiscard]] std::int64_t num_bytes_read() const noexcept { return io_ == nullptr ? 0 : io_->num_bytes_read(); }
    /// Null where libavformat reads.
    [[nodiscard]] ByteReader* reader() const noexcept { return io_ == nullptr ? nullptr : &io_->reader(); }
    /// Lends the reader of a source that can seek to `look`, then restores its position.
    template <class Look>
    auto look(Look look) const {
        return io_->lend(look);
    }

    /// av_read_frame(). Throws what the source throws, and Error(refused) for a packet past limits.max_packet_bytes.
    [[nodiscard]] int read(AVPacket& packet);
    /// av_seek_frame(); `where` it goes is for the message. AVSEEK_FLAG_BACKWARD goes to the first packet where there
    /// is none before. Throws Error(unsupported) if the source or its format cannot seek.
    void seek(int stream, std::int64_t position, int flags, const std::string& where);
    /// The evidence that the source was cut short; Note [Files cut short]. Empty if the source cannot seek.
    [[nodiscard]] std::string cut_short() const;

    /// The kind of error of a code of libavformat.
    [[nodiscard]] ErrorCode code_of(int code) const;
    /// Throws `what` with libavformat's text if `code` is negative.
    void expect(int code, const std::string& what) const;

private:
    /// avformat_find_stream_info() with decoders that refuse larger pictures. Their line about that, or empty.
    [[nodiscard]] std::string probe_streams(std::int64_t max_pixels);
    void expect_format();
    void open();
    void expect_samples() const;
    void rethrow() const;
    /// Containers give a palette with the first packet alone, and a decoder may begin at any key frame.
    void keep_palette(AVPacket& packet);

    std::string name_;
    InputOptions options_;
    Limits limits_ = limits();
    PictureLimits picture_limits_;
    std::unique_ptr<AvioReader> io_;  // null where libavformat reads
    ff::FormatContextPtr context_;    // closed before io_
    std::string unused_;
    std::map<int, std::vector<std::uint8_t>> palettes_;  // the last one of each stream
    bool began_ = false;                                 // a packet was read
    bool ends_before_fragment_ = false;                  // AvioReader::end_at()
    bool goes_back_ = false;                             // the container needs bytes that were read already
};

}  // namespace tricodec
