// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/arg_helper.h>
#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tricodec/image/transform.h"

namespace tricodec::plugin {

/// The size of frames by the arguments of DALI's resize (the schema tricodec__ResizeArguments), which may depend on the
/// size of the picture.
class ResizeArguments {
public:
    /// Throws tricodec::Error(invalid_argument) for arguments that exclude each other and values that are not accepted.
    explicit ResizeArguments(const ::dali::OpSpec& spec);

    /// One request a sample; none if no argument is given.
    [[nodiscard]] std::vector<ResizeRequest> for_samples(const ::dali::ArgumentWorkspace& workspace, int num_samples);

private:
    using Extent = ::dali::ArgValue<float>;
    ::dali::OpSpec spec_;
    Extent height_;
    Extent width_;
    Extent shorter_;
    Extent longer_;
    ResizeRequest request_;
    bool given_ = false;
};

/// Transforms that differ in the size only. The plan of a resize is part of a Transform, so those used are kept.
/// Thread safety: safe.
class SizedTransforms {
public:
    /// `transform`, which has no size, with one.
    [[nodiscard]] std::shared_ptr<const Transform> get(const std::shared_ptr<const Transform>& transform, Size size);

private:
    using Key = std::pair<std::shared_ptr<const Transform>, std::pair<int, int>>;
    std::mutex mutex_;
    std::map<Key, std::shared_ptr<const Transform>> made_;
};

}  // namespace tricodec::plugin
