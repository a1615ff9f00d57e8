// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>

#include <vector>

#include "encoded_videos.h"
#include "tricodec/device.h"
#include "video_batch.h"

namespace tricodec::plugin {

/// fn.tricodec.decode_video with device "mixed": encoded files on the CPU in, frames and their times on the GPU out,
/// the same bytes as on the CPU. What the GPU cannot decode exactly the CPU does. All videos of a batch share the GPU's
/// engines; the frames are written to DALI's memory by the kernels, in the order of DALI's stream, which the host does
/// not wait for.
class DecodeVideoMixed : public ::dali::StatelessOperator<::dali::MixedBackend> {
public:
    explicit DecodeVideoMixed(const ::dali::OpSpec& spec);

    /// As on the CPU.
    bool HasContiguousOutputs() const override { return !batch_.empty_on_error(); }

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    Device device_;
    EncodedVideos videos_;
    VideoBatch batch_;
};

}  // namespace tricodec::plugin
