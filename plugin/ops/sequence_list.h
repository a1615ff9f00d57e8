// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/video_file.h"
#include "tricodec/video/frame_padding.h"
#include "tricodec/video/frame_reader.h"

namespace tricodec::plugin {

/// The files that the arguments name: `filenames` with or without `labels`, `file_root`, `file_list`, or `paths` of
/// archives. Throws tricodec::Error.
[[nodiscard]] std::vector<VideoFile> list_video_files(const ::dali::OpSpec& spec);
/// True if these arguments give each file a label.
[[nodiscard]] bool has_labels(const ::dali::OpSpec& spec);

/// Turns `start` and `end` of a list into numbers of frames.
class FileRanges {
public:
    /// From the arguments about file_list. Throws tricodec::Error(invalid_argument).
    explicit FileRanges(const ::dali::OpSpec& spec);

    struct Range {
        std::int64_t begin = 0;
        std::int64_t end = 0;  ///< the first frame after it; not before `begin`
    };
    /// The range of a file, clipped to the video.
    [[nodiscard]] Range of(const VideoFile& file, FrameReader& reader) const;

private:
    enum class Rounding { down, up };
    [[nodiscard]] std::int64_t frame_at(double value, Rounding rounding, FrameReader& reader) const;

    bool seconds_ = true;
    Rounding start_ = Rounding::down;
    Rounding end_ = Rounding::up;
    bool include_end_ = false;
};

/// How a file is cut into sequences of frames.
struct SequenceOptions {
    std::int64_t length = 1;  ///< frames
    std::int64_t stride = 1;
    std::int64_t step = 1;  ///< from a sequence's first frame to the next one's
    PadMode pad_mode = PadMode::none;

    /// Throws tricodec::Error(invalid_argument).
    [[nodiscard]] static SequenceOptions from(const ::dali::OpSpec& spec);
    /// From the first to the last frame of a sequence.
    [[nodiscard]] std::int64_t span() const noexcept { return (length - 1) * stride + 1; }
};

/// The frames of one sequence.
struct Sequence {
    std::size_t file = 0;
    std::vector<std::int64_t> frames{};  ///< numbers in the file, in order of the sequence; kNoFrame for no frame
};

/// The sequences of all files, numbered file after file.
class SequenceList {
public:
    SequenceList() = default;
    SequenceList(const SequenceOptions& options, std::vector<FileRanges::Range> files);

    [[nodiscard]] std::int64_t size() const noexcept { return first_.empty() ? 0 : first_.back(); }
    [[nodiscard]] Sequence at(std::int64_t number) const;

private:
    SequenceOptions options_;
    std::vector<FileRanges::Range> files_;
    std::vector<std::int64_t>
        first_;  // the number of each file's first sequence; the last element is the number of all
};

}  // namespace tricodec::plugin
