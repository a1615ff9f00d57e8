// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>

#include <memory>
#include <type_traits>
#include <vector>

#include "compress_request.h"
#include "tricodec/buffer.h"
#include "tricodec/compress.h"
#include "tricodec/device.h"

namespace tricodec::plugin {

/// fn.tricodec.compress: arrays of any type and shape in, compressed bytes out. The whole batch is one call, on DALI's
/// threads or on its stream.
template <typename Backend>
class CompressArrays : public ::dali::StatelessOperator<Backend> {
public:
    explicit CompressArrays(const ::dali::OpSpec& spec);

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/, const ::dali::Workspace& /*workspace*/) override {
        return false;  // sizes are known when all is compressed
    }
    void RunImpl(::dali::Workspace& workspace) override;

private:
    static constexpr bool kOnGpu = std::is_same_v<Backend, ::dali::GPUBackend>;

    [[nodiscard]] compress::Execution execution(::dali::Workspace& workspace) const;
    /// The bytes of the samples, each after its header, in memory of their own.
    [[nodiscard]] std::vector<std::shared_ptr<Buffer>> with_headers(const ::dali::TensorList<Backend>& input,
                                                                    const ::dali::Workspace& workspace,
                                                                    const compress::Execution& on) const;

    Device device_;
    std::unique_ptr<SampleCodecs> codecs_;
};

}  // namespace tricodec::plugin
