// SPDX-License-Identifier: Apache-2.0
#include "media/avio.h"

#include <cstdio>

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

std::string probe_hint(const std::string& name) {
    const auto dot = name.find_last_of("./");
    return dot == std::string::npos || name[dot] == '/' ? "" : "media" + name.substr(dot);
}

AvioReader::AvioReader(std::shared_ptr<ByteReader> reader, int buffer_bytes) : reader_(std::move(reader)) {
    const int size = buffer_bytes > 0 ? buffer_bytes : kBufferBytes;
    auto* buffer = static_cast<unsigned char*>(av_malloc(static_cast<std::size_t>(size)));
    TRICODEC_EXPECT(buffer != nullptr, out_of_memory, "could not allocate a read buffer");
    context_ = avio_alloc_context(buffer, size, 0, this, read, nullptr, reader_->seekable() ? seek : nullptr);
    if (context_ == nullptr) {
        av_free(buffer);
        fail(ErrorCode::out_of_memory, "could not allocate a read context");
    }
    context_->seekable = reader_->seekable() ? AVIO_SEEKABLE_NORMAL : 0;
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
    try {
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

std::int64_t AvioReader::seek(void* self, std::int64_t offset, int whence) {
    auto& me = *static_cast<AvioReader*>(self);
    if (me.error_) return AVERROR_EXTERNAL;
    try {
        const auto size = me.reader_->size_bytes();
        whence &= ~AVSEEK_FORCE;
        if (whence == AVSEEK_SIZE) return size ? *size : AVERROR(ENOSYS);
        std::int64_t target = offset;
        if (whence == SEEK_CUR) target += me.position_;
        if (whence == SEEK_END) {
            if (!size) return AVERROR(ENOSYS);
            target += *size;
        }
        if (target < 0) return AVERROR(EINVAL);
        me.reader_->seek(target);
        me.position_ = target;
        return target;
    } catch (...) {
        me.error_ = std::current_exception();
        return AVERROR_EXTERNAL;
    }
}

}  // namespace tricodec
