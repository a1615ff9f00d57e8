// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <exception>
#include <memory>
#include <vector>

#include "arguments.h"
#include "tricodec/transform.h"

namespace tricodec::plugin {

/// The arguments that declare a Transform (the schema tricodec__TransformArguments), which operators share; crop and
/// size may differ by sample.
class TransformArguments {
public:
    /// `rotate`: turn pictures upright as their metadata say.
    /// Throws tricodec::Error(invalid_argument) for words and types that are not accepted, DALI's errors for lengths.
    TransformArguments(const ::dali::OpSpec& spec, bool rotate);

    /// All but the crop and size of samples that have their own.
    [[nodiscard]] const TransformOptions& options() const noexcept { return options_; }

    /// One of the two is set.
    struct Sample {
        std::shared_ptr<const Transform> transform;
        std::exception_ptr error;
    };
    [[nodiscard]] std::vector<Sample> for_samples(const ::dali::ArgumentWorkspace& workspace, int num_samples) const;

private:
    IntArgument crop_;
    IntArgument size_;
    TransformOptions options_;
    std::shared_ptr<const Transform> constant_;  ///< null when crop or size differ by sample
};

}  // namespace tricodec::plugin
