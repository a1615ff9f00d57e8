// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/avio.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/fork.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

constexpr int kReadBytes = 64 * 1024;
constexpr int kFirstReadBytes = 4 * 1024;
constexpr int kWriteBytes = 256 * 1024;

void free_context(AVIOContext* context) noexcept {
    // libavformat may have replaced the buffer by a larger one.
    av_freep(&context->buffer);
    avio_context_free(&context);
}

using ReadCallback = int (*)(void* self, std::uint8_t* data, int size);
using WriteCallback = int (*)(void* self, ff::AvioBytes* data, int size);
using SeekCallback = std::int64_t (*)(void* self, std::int64_t offset, int whence);

/// Null if there is no memory.
AVIOContext* make_context(int size, void* self, ReadCallback read, WriteCallback write, SeekCallback seek) noexcept {
    auto* buffer = static_cast<unsigned char*>(av_malloc(static_cast<std::size_t>(size)));
    if (buffer == nullptr) return nullptr;
    auto* context = avio_alloc_context(buffer, size, write == nullptr ? 0 : 1, self, read, write, seek);
    if (context == nullptr) av_free(buffer);
    return context;
}

}  // namespace

int refuse_to_open(AVFormatContext*, AVIOContext**, const char* url, int, AVDictionary**) {
    log(LogLevel::warning,
        "refused to open '" + std::string(url == nullptr ? "" : url) + "', which a media file names");
    return AVERROR(EPERM);
}

int seek_error(const AVFormatContext& context, int code) noexcept {
    if (code != -1) return code;
    return (context.iformat->flags & AVFMT_NOTIMESTAMPS) != 0 ? AVERROR(ENOSYS) : AVERROR_INVALIDDATA;
}

std::string probe_hint(const std::string& name) {
    const auto dot = name.find_last_of("./");
    return dot == std::string::npos || name[dot] == '/' ? "" : "media" + name.substr(dot);
}

bool index_goes_back(const AVFormatContext& context) {
    for (unsigned i = 0; i < context.nb_streams; ++i) {
        AVStream* stream = context.streams[i];
        std::int64_t place = avio_tell(context.pb);
        for (int entry = 0; entry < avformat_index_get_entries_count(stream); ++entry) {
            const auto next = avformat_index_get_entry(stream, entry)->pos;
            if (next < place) return true;
            place = next;
        }
    }
    return false;
}

AvioReader::AvioReader(const MediaSource& source, int buffer_bytes)
    : reader_(std::make_unique<CountingReader>(source.open())), spool_(source.forward_spool()) {
    context_ = make_context(buffer_bytes > 0 ? buffer_bytes : kReadBytes, this, read, nullptr, seek);
    TRICODEC_EXPECT(context_ != nullptr, out_of_memory, "could not allocate a read buffer");
    context_->seekable = seekable() ? AVIO_SEEKABLE_NORMAL : 0;
}

std::optional<std::int64_t> AvioReader::size_bytes() const {
    return spool_ ? spool_->known_size_bytes() : reader_->size_bytes();
}

void AvioReader::opened(bool goes_back) {
    if (spool_ && !goes_back) spool_->keep_no_more();
}

AvioReader::~AvioReader() {
    free_context(context_);
}

void AvioReader::rethrow() const {
    if (error_) std::rethrow_exception(error_);
}

void AvioReader::forget_error() noexcept {
    if (!error_) return;
    error_ = nullptr;
    context_->error = 0;  // libavformat never resets it, and would report it at the end of the source
    context_->eof_reached = 0;
}

int AvioReader::read(void* self, std::uint8_t* data, int size) {
    auto& me = *static_cast<AvioReader*>(self);
    if (me.error_) return AVERROR_EXTERNAL;
    if (me.past_end_) return AVERROR_EOF;
    try {
        const ForkAllowed waits;  // for a disk, or for Python's lock
        // A buffer is filled by small reads at first after a seek: libavformat may only look at a header there.
        if (size <= kReadBytes) size = std::min(size, me.most_bytes_);
        me.most_bytes_ = std::min(2 * me.most_bytes_, kReadBytes);
        if (me.end_) size = static_cast<int>(std::clamp<std::int64_t>(*me.end_ - me.position_, 0, size));
        if (size == 0) return AVERROR_EOF;
        const auto count = me.reader_->read({reinterpret_cast<std::byte*>(data), static_cast<std::size_t>(size)});
        if (count == 0) return AVERROR_EOF;
        TRICODEC_EXPECT(
            count <= static_cast<std::size_t>(size), io,
            "a reader returned " + std::to_string(count) + " bytes where " + std::to_string(size) + " were asked for");
        me.position_ += static_cast<std::int64_t>(count);
        return static_cast<int>(count);
    } catch (...) {
        me.error_ = std::current_exception();
        return AVERROR_EXTERNAL;
    }
}

