// SPDX-License-Identifier: Apache-2.0
#include "tricodec/media_target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "media/container_policy.h"
#include "tricodec/error.h"

namespace tricodec {
namespace {

std::string system_text(int code) {
    return std::strerror(code);
}

/// A file, or anything else that a path can name and that takes bytes (a pipe, /dev/null).
class FileWriter final : public ByteWriter {
public:
    explicit FileWriter(const std::filesystem::path& path) : name_(path.string()) {
        fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd_ < 0 && errno == EACCES) fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd_ < 0) {
            const auto code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
            fail(code, "cannot write to '" + name_ + "': " + system_text(errno));
        }
        struct stat status{};
        regular_ = ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
    }
    FileWriter(const FileWriter&) = delete;
    FileWriter& operator=(const FileWriter&) = delete;
    ~FileWriter() override {
        if (fd_ >= 0) ::close(fd_);
    }

    void write(std::span<const std::byte> bytes) override {
        while (!bytes.empty()) {
            const auto count = ::write(fd_, bytes.data(), bytes.size());
            if (count >= 0) {
                bytes = bytes.subspan(static_cast<std::size_t>(count));
            } else if (errno != EINTR) {
                fail(ErrorCode::io, "writing '" + name_ + "' failed: " + system_text(errno));
            }
        }
    }
    void seek(std::int64_t position) override {
        if (::lseek(fd_, position, SEEK_SET) < 0)
            fail(ErrorCode::io, "seeking in '" + name_ + "' failed: " + system_text(errno));
    }
    bool seekable() const override { return regular_; }
    bool readable() const override { return regular_; }
    std::size_t read_at(std::int64_t position, std::span<std::byte> out) override {
        for (;;) {
            const auto count = ::pread(fd_, out.data(), out.size(), position);
            if (count >= 0) return static_cast<std::size_t>(count);
            if (errno != EINTR) fail(ErrorCode::io, "reading back '" + name_ + "' failed: " + system_text(errno));
        }
    }
    void finish() override {
        const int closed = ::close(std::exchange(fd_, -1));
        // Some file systems report only now that the disk is full.
        if (closed != 0 && errno != EINTR) fail(ErrorCode::io, "closing '" + name_ + "' failed: " + system_text(errno));
    }

private:
    std::string name_;
    int fd_ = -1;
    bool regular_ = false;
};

class MemoryWriter final : public ByteWriter {
public:
    explicit MemoryWriter(std::shared_ptr<std::vector<std::byte>> bytes) : bytes_(std::move(bytes)) { bytes_->clear(); }

    void write(std::span<const std::byte> bytes) override {
        const auto end = position_ + bytes.size();
        if (end > bytes_->size()) {
            // Growth by doubling is resize()'s own affair only where it is asked for one element at a time.
            if (end > bytes_->capacity()) bytes_->reserve(std::max(end, bytes_->capacity() * 2));
            bytes_->resize(end);
        }
        std::memcpy(bytes_->data() + position_, bytes.data(), bytes.size());
        position_ = end;
    }
    void seek(std::int64_t position) override {
        position_ = static_cast<std::size_t>(position);
        if (position_ > bytes_->size()) bytes_->resize(position_);
    }
    bool seekable() const override { return true; }
    bool readable() const override { return true; }
    std::size_t read_at(std::int64_t position, std::span<std::byte> out) override {
        const auto from = static_cast<std::size_t>(position);
        if (from >= bytes_->size()) return 0;
        const auto count = std::min(out.size(), bytes_->size() - from);
        std::memcpy(out.data(), bytes_->data() + from, count);
        return count;
    }

private:
    std::shared_ptr<std::vector<std::byte>> bytes_;
    std::size_t position_ = 0;
};

}  // namespace

std::size_t ByteWriter::read_at(std::int64_t, std::span<std::byte>) {
    fail(ErrorCode::unsupported, "this writer cannot read back what was written");
}

MediaTarget MediaTarget::from_path(const std::filesystem::path& path) {
    const std::string text = path.string();
    TRICODEC_EXPECT(!text.empty(), invalid_argument, "the path to write to is empty");
    TRICODEC_EXPECT(protocol_of(text).empty(), refused,
                    "'" + text + "' names the protocol '" + std::string(protocol_of(text)) +
                        "', and only files and memory are written; pass a plain path (./" + text +
                        " for a file of that name) or a file-like object");
    MediaTarget target;
    target.name_ = text;
    target.path_ = path;
    return target;
}

MediaTarget MediaTarget::from_memory(std::shared_ptr<std::vector<std::byte>> bytes, std::string name) {
    TRICODEC_EXPECT(bytes != nullptr, invalid_argument, "the bytes to write to are null");
    MediaTarget target;
    target.name_ = std::move(name);
    target.bytes_ = std::move(bytes);
    return target;
}

MediaTarget MediaTarget::from_writer(std::shared_ptr<ByteWriter> writer, std::string name) {
    TRICODEC_EXPECT(writer != nullptr, invalid_argument, "the writer is null");
    MediaTarget target;
    target.name_ = std::move(name);
    target.writer_ = std::move(writer);
    return target;
}

std::shared_ptr<ByteWriter> MediaTarget::open() const {
    if (writer_) return writer_;
    if (bytes_) return std::make_shared<MemoryWriter>(bytes_);
    return std::make_shared<FileWriter>(path_);
}

}  // namespace tricodec
