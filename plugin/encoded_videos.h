// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <string>
#include <vector>

#include "arguments.h"
#include "video_batch.h"

namespace tricodec::plugin {

/// The input of fn.tricodec.decode_video, alike on every backend: whole files as bytes, and which frames are asked of
/// each.
class EncodedVideos {
public:
    /// `device` is what readers are asked for. Throws DALI's errors.
    EncodedVideos(const ::dali::OpSpec& spec, std::string device);

    /// VideoBatch::begin() with the videos of a workspace. Throws DALI's errors.
    [[nodiscard]] std::vector<VideoBatch::Task> begin(VideoBatch& batch, const ::dali::Workspace& workspace) const;

private:
    std::string device_;
    int stream_index_;
    IntArgument start_;
    IntArgument stride_;
    IntArgument count_;
};

}  // namespace tricodec::plugin
