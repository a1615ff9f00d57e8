// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/arguments.h"
#include "common/option_arguments.h"
#include "tricodec/read/frame_reader.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec::plugin {

/// Which frames of each video are decoded (the schema tricodec__FrameArguments): in our arguments or in those of DALI's
/// decoders.video.
class FrameArguments {
public:
    /// Throws DALI's errors for arguments that exclude each other and values that are not accepted.
    explicit FrameArguments(const ::dali::OpSpec& spec);

    /// For each sample what gives the numbers of its frames, kNoFrame in places that get the fill value.
    using Select = std::function<std::vector<std::int64_t>(FrameReader&)>;
    [[nodiscard]] std::vector<Select> for_samples(const ::dali::ArgumentWorkspace& workspace, int num_samples) const;

private:
    SelectionArguments selection_;
    std::optional<IntArgument> frames_;
    IntArgument start_;
    IntArgument stride_;
    IntArgument count_;
    std::optional<IntArgument> start_frame_;
    std::optional<IntArgument> end_frame_;
    std::optional<IntArgument> sequence_length_;
    std::optional<PadMode> pad_mode_;  ///< not set: frames that do not exist are an error
    bool dali_words_ = false;
};

}  // namespace tricodec::plugin
