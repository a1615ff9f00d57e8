// SPDX-License-Identifier: Apache-2.0
#include "tricodec/io/media_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/suggestion.h"
#include "io/container_policy.h"
#include "io/spool.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr std::size_t kMostNames = 2000;

std::string system_text(int code) {
    return std::strerror(code);
}

/// What may be meant by a path at which there is no file.
std::string remedy_of(const std::filesystem::path& path) {
    if (path.string().starts_with("~")) return "; only a shell replaces ~: write the whole path";
    std::error_code failed;
    if (std::filesystem::is_symlink(path, failed)) return "; it is a link to a file that is not there";
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::current_path(failed);
    std::vector<std::string> names;
    for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        names.push_back(entry->path().filename().string());
        if (names.size() == kMostNames) break;
    }
    if (failed) return "; there is no folder '" + folder.string() + "'";
    const std::string nearest = nearest_word(path.filename().string(), names);
    if (!nearest.empty()) return "; did you mean '" + (path.parent_path() / nearest).string() + "'?";
    return path.is_absolute() ? "; check the path" : "; it was looked for in '" + folder.string() + "'";
}

class FileReader final : public ByteReader {
public:
    explicit FileReader(const std::filesystem::path& path) : name_(path.string()) {
        // O_NONBLOCK: opening a named pipe must not wait for a writer before it is refused below.
        fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd_ < 0) {
            const auto code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
            const std::string why = system_text(errno);
            fail(code, "cannot open '" + name_ + "': " + why + (code == ErrorCode::not_found ? remedy_of(path) : ""));
        }
        struct stat status{};
        if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
            ::close(fd_);
            const bool is_folder = S_ISDIR(status.st_mode);
            fail(ErrorCode::refused, "'" + name_ + "' is " +
                                         (is_folder ? "a folder; pass one of the files in it"
                                                    : "not a regular file; read it yourself and pass the bytes or a "
                                                      "file-like object"));
        }
        size_ = status.st_size;
    }
    FileReader(const FileReader&) = delete;
    FileReader& operator=(const FileReader&) = delete;
    ~FileReader() override { ::close(fd_); }

    std::size_t read(std::span<std::byte> out) override {
        for (;;) {
            const auto count = ::pread(fd_, out.data(), out.size(), position_);
            if (count >= 0) {
                position_ += count;
                return static_cast<std::size_t>(count);
            }
            if (errno != EINTR) fail(ErrorCode::io, "reading '" + name_ + "' failed: " + system_text(errno));
        }
    }
    void seek(std::int64_t position) override { position_ = position; }
    std::optional<std::int64_t> size_bytes() const override { return size_; }
    bool seekable() const override { return true; }

private:
    std::string name_;
    int fd_ = -1;
    std::int64_t position_ = 0;
    std::int64_t size_ = 0;
};

class MemoryReader final : public ByteReader {
public:
    MemoryReader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
        : bytes_(bytes), owner_(std::move(owner)) {}

    std::size_t read(std::span<std::byte> out) override {
        if (position_ >= bytes_.size()) return 0;
        const auto count = std::min(out.size(), bytes_.size() - position_);
        std::memcpy(out.data(), bytes_.data() + position_, count);
        position_ += count;
        return count;
    }
    void seek(std::int64_t position) override { position_ = static_cast<std::size_t>(position); }
    std::optional<std::int64_t> size_bytes() const override { return static_cast<std::int64_t>(bytes_.size()); }
    bool seekable() const override { return true; }

private:
    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> owner_;
    std::size_t position_ = 0;
};

/// One of several places in a reader of the caller's, which has one itself.
class SharedReader final : public ByteReader {
public:
    /// `mutex`: of all that read `reader`.
    SharedReader(std::shared_ptr<ByteReader> reader, std::shared_ptr<std::mutex> mutex)
        : reader_(std::move(reader)), mutex_(std::move(mutex)) {}

    std::size_t read(std::span<std::byte> out) override {
        const std::lock_guard lock(*mutex_);
        reader_->seek(position_);
        const auto count = reader_->read(out);
        position_ += static_cast<std::int64_t>(count);
        return count;
    }
    void seek(std::int64_t position) override { position_ = position; }
    std::optional<std::int64_t> size_bytes() const override {
        const std::lock_guard lock(*mutex_);
        return reader_->size_bytes();
    }
    bool seekable() const override { return true; }
    bool fetches_ahead() const override { return reader_->fetches_ahead(); }
    void will_read(std::span<const ByteRange> ranges) override {
        const std::lock_guard lock(*mutex_);
        reader_->will_read(ranges);
    }
    void will_read_on() override {
        const std::lock_guard lock(*mutex_);
        reader_->seek(position_);
        reader_->will_read_on();
    }

private:
    std::shared_ptr<ByteReader> reader_;
    std::shared_ptr<std::mutex> mutex_;
    std::int64_t position_ = 0;
};

}  // namespace

