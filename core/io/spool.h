// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tricodec/base/buffer.h"
#include "tricodec/base/limits.h"
#include "tricodec/io/media_source.h"

namespace tricodec {

/// Keeps the bytes of a source that cannot seek, to read them again. The source is read once, in order, and only as far
/// as needed. The first bytes are in memory, the rest in a temporary file without a name; Limits bounds both.
/// Thread safety: safe.
class Spool {
public:
    Spool(std::shared_ptr<ByteReader> source, std::string name);
    ~Spool();

    /// Fills a prefix of `out` with the bytes from `position` on; 0 is the end. Throws what the source throws,
    /// Error(refused) past the limits, and Error(unsupported) for bytes that were not kept.
    std::size_t read(std::int64_t position, std::span<std::byte> out);
    /// False if bytes from `position` on were read and not kept.
    [[nodiscard]] bool has(std::int64_t position) const;
    /// The size of the source, once its end was read.
    [[nodiscard]] std::optional<std::int64_t> known_size_bytes() const;
    /// Reads to the end of the source.
    std::int64_t size_bytes();

    /// Keeps everything until the spool is destroyed.
    void keep_all();
    /// Bytes that are kept now can still be read once; new bytes of the source are not kept. Has no effect after
    /// keep_all().
    void keep_no_more();

private:
    std::size_t read_kept(std::int64_t position, std::span<std::byte> out) const;
    std::size_t read_source(std::span<std::byte> out);
    void keep(std::span<const std::byte> bytes);
    [[nodiscard]] std::size_t keep_in_memory(std::span<const std::byte> bytes);
    void keep_in_file(std::span<const std::byte> bytes);
    void forget() noexcept;

    mutable std::mutex mutex_;
    const std::shared_ptr<ByteReader> source_;
    const std::string name_;
    const Limits limits_;
    std::vector<std::shared_ptr<Buffer>> blocks_;
    int fd_ = -1;  // has what the blocks do not
    std::int64_t in_memory_ = 0;
    std::int64_t kept_ = 0;  // bytes from the start that are in memory or in the file
    std::int64_t end_ = 0;   // of what was read of the source
    bool ended_ = false;
    bool keeps_ = true;
    bool keeps_all_ = false;
    std::exception_ptr failure_;  // bytes of the source are lost, so that nothing after them has a place
};

/// A spool as a source that can seek. To find its size, it reads to the end.
class SpoolReader final : public ByteReader {
public:
    explicit SpoolReader(std::shared_ptr<Spool> spool) : spool_(std::move(spool)) {}

    std::size_t read(std::span<std::byte> out) override {
        const auto count = spool_->read(position_, out);
        position_ += static_cast<std::int64_t>(count);
        return count;
    }
    void seek(std::int64_t position) override { position_ = position; }
    [[nodiscard]] std::optional<std::int64_t> size_bytes() const override { return spool_->size_bytes(); }
    [[nodiscard]] bool seekable() const override { return true; }

private:
    std::shared_ptr<Spool> spool_;
    std::int64_t position_ = 0;
};

}  // namespace tricodec
