// SPDX-License-Identifier: Apache-2.0
#include "decode_video.h"

#include "video_outputs.h"

namespace tricodec::plugin {

DecodeVideo::DecodeVideo(const ::dali::OpSpec& spec)
    : StatelessOperator(spec), videos_(spec, "cpu"), batch_(spec, "decode_video") {}

bool DecodeVideo::SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) {
    run_all(videos_.begin(batch_, workspace), workspace.GetThreadPool());
    return batch_.settle_shapes(outputs);
}

void DecodeVideo::RunImpl(::dali::Workspace& workspace) {
    decode_on_cpu(batch_, workspace);
}

}  // namespace tricodec::plugin