MediaSource MediaSource::from_path(const std::filesystem::path& path) {
    const std::string text = path.string();
    TRICODEC_EXPECT(!text.empty(), invalid_argument,
                    "the path is empty; pass a file's path, its bytes or a file-like object");
    if (const auto protocol = protocol_of(text); !protocol.empty()) {
        struct stat status{};
        TRICODEC_EXPECT(
            ::stat(text.c_str(), &status) == 0, refused,
            "'" + text + "' names the protocol '" + std::string(protocol) +
                "', and only files and memory are opened; fetch the media yourself and pass a plain path, the "
                "bytes or a file-like object (in Python, tricodec.open_remote opens s3, gs, az, https and hf)");
    }
    MediaSource source;
    source.name_ = text;
    source.path_ = path;
    return source;
}

MediaSource MediaSource::from_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                    std::string name) {
    MediaSource source;
    source.name_ = std::move(name);
    source.bytes_ = bytes;
    source.owner_ = owner ? std::move(owner) : std::make_shared<int>(0);
    return source;
}

MediaSource MediaSource::from_reader(std::shared_ptr<ByteReader> reader, std::string name) {
    TRICODEC_EXPECT(reader != nullptr, invalid_argument, "the reader is null");
    MediaSource source;
    source.name_ = std::move(name);
    if (reader->seekable()) {
        source.reader_ = std::move(reader);
    } else {
        source.spool_ = std::make_shared<Spool>(std::move(reader), source.name_);
        source.in_order_ = true;
    }
    return source;
}

MediaSource MediaSource::with_permissions(unsigned permissions) const {
    MediaSource source = *this;
    source.permissions_ = permissions;
    return source;
}

unsigned MediaSource::permissions() const noexcept {
    struct stat status{};
    if (permissions_) return *permissions_;
    return !path_.empty() && ::stat(path_.c_str(), &status) == 0 ? status.st_mode & 0777 : 0666;
}

std::shared_ptr<ByteReader> MediaSource::open() const {
    if (reader_ && reader_mutex_) return std::make_shared<SharedReader>(reader_, reader_mutex_);
    if (reader_) {
        reader_->seek(0);
        return reader_;
    }
    if (spool_) return std::make_shared<SpoolReader>(spool_);
    if (owner_) return std::make_shared<MemoryReader>(bytes_, owner_);
    return std::make_shared<FileReader>(path_);
}

bool MediaSource::reopenable() const noexcept {
    return (reader_ == nullptr || reader_mutex_ != nullptr) && !in_order_;
}

MediaSource MediaSource::spooled() const {
    MediaSource source = *this;
    if (source.spool_) source.spool_->keep_all();
    source.in_order_ = false;
    return source;
}

MediaSource MediaSource::shared() const {
    MediaSource source = spooled();
    if (source.reader_ && !source.reader_mutex_) source.reader_mutex_ = std::make_shared<std::mutex>();
    return source;
}

std::shared_ptr<Spool> MediaSource::forward_spool() const noexcept {
    return in_order_ ? spool_ : nullptr;
}

MediaSource source_of_file_part(const std::filesystem::path& path, std::int64_t offset_bytes, std::int64_t size_bytes,
                                std::string name) {
    const auto file = MediaSource::from_path(path).open();
    const auto file_bytes = file->size_bytes().value_or(0);
    // Checked before memory is taken.
    const bool inside =
        offset_bytes >= 0 && size_bytes >= 0 && offset_bytes <= file_bytes && size_bytes <= file_bytes - offset_bytes;
    const auto message = "'" + path.string() + "' has " + std::to_string(file_bytes) + " bytes, and not the " +
                         std::to_string(size_bytes) + " from byte " + std::to_string(offset_bytes) +
                         " on; make its index again";
    TRICODEC_EXPECT(inside, corrupt_data, message);
    auto part = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size_bytes));
    file->seek(offset_bytes);
    for (std::span<std::byte> left(*part); !left.empty();) {
        const auto num_read = file->read(left);
        TRICODEC_EXPECT(num_read > 0, corrupt_data, message);
        left = left.subspan(num_read);
    }
    const std::span<const std::byte> bytes(*part);
    return MediaSource::from_bytes(bytes, std::move(part), std::move(name));
}

}  // namespace tricodec
