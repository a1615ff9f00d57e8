// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>

#include <memory>
#include <vector>

#include "compress_request.h"
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
    std::unique_ptr<SampleCodecs<Compressor>> codecs_;
};

/// fn.tricodec.compress on a GPU, on DALI's stream: the whole batch in one call, or one for the samples of each
/// setting.
class CompressArraysGpu : public ::dali::StatelessOperator<::dali::GPUBackend> {
public:
    explicit CompressArraysGpu(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    /// Each sample by its codec, those of a codec in one call.
    void compress_each(std::span<const GpuCodec* const> codecs, std::span<const DeviceBytes> views,
                       const DeviceBatchPlacer& place, StreamView stream, ::dali::AccessOrder order) const;

    Device device_;
    std::unique_ptr<SampleCodecs<GpuCodec>> codecs_;
};

}  // namespace tricodec::plugin
