// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <string_view>
#include <utility>

#include "base/fork.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"

namespace tricodec {
namespace {

constexpr std::size_t kLongestName = 200;  // of the target's in the temporary one's: file systems take 255 bytes
constexpr mode_t kPermissions = 0777;

/// The temporary files of this process.
struct OpenParts {
    std::mutex mutex;
    std::set<std::string> paths;
};

/// Empty in a forked child: the temporary files are its parent's.
OpenParts& open_parts() {
    return one_per_process<OpenParts>();
}

/// True if `part` is this process's own.
bool forget(const std::string& part) noexcept {
    auto& parts = open_parts();
    std::lock_guard lock(parts.mutex);
    return parts.paths.erase(part) > 0;
}

/// What can be done about a failure, or nothing.
std::string_view remedy(int code) noexcept {
    switch (code) {
        case ENOENT:
        case ENOTDIR:
            return "; make its folder first, or write to another one";
        case ENOSPC:
        case EDQUOT:
            return "; free some space, or write to another folder";
        case EFBIG:
            return "; write to a file system that takes larger files, or raise the limit of the process (ulimit -f)";
        case EACCES:
        case EPERM:
        case EROFS:
            return "; write to a folder and over files that this user may change, or pass an open file";
        case EBUSY:
        case ETXTBSY:
            return "; the file cannot be replaced: write to another name, or pass an open file";
        default:
            return "";
    }
}

/// `.NAME.XXXXXX.part`, another one at each call.
std::string temporary_name(std::string name) {
    if (name.size() > kLongestName) {
        name.resize(kLongestName);
        // No part of a character of UTF-8: some file systems refuse such names.
        while (!name.empty() && (static_cast<unsigned char>(name.back()) & 0x80U) != 0) name.pop_back();
    }
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device random;
    std::uniform_int_distribution<std::size_t> any(0, kLetters.size() - 1);
    std::array<char, 6> letters{};
    for (auto& letter : letters) letter = kLetters[any(random)];
    return "." + name + "." + std::string(letters.data(), letters.size()) + ".part";
}

/// A system call again when a signal has ended it, unless the signal ends the caller's call.
template <class Call>
auto uninterrupted(Call&& call) {
    for (;;) {
        const auto result = call();
        if (result >= 0 || errno != EINTR) return result;
        check_interrupt(true);
    }
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path, unsigned permissions) : name_(path.string()), target_(path) {
    TRICODEC_EXPECT(!name_.empty(), invalid_argument, "the path to write to is empty");
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
        open_directly();
    } else {
        open_temporary(permissions);
    }
}

OutputFile::~OutputFile() {
    discard();
}

void OutputFile::open_directly() {
    regular_ = false;
    fd_ = uninterrupted([&] { return ::open(target_.c_str(), O_WRONLY | O_CLOEXEC); });
    if (fd_ < 0) fail_to("opening", errno);
}

void OutputFile::open_temporary(unsigned permissions) {
    // A link that points to nothing yet is followed too.
    std::error_code failed;
    for (int links = 0; std::filesystem::is_symlink(target_, failed); ++links) {
        if (links == 40) fail_to("opening", ELOOP);
        auto next = std::filesystem::read_symlink(target_, failed);
        if (failed) fail_to("opening", failed.value());
        target_ = target_.parent_path() / next;  // an absolute one stands alone
    }
    if (target_.filename().empty()) fail_to("opening", EISDIR);  // "folder/", and no folder is there

    struct stat old{};
    const bool replaces = ::stat(target_.c_str(), &old) == 0;
    // A file that is write-protected is not meant to be replaced, although its folder would allow it.
    if (replaces && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail_to("opening", errno);
    const mode_t mode = (replaces ? old.st_mode : permissions) & kPermissions;
    const auto folder = target_.parent_path();
    auto& parts = open_parts();
    do {
        part_ = (folder / temporary_name(target_.filename().string())).string();
        // Listed and made at once, for discard_open_outputs().
        std::lock_guard lock(parts.mutex);
        fd_ = ::open(part_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd_ >= 0) parts.paths.insert(part_);
    } while (fd_ < 0 && (errno == EEXIST || errno == EINTR));
    if (fd_ < 0) {
        part_.clear();
        fail_to("opening", errno);
    }
    if (!replaces) return;
    // Only root can give files away; the owner comes first, because a change of it takes permissions back.
    const bool given = ::fchown(fd_, old.st_uid, old.st_gid) == 0 || ::fchown(fd_, -1, old.st_gid) == 0;
    const bool permitted = ::fchmod(fd_, mode) == 0;
    static_cast<void>(given && permitted);  // file systems without owners or permissions keep neither
}

void OutputFile::fail_to(const char* what, int code) {
    failed_ = true;
    discard();  // at once: it takes room on a disk that may be full
    const auto kind = code == ENOENT || code == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
    const auto text = std::string(what) + " '" + name_ + "' failed: " + std::strerror(code);
    fail(kind, text + std::string(remedy(code)));
}

void OutputFile::expect_sound() const {
    TRICODEC_EXPECT(!failed_, io, "'" + name_ + "' is incomplete, because writing it failed; write it again");
    TRICODEC_EXPECT(fd_ >= 0, invalid_argument, "'" + name_ + "' is closed; open it again to write to it");
}

void OutputFile::write(std::span<const std::byte> bytes) {
    expect_sound();
    failed_ = true;  // until all is written, also where an interrupt ends this
    while (!bytes.empty()) {
        const auto count = uninterrupted([&] { return ::write(fd_, bytes.data(), bytes.size()); });
        if (count < 0) fail_to("writing", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    failed_ = false;
}

void OutputFile::seek(std::int64_t position) {
    if (::lseek(fd_, position, SEEK_SET) < 0) fail_to("seeking in", errno);
}

std::size_t OutputFile::read_at(std::int64_t position, std::span<std::byte> out) const {
    const auto count = uninterrupted([&] { return ::pread(fd_, out.data(), out.size(), position); });
    TRICODEC_EXPECT(count >= 0, io, "reading back '" + name_ + "' failed: " + std::strerror(errno));
    return static_cast<std::size_t>(count);
}

void OutputFile::finish() {
    if (finished_) return;
    expect_sound();
    // The bytes reach the disk before the name does: after a power cut the name has the old file or the new one.
    if (regular_ && uninterrupted([&] { return ::fdatasync(fd_); }) != 0) fail_to("writing", errno);
    // Some file systems report only when closing that the disk is full.
    if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) fail_to("closing", errno);
    if (regular_) {
        if (::rename(part_.c_str(), target_.c_str()) != 0) fail_to("naming", errno);
        forget(part_);
    }
    finished_ = true;
}

void OutputFile::discard() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    if (!finished_ && !part_.empty() && forget(part_)) ::unlink(part_.c_str());
}

void discard_open_outputs() noexcept {
    auto& parts = open_parts();
    std::lock_guard lock(parts.mutex);
    for (const auto& part : parts.paths) ::unlink(part.c_str());
    parts.paths.clear();
}

}  // namespace tricodec
