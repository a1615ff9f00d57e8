// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "video_files.h"

namespace tricodec::plugin {

/// What becomes of a sequence that the video ends in.
enum class PadMode { none, constant, edge, reflect_1001, reflect_101 };

/// Which sequences of frames a file is cut into.
struct SequenceWords {
    std::int64_t length = 1;  ///< frames
    std::int64_t stride = 1;
    std::int64_t step = 1;  ///< from a sequence's first frame to the next one's
    PadMode pad_mode = PadMode::none;

    /// Throws tricodec::Error(invalid_argument).
    [[nodiscard]] static SequenceWords from(const ::dali::OpSpec& spec);
    /// From the first to the last frame of a sequence.
    [[nodiscard]] std::int64_t span() const noexcept { return (length - 1) * stride + 1; }
};

/// The frames of one sequence.
struct Sequence {
    std::size_t file = 0;
    std::vector<std::int64_t> frames{};  ///< numbers in the file, in order of the sequence
    std::int64_t num_padded = 0;         ///< places behind them that no frame fills
};

/// All sequences of all files, by number, file after file.
class SequenceList {
public:
    SequenceList() = default;
    SequenceList(const SequenceWords& words, std::vector<FileRanges::Range> files);

    [[nodiscard]] std::int64_t size() const noexcept { return first_.empty() ? 0 : first_.back(); }
    [[nodiscard]] Sequence at(std::int64_t number) const;

private:
    SequenceWords words_;
    std::vector<FileRanges::Range> files_;
    std::vector<std::int64_t> first_;  // number of each file's first sequence, and how many there are in all
};

}  // namespace tricodec::plugin
