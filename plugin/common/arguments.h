// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tricodec::plugin {

/// An integer argument, scalar or of fixed length, given as a constant or as one tensor a sample.
/// DALI's ArgValue accepts one integer type only and spreads a scalar over a vector (it takes crop=8 for 8, 8, 8, 8).
/// This class accepts any signed or small integer type, and the length must be right.
class IntArgument {
public:
    /// `elements` names the numbers in messages; empty for a scalar. Raises DaliValueError for a constant of the wrong
    /// length.
    IntArgument(std::string name, const ::dali::OpSpec& spec, std::vector<std::string> elements = {});

    /// An argument of any length.
    [[nodiscard]] static IntArgument list(std::string name, const ::dali::OpSpec& spec);

    [[nodiscard]] bool differs_by_sample() const noexcept { return is_tensor_; }
    /// Empty if the argument is not given, or is a tensor.
    [[nodiscard]] const std::vector<std::int64_t>& constant() const noexcept { return constant_; }
    /// One vector a sample, empty if the sample's tensor is. Raises DaliTypeError for other types than integers, and
    /// DaliValueError, which names the sample, for wrong lengths.
    [[nodiscard]] std::vector<std::vector<std::int64_t>> values(const ::dali::ArgumentWorkspace& workspace,
                                                                int num_samples) const;

private:
    IntArgument(std::string name, const ::dali::OpSpec& spec, std::vector<std::string> elements, bool any_length);
    [[nodiscard]] std::string expectation() const;

    std::string name_;
    std::vector<std::string> elements_;
    bool any_length_;
    bool is_tensor_ = false;
    std::vector<std::int64_t> constant_;
};

/// A list of times in seconds, given as a constant or as one tensor a sample, of any type of numbers.
class TimesArgument {
public:
    TimesArgument(std::string name, const ::dali::OpSpec& spec);

    /// Raises DaliTypeError for other types than numbers.
    [[nodiscard]] std::vector<std::vector<double>> values(const ::dali::ArgumentWorkspace& workspace,
                                                          int num_samples) const;

private:
    std::string name_;
    bool is_tensor_;
    std::vector<double> constant_;
};

/// Throws tricodec::Error(invalid_argument), which names the argument, for a number that does not fit an int.
[[nodiscard]] int to_int(std::int64_t value, const char* argument);
/// The same for a constant argument; DALI's own GetArgument<int> drops the upper bits.
[[nodiscard]] int int_argument(const ::dali::OpSpec& spec, const char* name);

/// Throws tricodec::Error(invalid_argument) if both an argument and DALI's word for it are given.
void expect_one_word(const ::dali::OpSpec& spec, const char* argument, const char* dali_word);

}  // namespace tricodec::plugin
