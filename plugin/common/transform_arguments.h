// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "common/option_arguments.h"
#include "tricodec/image/transform.h"

namespace tricodec::plugin {

/// The arguments of a Transform (the schema tricodec__TransformArguments), which operators share. `crop` and `size` may
/// differ by sample.
class TransformArguments {
public:
    /// `rotate`: turn pictures upright as their metadata say.
    /// Throws tricodec::Error(invalid_argument) for values that are not accepted, and DALI's errors for lengths.
    TransformArguments(const ::dali::OpSpec& spec, bool rotate);

    /// Without a crop or size that differs by sample.
    [[nodiscard]] const TransformOptions& options() const noexcept { return arguments_.constants(); }

    /// One of the two is set.
    struct Sample {
        std::shared_ptr<const Transform> transform;
        std::exception_ptr error;
    };
    [[nodiscard]] std::vector<Sample> for_samples(const ::dali::ArgumentWorkspace& workspace, int num_samples) const;

private:
    OptionArguments<TransformOptions> arguments_;
    std::shared_ptr<const Transform> constant_;  ///< null when crop or size differ by sample
};

/// DALI's type of the elements of frames.
[[nodiscard]] ::dali::DALIDataType to_dali(DType dtype);
/// DALI's letters for a transformed frame: "HWC" (also for hwc8), "CHW", or "CHWc" for pairs of channels.
[[nodiscard]] std::string layout_name(Layout layout);

/// Throws tricodec::Error(refused) if a sample's frames are more bytes than the limits allow, before DALI allocates
/// them.
void check_output_bytes(const std::vector<std::int64_t>& shape, DType dtype);
/// The same for all samples of a batch.
void check_batch_bytes(const ::dali::TensorListShape<>& shape, DType dtype);

}  // namespace tricodec::plugin
