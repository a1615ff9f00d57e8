// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>

#include <vector>

#include "encoded_videos.h"
#include "video_batch.h"

namespace tricodec::plugin {

/// fn.tricodec.decode_video on the CPU: encoded files in, frames and their times out.
/// Setup opens and indexes the samples, which settles the shapes; Run cuts them into groups of pictures that decode
/// independently. Both run on DALI's thread pool; no thread is made here.
class DecodeVideo : public ::dali::StatelessOperator<::dali::CPUBackend> {
public:
    explicit DecodeVideo(const ::dali::OpSpec& spec);

    /// A sample that fails while it is decoded becomes empty, which is only possible when samples are allocated one by
    /// one.
    bool HasContiguousOutputs() const override { return !batch_.empty_on_error(); }

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    EncodedVideos videos_;
    VideoBatch batch_;
};

}  // namespace tricodec::plugin
