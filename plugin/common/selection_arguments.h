// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <optional>
#include <string>
#include <vector>

#include "common/arguments.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec::plugin {

/// Numbers of an argument that may be left out: constants, or a tensor for each sample.
class NumberArgument {
public:
    NumberArgument(std::string name, const ::dali::OpSpec& spec, bool is_list);

    /// True if it is given, for some samples at least.
    [[nodiscard]] bool is_given() const noexcept { return is_tensor_ || is_constant_; }
    [[nodiscard]] bool is_tensor() const noexcept { return is_tensor_; }
    /// Of one sample, none where a number is left out. Throws DALI's errors for other shapes and types.
    [[nodiscard]] std::vector<double> values(const ::dali::ArgumentWorkspace& workspace, int sample) const;
    [[nodiscard]] const std::vector<double>& constant() const noexcept { return constant_; }

private:
    std::string name_;
    bool is_list_ = false;
    bool is_tensor_ = false;
    bool is_constant_ = false;
    std::vector<double> constant_;
};

/// The words that select frames, besides start, stride and count, as arguments of an operator (the schema
/// tricodec__SelectionArguments).
class SelectionArguments {
public:
    /// A reader has no start and count, and takes constants. Throws DALI's errors for values that are not accepted.
    explicit SelectionArguments(const ::dali::OpSpec& spec, bool of_reader = false);

    /// True if one of them is given.
    [[nodiscard]] bool is_given() const noexcept { return is_given_; }
    /// The words of a reader with its stride, the same for all files.
    [[nodiscard]] const FrameSelection& constants() const noexcept { return constants_; }
    /// Of each sample, without start, stride and count.
    [[nodiscard]] std::vector<FrameSelection> values(const ::dali::ArgumentWorkspace& workspace, int num_samples) const;

private:
    template <typename Numbers>
    void fill(FrameSelection& selection, Numbers numbers) const;

    FrameSelection words_;  ///< policy and sampling
    FrameSelection constants_;
    bool is_given_ = false;
    std::optional<IntArgument> indices_;
    NumberArgument times_;
    NumberArgument tolerance_s_;
    NumberArgument fps_;
    NumberArgument num_frames_;
    NumberArgument start_s_;
    NumberArgument end_s_;
    NumberArgument min_frames_;
    NumberArgument max_frames_;
};

}  // namespace tricodec::plugin
