// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/arg_helper.h>
#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <string>
#include <vector>

#include "arguments.h"
#include "tricodec/encode_video.h"

namespace tricodec::plugin {

/// The arguments of fn.tricodec.encode_video: how the pictures lie in the input, and how they are encoded.
class EncodeArguments {
public:
    /// `device` is what encoders are asked for. Throws DALI's errors for words that are not accepted.
    EncodeArguments(const ::dali::OpSpec& spec, const std::string& device);

    /// How pictures lie in an input that DALI calls `layout` ("FHWC", "FCHW", or nothing), and of how many dimensions
    /// its samples are.
    [[nodiscard]] PictureLayout pictures(const std::string& layout) const;
    [[nodiscard]] std::vector<EncodeVideoOptions> for_samples(const ::dali::Workspace& workspace, int num_samples);

private:
    PictureLayout pictures_;
    bool layout_given_;
    EncodeVideoOptions options_;
    IntArgument bit_rate_;
    IntArgument gop_size_;
    IntArgument rotation_;
    ::dali::OpSpec spec_;  ///< a copy: who made the operator need not keep it
    ::dali::ArgValue<float> frame_rate_;
    ::dali::ArgValue<float> crf_;
};

}  // namespace tricodec::plugin
