// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "transform_frames.h"

namespace tricodec::plugin {

/// fn.tricodec.transform on the GPU: raw frames in, transformed frames out, the bytes of the CPU. The kernels write
/// DALI's output on DALI's stream, up to 64 frames of one geometry a launch; the host does not wait.
class TransformFramesGpu : public ::dali::StatelessOperator<::dali::GPUBackend> {
public:
    explicit TransformFramesGpu(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    Device device_;
    TransformRequest request_;
    std::vector<TransformRequest::Sample> samples_;
};

}  // namespace tricodec::plugin
