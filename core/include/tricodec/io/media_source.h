// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace tricodec {

/// A part of a source.
struct ByteRange {
    std::int64_t offset = 0;
    std::int64_t size_bytes = 0;
};

/// Bytes that can be read in order and, if seekable, from any place. Not thread safe.
class ByteReader {
public:
    virtual ~ByteReader() = default;
    /// Fills a prefix of `out`; 0 is the end. Throws on failure.
    virtual std::size_t read(std::span<std::byte> out) = 0;
    virtual void seek(std::int64_t position) = 0;
    [[nodiscard]] virtual std::optional<std::int64_t> size_bytes() const = 0;
    [[nodiscard]] virtual bool seekable() const = 0;
    /// True if reads are slow enough that will_read() is worth a call: a reader of an object store.
    [[nodiscard]] virtual bool fetches_ahead() const { return false; }
    /// Announces what the next reads take, in their order.
    virtual void will_read(std::span<const ByteRange> /*ranges*/) {}
    /// Announces reads from here on in order, to the end unless they stop.
    virtual void will_read_on() {}
};

class Spool;

/// Where media come from: a regular file, bytes in memory, or a reader of the caller's. Only these are ever opened;
/// nothing inside a file can name another file or a socket. Cheap to copy.
class MediaSource {
public:
    /// Throws Error(refused) for URLs and protocols ("http://", "concat:"), naming what to pass instead.
    [[nodiscard]] static MediaSource from_path(const std::filesystem::path& path);
    /// The bytes are not copied; `owner` keeps them valid.
    [[nodiscard]] static MediaSource from_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                                std::string name = "<bytes>");
    /// One open at a time; a reader that can seek is rewound by each open. What a reader that cannot seek has given is
    /// kept as far as its container needs, within Limits::max_spool_bytes.
    [[nodiscard]] static MediaSource from_reader(std::shared_ptr<ByteReader> reader, std::string name = "<reader>");

    /// The same source, of a file with these permissions.
    [[nodiscard]] MediaSource with_permissions(unsigned permissions) const;
    /// Of the file, for files that are made of it. 0666 if none is known.
    [[nodiscard]] unsigned permissions() const noexcept;
    /// A fresh reader at position 0. Throws Error(not_found), Error(io) or Error(refused).
    [[nodiscard]] std::shared_ptr<ByteReader> open() const;
    /// True if several readers can be open at the same time (paths, bytes, and what spooled() gave of a reader).
    [[nodiscard]] bool reopenable() const noexcept;
    /// The same source for reading it at any place, as often as wanted, several at the same time. Of a reader that
    /// cannot seek, all that is read from now on is kept, within Limits::max_spool_bytes.
    [[nodiscard]] MediaSource spooled() const;
    /// spooled() for several readers at the same time. Then only what this gives may read the source.
    [[nodiscard]] MediaSource shared() const;
    /// What keeps the bytes of a reader that cannot seek and is read in order; null for all other sources.
    [[nodiscard]] std::shared_ptr<Spool> forward_spool() const noexcept;
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Empty where it is not from_path().
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    MediaSource() = default;
    std::string name_;
    std::filesystem::path path_;
    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> owner_;
    std::shared_ptr<ByteReader> reader_;
    std::shared_ptr<std::mutex> reader_mutex_;  // where it is open at several places
    std::shared_ptr<Spool> spool_;              // in place of a reader that cannot seek
    bool in_order_ = false;                     // the spool is read once
    std::optional<unsigned> permissions_;
};

/// Some bytes of a regular file, as a source of their own: a member of an archive. They are read into memory. Throws
/// Error(not_found, io), Error(corrupt_data) if the file ends before they do.
[[nodiscard]] MediaSource source_of_file_part(const std::filesystem::path& path, std::int64_t offset_bytes,
                                              std::int64_t size_bytes, std::string name);

}  // namespace tricodec
