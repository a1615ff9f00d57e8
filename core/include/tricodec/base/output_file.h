// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace tricodec {

/// A file that is written whole or not at all.
///
/// The bytes go to a temporary file beside the target, `.NAME.XXXXXX.part`. finish() writes them to the disk and gives
/// the file its name; until then the target is as it was. A process that is killed leaves the temporary file alone.
/// The new file has the permissions and, where the system allows it, the owner of the file that it replaces; a new
/// name has `permissions`, less the umask. A symbolic link stays one, and the file that it points to is replaced. A
/// target that is not a regular file (a pipe, /dev/stdout, /dev/null) is written directly. Thread safety: one object
/// from one thread at a time.
class OutputFile {
public:
    /// Throws Error(not_found) for a folder that does not exist, Error(io) where the target cannot be written.
    explicit OutputFile(const std::filesystem::path& path, unsigned permissions = 0666);
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    /// discard()
    ~OutputFile();

    /// Writes all of `bytes` at the current position. Throws Error(io), which discards the file.
    void write(std::span<const std::byte> bytes);
    void seek(std::int64_t position);
    /// Fills a prefix of `out` from `position` on; 0 is the end. Moves nothing. Only of a regular() file.
    [[nodiscard]] std::size_t read_at(std::int64_t position, std::span<std::byte> out) const;
    /// Gives the file its name. A second time does nothing. Throws Error(io) if that fails, which discards the file, or
    /// if writing has failed.
    void finish();
    /// Removes the temporary file, unless finish() was called.
    void discard() noexcept;

    /// False for a target that is written directly, which can neither seek nor be read back.
    [[nodiscard]] bool regular() const noexcept { return regular_; }

private:
    void open_directly();
    void open_temporary(unsigned permissions);
    void expect_sound() const;
    [[noreturn]] void fail_to(const char* what, int code);

    std::string name_;              // as the caller gave it
    std::filesystem::path target_;  // with symbolic links followed
    std::string part_;              // the temporary file; empty if there is none
    int fd_ = -1;
    bool regular_ = true;
    bool failed_ = false;
    bool finished_ = false;
};

/// Removes the temporary files of all OutputFiles of this process, for a process that ends without their destructors.
void discard_open_outputs() noexcept;

}  // namespace tricodec
