// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tricodec::plugin {

/// An integer argument, scalar or of fixed length, given as a constant or as one tensor a sample.
/// DALI's ArgValue insists on one integer type and spreads a scalar over a vector (crop=8 would be accepted as
/// 8, 8, 8, 8); here any signed or small integer type does, and the length must be right.
class IntArgument {
public:
    /// `words` says what the numbers are, for messages; empty for a scalar. Raises DaliValueError for a constant of
    /// the wrong length.
    IntArgument(std::string name, const ::dali::OpSpec& spec, std::vector<std::string> words = {});

    /// One of any length.
    [[nodiscard]] static IntArgument list(std::string name, const ::dali::OpSpec& spec);

    [[nodiscard]] bool differs_by_sample() const noexcept { return is_tensor_; }
    /// Empty where the argument is not given, or is a tensor.
    [[nodiscard]] const std::vector<std::int64_t>& constant() const noexcept { return constant_; }
    /// One vector a sample; a vector is empty where the sample's tensor is. Raises DaliTypeError on other than
    /// integers, DaliValueError on wrong lengths, naming the sample.
    [[nodiscard]] std::vector<std::vector<std::int64_t>> values(const ::dali::ArgumentWorkspace& workspace,
                                                                int num_samples) const;

private:
    IntArgument(std::string name, const ::dali::OpSpec& spec, std::vector<std::string> words, bool any_length);
    [[nodiscard]] std::string expectation() const;

    std::string name_;
    std::vector<std::string> words_;
    bool any_length_;
    bool is_tensor_ = false;
    std::vector<std::int64_t> constant_;
};

}  // namespace tricodec::plugin
