// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tricodec/frame_reader.h"

namespace tricodec::plugin {

/// One entry of what a reading operator reads.
struct VideoFile {
    std::string path;
    std::int64_t label = 0;
    std::optional<double> start{};  ///< of the part to read, in the units of the list
    std::optional<double> end{};
};

/// The files that a reader's arguments mean: `filenames` with or without `labels`, `file_root` or `file_list`.
/// Throws tricodec::Error.
[[nodiscard]] std::vector<VideoFile> list_video_files(const ::dali::OpSpec& spec);
/// True if these arguments give each file a label.
[[nodiscard]] bool has_labels(const ::dali::OpSpec& spec);

/// How `start` and `end` of a list become numbers of frames.
class FileRanges {
public:
    /// From file_list_format, file_list_rounding and file_list_include_end. Throws tricodec::Error(invalid_argument).
    explicit FileRanges(const ::dali::OpSpec& spec);

    struct Range {
        std::int64_t begin = 0;
        std::int64_t end = 0;  ///< the first one that is not in it; not before `begin`
    };
    /// Of a file, clipped to the video.
    [[nodiscard]] Range of(const VideoFile& file, FrameReader& reader) const;

private:
    enum class Rounding { down, up };
    [[nodiscard]] std::int64_t frame_at(double value, Rounding rounding, FrameReader& reader) const;

    bool seconds_ = true;
    Rounding start_ = Rounding::down;
    Rounding end_ = Rounding::up;
    bool include_end_ = false;
};

}  // namespace tricodec::plugin
