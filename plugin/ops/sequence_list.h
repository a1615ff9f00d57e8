// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/option_arguments.h"
#include "ops/video_file.h"
#include "tricodec/read/frame_reader.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec::plugin {

/// The files that the arguments name: `filenames` with or without `labels`, `file_root`, `file_list`, or `paths` of
/// archives. Throws tricodec::Error.
[[nodiscard]] std::vector<VideoFile> list_video_files(const ::dali::OpSpec& spec);
/// True if these arguments give each file a label.
[[nodiscard]] bool has_labels(const ::dali::OpSpec& spec);

/// The frames of a file that sequences are made of: a range, or a list in its place.
struct FileFrames {
    std::int64_t begin = 0;
    std::int64_t end = 0;  ///< the first frame after it; not before `begin`
    std::optional<std::vector<std::int64_t>> chosen{};

    [[nodiscard]] std::int64_t size() const noexcept;
    /// The frame at a place, at least 0; past the last one as `mode` says.
    [[nodiscard]] std::int64_t at(std::int64_t place, PadMode mode) const;
};

/// Which frames of each file are read: `start` and `end` of a list as numbers of frames, and in this part the arguments
/// of SelectionArguments or uniform_sample.
class FileSelection {
public:
    /// Throws DALI's errors for arguments that are not accepted.
    explicit FileSelection(const ::dali::OpSpec& spec);

    /// Those of one file. Throws tricodec::Error.
    [[nodiscard]] FileFrames of(const VideoFile& file, FrameReader& reader) const;
    /// True if `stride` is an argument of the selection: sequences then take all of its frames.
    [[nodiscard]] bool has_stride() const;
    /// The length of the sequence that each file is, for uniform_sample.
    [[nodiscard]] std::optional<std::int64_t> uniform_length() const noexcept { return uniform_length_; }

private:
    enum class Rounding { down, up };
    void parse_list(const ::dali::OpSpec& spec);
    [[nodiscard]] std::int64_t frame_at(double value, Rounding rounding, FrameReader& reader) const;
    [[nodiscard]] std::vector<std::int64_t> choose(const VideoFile& file, const FileFrames& part,
                                                   FrameReader& reader) const;

    SelectionArguments words_;
    std::optional<std::int64_t> uniform_length_;

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
    [[nodiscard]] static SequenceOptions from(const ::dali::OpSpec& spec, const FileSelection& selection);
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
    SequenceList(const SequenceOptions& options, std::vector<FileFrames> files);

    [[nodiscard]] std::int64_t size() const noexcept { return first_.empty() ? 0 : first_.back(); }
    [[nodiscard]] Sequence at(std::int64_t number) const;
    /// How many frames after the end of a sequence the next one of the same file begins at most.
    [[nodiscard]] std::int64_t reach(std::size_t file) const;

private:
    SequenceOptions options_;
    std::vector<FileFrames> files_;
    std::vector<std::int64_t>
        first_;  // the number of each file's first sequence; the last element is the number of all
};

}  // namespace tricodec::plugin