void AvioReader::move_to(std::int64_t position) {
    const auto size = size_bytes();
    past_end_ = size && position > *size;
    if (position != position_) most_bytes_ = kFirstReadBytes;
    if (!past_end_) {
        const ForkAllowed waits;
        reader_->seek(position);
    }
    position_ = position;
}

std::int64_t AvioReader::seek(void* self, std::int64_t offset, int whence) {
    auto& me = *static_cast<AvioReader*>(self);
    if (me.error_) return AVERROR_EXTERNAL;
    try {
        const auto size = me.end_ ? me.end_ : me.size_bytes();
        whence &= ~AVSEEK_FORCE;
        if (whence == AVSEEK_SIZE) return size ? *size : AVERROR(ENOSYS);
        if (whence == SEEK_END && !size) return AVERROR(ENOSYS);
        const std::int64_t from = whence == SEEK_CUR ? me.position_ : whence == SEEK_END ? *size : 0;
        std::int64_t target = 0;
        if (__builtin_add_overflow(from, offset, &target) || target < 0) return AVERROR(EINVAL);
        if (me.spool_ && !me.spool_->has(target)) return AVERROR(EPIPE);
        me.move_to(target);
        return target;
    } catch (...) {
        me.error_ = std::current_exception();
        return AVERROR_EXTERNAL;
    }
}

AvioWriter::AvioWriter(std::shared_ptr<ByteWriter> writer) : writer_(std::move(writer)) {
    context_ = make_context(kWriteBytes, this, nullptr, write, writer_->seekable() ? seek : nullptr);
    TRICODEC_EXPECT(context_ != nullptr, out_of_memory, "could not allocate a write buffer");
    context_->seekable = writer_->seekable() ? AVIO_SEEKABLE_NORMAL : 0;
}

AvioWriter::~AvioWriter() {
    free_context(context_);
}

AVIOContext* AvioWriter::open_for_reading() {
    std::unique_ptr<Reading> reading(new Reading{this, 0});
    auto* context = make_context(kWriteBytes, reading.get(), read, nullptr, seek_reading);
    if (context != nullptr) (void)reading.release();
    return context;
}

void AvioWriter::close(AVIOContext* reading) noexcept {
    delete static_cast<Reading*>(reading->opaque);
    free_context(reading);
}

void AvioWriter::rethrow() {
    if (auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

int AvioWriter::write(void* self, ff::AvioBytes* data, int size) {
    auto& me = *static_cast<AvioWriter*>(self);
    if (me.error_) return AVERROR_EXTERNAL;
    try {
        me.writer_->write({reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
        me.position_ += size;
        me.size_ = std::max(me.size_, me.position_);
        return size;
    } catch (...) {
        me.error_ = std::current_exception();
        return AVERROR_EXTERNAL;
    }
}

std::int64_t AvioWriter::seek(void* self, std::int64_t offset, int whence) {
    auto& me = *static_cast<AvioWriter*>(self);
    if (me.error_) return AVERROR_EXTERNAL;
    whence &= ~AVSEEK_FORCE;
    if (whence == AVSEEK_SIZE) return me.size_;
    const std::int64_t target = offset + (whence == SEEK_CUR ? me.position_ : whence == SEEK_END ? me.size_ : 0);
    if (target < 0) return AVERROR(EINVAL);
    try {
        me.writer_->seek(target);
        me.position_ = target;
        return target;
    } catch (...) {
        me.error_ = std::current_exception();
        return AVERROR_EXTERNAL;
    }
}

int AvioWriter::read(void* reading, std::uint8_t* data, int size) {
    auto& at = *static_cast<Reading*>(reading);
    if (at.of->error_) return AVERROR_EXTERNAL;
    try {
        const auto count =
            at.of->writer_->read_at(at.position, {reinterpret_cast<std::byte*>(data), static_cast<std::size_t>(size)});
        at.position += static_cast<std::int64_t>(count);
        return count == 0 ? AVERROR_EOF : static_cast<int>(count);
    } catch (...) {
        at.of->error_ = std::current_exception();
        return AVERROR_EXTERNAL;
    }
}

std::int64_t AvioWriter::seek_reading(void* reading, std::int64_t offset, int whence) {
    auto& at = *static_cast<Reading*>(reading);
    whence &= ~AVSEEK_FORCE;
    if (whence == AVSEEK_SIZE) return at.of->size_;
    const std::int64_t target = offset + (whence == SEEK_CUR ? at.position : whence == SEEK_END ? at.of->size_ : 0);
    if (target < 0) return AVERROR(EINVAL);
    at.position = target;
    return target;
}

}  // namespace tricodec
