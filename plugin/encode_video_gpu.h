// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "encode_video.h"

namespace tricodec::plugin {

/// fn.tricodec.encode_video on the GPU: pictures there in, whole files there out. NVENC encodes them where they are if
/// the GPU has it for the codec; else each picture is copied to page-locked memory once and the CPU encodes it. Times
/// of the second input are the host's. The host waits for the pictures: encoders are fed by it.
class EncodeVideoGpu : public ::dali::StatelessOperator<::dali::GPUBackend> {
public:
    explicit EncodeVideoGpu(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/, const ::dali::Workspace& /*workspace*/) override {
        return false;
    }
    void RunImpl(::dali::Workspace& workspace) override;

private:
    Device device_;
    EncodeBatch batch_;
};

}  // namespace tricodec::plugin
