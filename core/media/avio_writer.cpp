// SPDX-License-Identifier: Apache-2.0
#include "media/avio_writer.h"

#include <algorithm>
#include <cstdio>

namespace tricodec {
namespace {
constexpr int kBufferBytes = 256 * 1024;

void free_context(AVIOContext* context) noexcept {
    // libavformat may have replaced the buffer by a larger one.
    av_freep(&context->buffer);
    avio_context_free(&context);
}
}  // namespace

AvioWriter::AvioWriter(std::shared_ptr<ByteWriter> writer) : writer_(std::move(writer)) {
    auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
    TRICODEC_EXPECT(buffer != nullptr, out_of_memory, "could not allocate a write buffer");
    context_ = avio_alloc_context(buffer, kBufferBytes, 1, this, nullptr, write, writer_->seekable() ? seek : nullptr);
    if (context_ == nullptr) {
        av_free(buffer);
        fail(ErrorCode::out_of_memory, "could not allocate a write context");
    }
    context_->seekable = writer_->seekable() ? AVIO_SEEKABLE_NORMAL : 0;
}

AvioWriter::~AvioWriter() {
    free_context(context_);
}

AVIOContext* AvioWriter::open_for_reading() {
    auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
    if (buffer == nullptr) return nullptr;
    auto* reading = new Reading{this, 0};
    auto* context = avio_alloc_context(buffer, kBufferBytes, 0, reading, read, nullptr, seek_reading);
    if (context == nullptr) {
        av_free(buffer);
        delete reading;
    }
    return context;
}

void AvioWriter::close(AVIOContext* reading) noexcept {
    delete static_cast<Reading*>(reading->opaque);
    free_context(reading);
}

void AvioWriter::rethrow() {
    if (!error_) return;
    auto error = error_;
    error_ = nullptr;
    std::rethrow_exception(error);
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
