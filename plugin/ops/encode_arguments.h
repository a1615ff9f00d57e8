// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/arg_helper.h>
#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <string>
#include <vector>

#include "common/arguments.h"
#include "tricodec/encode/encode_video.h"

namespace tricodec::plugin {

/// The arguments of fn.tricodec.encode_video: the layout of the pictures, and how they are encoded.
class EncodeArguments {
public:
    /// `device` is that of the encoders. Throws DALI's errors for values that are not accepted.
    EncodeArguments(const ::dali::OpSpec& spec, const std::string& device);

    /// The layout of the pictures in an input with DALI's `layout`: "FHWC", "FCHW" or another, or nothing.
    [[nodiscard]] PictureLayout pictures(const std::string& layout) const;
    [[nodiscard]] std::vector<EncodeVideoOptions> for_samples(const ::dali::Workspace& workspace, int num_samples);

private:
    PictureLayout pictures_;
    bool layout_given_;
    EncodeVideoOptions options_;
    IntArgument bit_rate_;
    IntArgument gop_size_;
    IntArgument rotation_;
    ::dali::OpSpec spec_;  ///< a copy, which outlives the constructor's argument
    ::dali::ArgValue<float> frame_rate_;
    ::dali::ArgValue<float> crf_;
};

}  // namespace tricodec::plugin
