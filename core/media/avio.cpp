// SPDX-License-Identifier: Apache-2.0
#include "media/avio.h"

#include <cstdio>

#include "base/fork.h"
#include "tricodec/log.h"

namespace tricodec {
namespace {
constexpr int kBufferBytes = 64 * 1024;
}

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
    : reader_(source.open()), spool_(source.forward_spool()) {
    const int size = buffer_bytes > 0 ? buffer_bytes : kBufferBytes;
    auto* buffer = static_cast<unsigned char*>(av_malloc(static_cast<std::size_t>(size)));
    TRICODEC_EXPECT(buffer != nullptr, out_of_memory, "could not allocate a read buffer");
    context_ = avio_alloc_context(buffer, size, 0, this, read, nullptr, seek);
    if (context_ == nullptr) {
        av_free(buffer);
        fail(ErrorCode::out_of_memory, "could not allocate a read context");
    }
    context_->seekable = seekable() ? AVIO_SEEKABLE_NORMAL : 0;
}

std::optional<std::int64_t> AvioReader::size_bytes() const {
    return spool_ ? spool_->known_size_bytes() : reader_->size_bytes();
}

void AvioReader::opened(bool goes_back) {
    if (spool_ && !goes_back) spool_->keep_no_more();
}

AvioReader::~AvioReader() {
    // libavformat may have replaced the buffer by a larger one.
    av_freep(&context_->buffer);
    avio_context_free(&context_);
}

void AvioReader::rethrow() {
    if (!error_) return;
    auto error = error_;
    error_ = nullptr;
    std::rethrow_exception(error);
}

int AvioReader::read(void* self, std::uint8_t* data, int size) {
    auto& me = *static_cast<AvioReader*>(self);
    if (me.error_) return AVERROR_EXTERNAL;
    if (me.past_end_) return AVERROR_EOF;
    try {
        const ForkAllowed waits;  // for a disk, or for Python's lock
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
        const auto size = me.size_bytes();
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

}  // namespace tricodec
