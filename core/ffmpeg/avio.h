// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "ffmpeg/ffmpeg.h"
#include "io/spool.h"
#include "tricodec/io/media_source.h"
#include "tricodec/io/media_target.h"

namespace tricodec {

/// For AVFormatContext::io_open. libavformat calls it when a file would open another file or a socket.
int refuse_to_open(AVFormatContext* context, AVIOContext** io, const char* url, int flags, AVDictionary** options);
/// True if an index that opening has read points to bytes that were read already, or if its samples are not in the
/// order of the file.
[[nodiscard]] bool index_goes_back(const AVFormatContext& context);
/// The error of a code of av_seek_frame(). Its -1, which is no AVERROR, means damage, or a format without
/// time stamps.
[[nodiscard]] int seek_error(const AVFormatContext& context, int code) noexcept;
/// The extension of a source's name, as a hint for formats that are hard to recognize. The rest of the name is kept.
[[nodiscard]] std::string probe_hint(const std::string& name);

/// A reader that counts the bytes it gives.
class CountingReader final : public ByteReader {
public:
    explicit CountingReader(std::shared_ptr<ByteReader> reader) : reader_(std::move(reader)) {}
    std::size_t read(std::span<std::byte> out) override {
        const auto count = reader_->read(out);
        num_bytes_read_ += static_cast<std::int64_t>(count);
        return count;
    }
    void seek(std::int64_t position) override { reader_->seek(position); }
    [[nodiscard]] std::optional<std::int64_t> size_bytes() const override { return reader_->size_bytes(); }
    [[nodiscard]] bool seekable() const override { return reader_->seekable(); }
    [[nodiscard]] bool fetches_ahead() const override { return reader_->fetches_ahead(); }
    void will_read(std::span<const ByteRange> ranges) override { reader_->will_read(ranges); }
    void will_read_on() override { reader_->will_read_on(); }
    [[nodiscard]] std::int64_t num_bytes_read() const noexcept { return num_bytes_read_; }

private:
    std::shared_ptr<ByteReader> reader_;
    std::int64_t num_bytes_read_ = 0;
};

/// A source as libavformat reads it. It keeps exceptions of the reader, because they cannot cross C code.
///
/// libavformat reads a source that cannot seek in order. It goes back only if the container needs it: to the samples
/// of an mp4 with the index at its end, or to the start while it opens the source. The spool allows that. libavformat
/// still treats the source as not seekable, because otherwise it would look for an index at the end.
class AvioReader {
public:
    /// Reads `buffer_bytes` at a time; 0 is a size that suits files.
    explicit AvioReader(const MediaSource& source, int buffer_bytes = 0);
    ~AvioReader();

    [[nodiscard]] AVIOContext* context() const noexcept { return context_; }
    [[nodiscard]] bool seekable() const noexcept { return spool_ == nullptr; }
    /// The size of the source, as far as it is known by now.
    [[nodiscard]] std::optional<std::int64_t> size_bytes() const;
    /// From now on libavformat sees the source end at a position.
    void end_at(std::int64_t position) noexcept { end_ = position; }
    /// To be called when the source is open. `goes_back`: the container needs bytes that were read already.
    void opened(bool goes_back);
    /// Lends the reader to `look`, then restores its position.
    template <class Look>
    auto lend(Look look) {
        auto result = look(*reader_);
        move_to(position_);
        return result;
    }
    [[nodiscard]] std::int64_t num_bytes_read() const noexcept { return reader_->num_bytes_read(); }
    [[nodiscard]] ByteReader& reader() const noexcept { return *reader_; }
    /// Throws what the reader threw, at each call until forget_error(): libavformat has lost the bytes of that read, so
    /// that no later packet continues the ones before.
    void rethrow() const;
    /// To be called before a seek, which makes a failed source usable again.
    void forget_error() noexcept;

private:
    static int read(void* self, std::uint8_t* data, int size);
    static std::int64_t seek(void* self, std::int64_t offset, int whence);
    void move_to(std::int64_t position);

    std::unique_ptr<CountingReader> reader_;
    std::shared_ptr<Spool> spool_;  // for a source that is read in order
    AVIOContext* context_ = nullptr;
    std::int64_t position_ = 0;
    std::optional<std::int64_t> end_;  // see end_at()
    int most_bytes_ = 64 * 1024;       // of the next read into libavformat's buffer
    bool past_end_ = false;            // after a damaged header; the reader has no bytes there
    std::exception_ptr error_;
};

/// A ByteWriter as libavformat writes to it. It keeps exceptions of the writer, because they cannot cross C code.
class AvioWriter {
public:
    explicit AvioWriter(std::shared_ptr<ByteWriter> writer);
    AvioWriter(const AvioWriter&) = delete;
    AvioWriter& operator=(const AvioWriter&) = delete;
    ~AvioWriter();

    [[nodiscard]] AVIOContext* context() const noexcept { return context_; }
    [[nodiscard]] ByteWriter& writer() const noexcept { return *writer_; }
    /// A second context that reads the written bytes from the start; null if there is no memory. close() it.
    [[nodiscard]] AVIOContext* open_for_reading();
    static void close(AVIOContext* reading) noexcept;
    /// Throws the exception that the writer threw during the last calls of libavformat, if any.
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
