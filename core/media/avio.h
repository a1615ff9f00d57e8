// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "media/ffmpeg.h"
#include "tricodec/media_source.h"

namespace tricodec {

/// For AVFormatContext::io_open: called whenever something inside a file would open another file or a socket.
int refuse_to_open(AVFormatContext* context, AVIOContext** io, const char* url, int flags, AVDictionary** options);
/// The extension of a source's name, as a hint for formats whose bytes say little; the rest of it is nobody's business.
[[nodiscard]] std::string probe_hint(const std::string& name);

/// A ByteReader as libavformat reads it. Exceptions of the reader are kept here, because they cannot cross C code.
class AvioReader {
public:
    /// Bytes are asked for `buffer_bytes` at a time; 0 is a size that suits files.
    explicit AvioReader(std::shared_ptr<ByteReader> reader, int buffer_bytes = 0);
    AvioReader(const AvioReader&) = delete;
    AvioReader& operator=(const AvioReader&) = delete;
    ~AvioReader();

    [[nodiscard]] AVIOContext* context() const noexcept { return context_; }
    [[nodiscard]] const ByteReader& reader() const noexcept { return *reader_; }
    /// Lends the reader to `look`, and puts it back to where libavformat left it.
    template <class Look>
    auto lend(Look look) {
        auto result = look(*reader_);
        reader_->seek(position_);
        return result;
    }
    /// Throws what the reader threw during the last calls of libavformat, if anything.
    void rethrow();

private:
    static int read(void* self, std::uint8_t* data, int size);
    static std::int64_t seek(void* self, std::int64_t offset, int whence);

    std::shared_ptr<ByteReader> reader_;
    AVIOContext* context_ = nullptr;
    std::int64_t position_ = 0;
    std::exception_ptr error_;
};

}  // namespace tricodec
