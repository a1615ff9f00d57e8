// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "media/ffmpeg.h"
#include "media/spool.h"
#include "tricodec/media_source.h"
#include "tricodec/media_target.h"

namespace tricodec {

/// For AVFormatContext::io_open: called whenever something inside a file would open another file or a socket.
int refuse_to_open(AVFormatContext* context, AVIOContext** io, const char* url, int flags, AVDictionary** options);
/// True if an index that opening has read leads to bytes before those that come next, or back from one sample to the
/// next.
[[nodiscard]] bool index_goes_back(const AVFormatContext& context);
/// What a code of av_seek_frame() means: its -1, which is no AVERROR, is damage, or a format that has no times to go
/// to.
[[nodiscard]] int seek_error(const AVFormatContext& context, int code) noexcept;
/// The extension of a source's name, as a hint for formats whose bytes say little; the rest of it is nobody's business.
[[nodiscard]] std::string probe_hint(const std::string& name);

/// A source as libavformat reads it. Exceptions of its reader are kept here, because they cannot cross C code.
///
/// libavformat reads a source that cannot seek in order, and goes back only where its container makes it: to the
/// samples of an mp4 whose index is at the end, or to the start while the source is being opened. The spool allows
/// that; the container does not know of it, for it would look for an index at the end of a stream that has none.
class AvioReader {
public:
    /// Bytes are asked for `buffer_bytes` at a time; 0 is a size that suits files.
    explicit AvioReader(const MediaSource& source, int buffer_bytes = 0);
    AvioReader(const AvioReader&) = delete;
    AvioReader& operator=(const AvioReader&) = delete;
    ~AvioReader();

    [[nodiscard]] AVIOContext* context() const noexcept { return context_; }
    [[nodiscard]] bool seekable() const noexcept { return spool_ == nullptr; }
    /// The size of the source, as far as it is known by now.
    [[nodiscard]] std::optional<std::int64_t> size_bytes() const;
    /// To be called when the source is open. `goes_back`: the container needs what was read already.
    void opened(bool goes_back);
    /// Lends the reader to `look`, and puts it back to where libavformat left it.
    template <class Look>
    auto lend(Look look) {
        auto result = look(*reader_);
        move_to(position_);
        return result;
    }
    /// Throws what the reader threw during the last calls of libavformat, if anything.
    void rethrow();

private:
    static int read(void* self, std::uint8_t* data, int size);
    static std::int64_t seek(void* self, std::int64_t offset, int whence);
    void move_to(std::int64_t position);

    std::shared_ptr<ByteReader> reader_;
    std::shared_ptr<Spool> spool_;  // of a source that is read in order
    AVIOContext* context_ = nullptr;
    std::int64_t position_ = 0;
    bool past_end_ = false;  // a damaged header led there; the reader is not asked for what it cannot have
    std::exception_ptr error_;
};

/// A ByteWriter as libavformat writes to it. Exceptions of the writer are kept here, because they cannot cross C code.
class AvioWriter {
public:
    explicit AvioWriter(std::shared_ptr<ByteWriter> writer);
    AvioWriter(const AvioWriter&) = delete;
    AvioWriter& operator=(const AvioWriter&) = delete;
    ~AvioWriter();

    [[nodiscard]] AVIOContext* context() const noexcept { return context_; }
    [[nodiscard]] ByteWriter& writer() const noexcept { return *writer_; }
    /// A second context, which reads what was written from the start; null if there is no memory. close() it.
    [[nodiscard]] AVIOContext* open_for_reading();
    static void close(AVIOContext* reading) noexcept;
    /// Throws what the writer threw during the last calls of libavformat, if anything.
    void rethrow();

private:
    struct Reading {
        AvioWriter* of;
        std::int64_t position;
    };
    static int write(void* self, ff::AvioBytes* data, int size);
    static std::int64_t seek(void* self, std::int64_t offset, int whence);
    static int read(void* reading, std::uint8_t* data, int size);
    static std::int64_t seek_reading(void* reading, std::int64_t offset, int whence);

    std::shared_ptr<ByteWriter> writer_;
    AVIOContext* context_ = nullptr;
    std::int64_t position_ = 0;
    std::int64_t size_ = 0;
    std::exception_ptr error_;
};

}  // namespace tricodec
