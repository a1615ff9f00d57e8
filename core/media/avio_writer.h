// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>

#include "media/ffmpeg.h"
#include "tricodec/media_target.h"

namespace tricodec {

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
