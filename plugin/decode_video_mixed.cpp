// SPDX-License-Identifier: Apache-2.0
#include "decode_video_mixed.h"

#include <string>

#include "gpu_stream.h"
#include "video_outputs.h"

namespace tricodec::plugin {

DecodeVideoMixed::DecodeVideoMixed(const ::dali::OpSpec& spec)
    : StatelessOperator(spec),
      device_(usable_gpu(spec, "decode_video")),
      videos_(spec, "auto:" + std::to_string(device_.index)),
      batch_(spec, "decode_video") {}

bool DecodeVideoMixed::SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) {
    run_all(videos_.begin(batch_, workspace), num_threads_);
    return batch_.settle_shapes(outputs);
}

void DecodeVideoMixed::RunImpl(::dali::Workspace& workspace) {
    decode_on_gpu(batch_, workspace, device_, num_threads_);
}

}  // namespace tricodec::plugin
