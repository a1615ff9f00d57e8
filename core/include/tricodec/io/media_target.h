// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tricodec {

/// Where bytes are written in order and, if seekable, at any place. Not thread safe.
class ByteWriter {
public:
    virtual ~ByteWriter() = default;
    /// Writes all of `bytes` at the current position, which moves past them. Throws on failure.
    virtual void write(std::span<const std::byte> bytes) = 0;
    /// Only called where seekable().
    virtual void seek(std::int64_t position) = 0;
    [[nodiscard]] virtual bool seekable() const = 0;
    /// True if read_at() gives back what was written, which a fast start needs.
    [[nodiscard]] virtual bool readable() const { return false; }
    /// Fills a prefix of `out` from `position` on; 0 is the end. Moves nothing. Only called where readable().
    virtual std::size_t read_at(std::int64_t position, std::span<std::byte> out);
    /// Everything is written: what is buffered goes out, and a file gets its name. Throws on failure. A writer that is
    /// destroyed without it leaves a file that was there as it was.
    virtual void finish() {}
};

/// Where media go: a file, bytes in memory, or a writer of the caller's. Cheap to copy.
class MediaTarget {
public:
    /// An OutputFile: its name has the file once it is whole. Throws Error(refused) for URLs and protocols, naming what
    /// to pass instead.
    [[nodiscard]] static MediaTarget from_path(const std::filesystem::path& path);
    /// Bytes that are appended to and overwritten as the container is written.
    [[nodiscard]] static MediaTarget from_memory(std::shared_ptr<std::vector<std::byte>> bytes,
                                                 std::string name = "<bytes>");
    [[nodiscard]] static MediaTarget from_writer(std::shared_ptr<ByteWriter> writer, std::string name = "<writer>");

    /// The same target; a new file has these permissions at most.
    [[nodiscard]] MediaTarget with_permissions(unsigned permissions) const;
    /// Throws Error(not_found) for a folder that does not exist, Error(io) where the target cannot be written.
    [[nodiscard]] std::shared_ptr<ByteWriter> open() const;
    /// A path, or what the maker said.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Empty where it is not from_path().
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    MediaTarget() = default;
    std::string name_;
    std::filesystem::path path_;
    std::shared_ptr<std::vector<std::byte>> bytes_;
    std::shared_ptr<ByteWriter> writer_;
    unsigned permissions_ = 0666;
};

}  // namespace tricodec
