// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "index/stream_index.h"
#include "io/digest.h"
#include "tricodec/index/frame_index.h"

namespace tricodec {

/// An index in memory, and what tells its source from others.
class FrameIndex {
public:
    FrameIndex(std::shared_ptr<const StreamIndex> index, Digest::Value source)
        : index_(std::move(index)), source_(source) {}

    [[nodiscard]] const std::shared_ptr<const StreamIndex>& index() const noexcept { return index_; }
    [[nodiscard]] const Digest::Value& source() const noexcept { return source_; }

private:
    std::shared_ptr<const StreamIndex> index_;
    Digest::Value source_;
};

/// Note [Saved indexes]: a saved index is a cache. It says which source it is of (a checksum of the stream's facts and
/// of the source's first and last bytes) and carries a checksum of itself; whatever does not fit is left alone and the
/// index is built again, never believed. It may come from outside: every number is checked before it is used.

/// What a source must have in common with the one an index was made of.
[[nodiscard]] Digest::Value fingerprint(const MediaSource& source, const MediaInfo& info, const StreamInfo& stream,
                                        bool ignore_edit_list);

[[nodiscard]] std::vector<std::byte> serialize(const StreamIndex& index, const Digest::Value& source);
/// Throws Error(corrupt_data) saying what is wrong with it.
[[nodiscard]] FrameIndex deserialize(std::span<const std::byte> bytes);
/// The same, and throws Error(corrupt_data) for the index of another source.
[[nodiscard]] StreamIndex deserialize(std::span<const std::byte> bytes, const Digest::Value& source);

/// Throws Error(invalid_argument) if `path` names a file that is not an index, which must not be replaced by one.
void expect_index_or_nothing(const std::filesystem::path& path);
/// An OutputFile, so that readers see all of it or nothing. Throws what expect_index_or_nothing() throws, Error(io).
/// A new file has `permissions`, with writing by its owner.
void save_index_file(const std::filesystem::path& path, const StreamIndex& index, const Digest::Value& source,
                     unsigned permissions);
/// Nothing if there is no such file, or if it does not fit (which is logged). Throws Error(io) if it cannot be read.
[[nodiscard]] std::optional<StreamIndex> load_index_file(const std::filesystem::path& path,
                                                         const Digest::Value& source);

}  // namespace tricodec
