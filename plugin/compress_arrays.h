// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>

#include <memory>
#include <vector>

#include "tricodec/compress.h"
#include "tricodec/device.h"
#include "tricodec/gpu_codec.h"

namespace tricodec::plugin {

/// fn.tricodec.compress on the CPU: arrays of any type and shape in, compressed bytes out; the chunks of all samples
/// side by side on DALI's threads.
class CompressArrays : public ::dali::StatelessOperator<::dali::CPUBackend> {
public:
    explicit CompressArrays(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    std::unique_ptr<Compressor> codec_;
    bool header_;
};

/// fn.tricodec.compress on a GPU: the whole batch in one call, on DALI's stream.
class CompressArraysGpu : public ::dali::StatelessOperator<::dali::GPUBackend> {
public:
    explicit CompressArraysGpu(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    Device device_;
    std::unique_ptr<GpuCodec> codec_;
    bool header_;
};

}  // namespace tricodec::plugin
