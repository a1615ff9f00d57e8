// SPDX-License-Identifier: Apache-2.0
#include "gpu_stream.h"

#include <string>

#include "errors.h"
#include "tricodec/gpu.h"

namespace tricodec::plugin {

Device usable_gpu(const ::dali::OpSpec& spec, const char* operation) {
    const int index = spec.GetArgument<int>("device_id");
    const std::string name = std::string("fn.tricodec.") + operation;
    if (index < 0) {
        throw_dali(ErrorCode::device,
                   name +
                       " works on a GPU here, and the pipeline has none; pass device_id= to the pipeline, or "
                       "device=\"cpu\" to the operator");
    }
    const std::string reason = gpu_unusable_reason(index);
    if (!reason.empty()) {
        throw_dali(ErrorCode::device, name + " cannot work on GPU " + std::to_string(index) + ": " + reason +
                                          "; pass device=\"cpu\" to the operator");
    }
    return {Device::Kind::cuda, index};
}

}  // namespace tricodec::plugin
