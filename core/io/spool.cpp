// SPDX-License-Identifier: Apache-2.0
#include "io/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr std::int64_t kBlockBytes = 256 * 1024;
constexpr std::size_t kSkipBytes = 64 * 1024;

/// A file without a name: it goes with its last descriptor, also when the process is killed.
int open_temporary(const std::filesystem::path& directory) {
    const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
    auto name = (directory / "tricodec-XXXXXX").string();  // a file system without O_TMPFILE
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0) ::unlink(name.c_str());
    return named;
}

}  // namespace

Spool::Spool(std::shared_ptr<ByteReader> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), limits_(limits()) {}

Spool::~Spool() {
    if (fd_ >= 0) ::close(fd_);
}

std::size_t Spool::read(std::int64_t position, std::span<std::byte> out) {
    if (out.empty()) return 0;
    const std::lock_guard lock(mutex_);
    if (position < kept_) return read_kept(position, out);
    TRICODEC_EXPECT(
        position >= end_, unsupported,
        "'" + name_ + "' cannot be read again from the start; pass a file, bytes or an object that can seek");
    std::vector<std::byte> skipped;
    while (end_ < position) {
        skipped.resize(kSkipBytes);
        const auto most = std::min<std::int64_t>(position - end_, kSkipBytes);
        if (read_source(std::span(skipped).first(static_cast<std::size_t>(most))) == 0) return 0;
    }
    return read_source(out);
}

bool Spool::has(std::int64_t position) const {
    const std::lock_guard lock(mutex_);
    return position < kept_ || position >= end_;
}

std::optional<std::int64_t> Spool::known_size_bytes() const {
    const std::lock_guard lock(mutex_);
    return ended_ ? std::optional(end_) : std::nullopt;
}

std::int64_t Spool::size_bytes() {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte> rest(kSkipBytes);
    while (read_source(rest) > 0) {
    }
    return end_;
}

void Spool::keep_all() {
    const std::lock_guard lock(mutex_);
    keeps_all_ = true;
}

void Spool::keep_no_more() {
    const std::lock_guard lock(mutex_);
    keeps_ = keeps_all_;
}

std::size_t Spool::read_source(std::span<std::byte> out) {
    if (failure_) std::rethrow_exception(failure_);
    if (ended_) return 0;
    if (!keeps_) forget();
    const auto count = source_->read(out);
    TRICODEC_EXPECT(count <= out.size(), io,
                    "a reader returned " + std::to_string(count) + " bytes where " + std::to_string(out.size()) +
                        " were asked for");
    ended_ = count == 0;
    if (keeps_) {
        try {
            keep(out.first(count));
        } catch (...) {
            failure_ = std::current_exception();
            throw;
        }
    }
    end_ += static_cast<std::int64_t>(count);
    return count;
}

void Spool::keep(std::span<const std::byte> bytes) {
    TRICODEC_EXPECT(kept_ + static_cast<std::int64_t>(bytes.size()) <= limits_.max_spool_bytes, refused,
                    "'" + name_ + "' cannot seek, and more of it must be kept than limits.max_spool_bytes = " +
                        std::to_string(limits_.max_spool_bytes) +
                        " bytes; pass a path, bytes or an object that can seek, read it in order with Demuxer or "
                        "StreamReader, or raise the limit with set_limits()");
    const auto in_memory = keep_in_memory(bytes);
    kept_ += static_cast<std::int64_t>(in_memory);
    if (in_memory < bytes.size()) keep_in_file(bytes.subspan(in_memory));
}

std::size_t Spool::keep_in_memory(std::span<const std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size() && in_memory_ < limits_.max_spool_memory_bytes) {
        const auto used = in_memory_ % kBlockBytes;
        if (used == 0) blocks_.push_back(Buffer::allocate(kBlockBytes));
        const auto room = std::min(kBlockBytes - used, limits_.max_spool_memory_bytes - in_memory_);
        const auto count = std::min(static_cast<std::size_t>(room), bytes.size() - done);
        std::memcpy(blocks_.back()->data() + used, bytes.data() + done, count);
        in_memory_ += static_cast<std::int64_t>(count);
        done += count;
    }
    return done;
}

void Spool::keep_in_file(std::span<const std::byte> bytes) {
    std::error_code none;
    const auto directory = std::filesystem::temp_directory_path(none);
    const auto expect = [&](bool done) {
        if (done) return;
        fail(ErrorCode::io, "keeping '" + name_ + "', which cannot seek, in a temporary file in '" +
                                directory.string() + "' failed: " + std::strerror(errno) +
                                "; set TMPDIR to a directory with room, raise limits.max_spool_memory_bytes, or pass a "
                                "path, bytes or an object that can seek");
    };
    if (fd_ < 0) fd_ = open_temporary(directory);
    expect(fd_ >= 0);
    while (!bytes.empty()) {
        const auto count = ::pwrite(fd_, bytes.data(), bytes.size(), kept_ - in_memory_);
        if (count < 0 && errno == EINTR) continue;
        expect(count > 0);
        kept_ += count;
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

std::size_t Spool::read_kept(std::int64_t position, std::span<std::byte> out) const {
    if (position < in_memory_) {
        const auto place = position % kBlockBytes;
        const auto left = std::min(kBlockBytes - place, in_memory_ - position);
        const auto count = std::min(out.size(), static_cast<std::size_t>(left));
        const auto& block = blocks_[static_cast<std::size_t>(position / kBlockBytes)];
        std::memcpy(out.data(), block->data() + place, count);
        return count;
    }
    for (;;) {
        const auto most = std::min(out.size(), static_cast<std::size_t>(kept_ - position));
        const auto count = ::pread(fd_, out.data(), most, position - in_memory_);
        if (count > 0) return static_cast<std::size_t>(count);
        if (count < 0 && errno == EINTR) continue;
        fail(ErrorCode::io, "reading what was kept of '" + name_ +
                                "' failed: " + (count < 0 ? std::strerror(errno) : "the temporary file was cut short"));
    }
}

void Spool::forget() noexcept {
    blocks_.clear();
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    in_memory_ = kept_ = 0;
}

}  // namespace tricodec
