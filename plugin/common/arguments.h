// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tricodec::plugin {

/// An integer argument, or a list of integers, given as a constant or as one tensor a sample.
/// DALI's ArgValue accepts one integer type only. This class accepts any signed or small integer type.
class IntArgument {
public:
    IntArgument(std::string name, const ::dali::OpSpec& spec) : IntArgument(std::move(name), spec, false) {}
    [[nodiscard]] static IntArgument list(std::string name, const ::dali::OpSpec& spec) {
        return {std::move(name), spec, true};
    }

    [[nodiscard]] bool differs_by_sample() const noexcept { return is_tensor_; }
    /// Empty if the argument is not given, or is a tensor.
    [[nodiscard]] const std::vector<std::int64_t>& constant() const noexcept { return constant_; }
    /// One vector a sample. Raises DaliTypeError for other types than integers, and DaliValueError, which names the
    /// sample, for anything but one integer where this is no list.
    [[nodiscard]] std::vector<std::vector<std::int64_t>> values(const ::dali::ArgumentWorkspace& workspace,
                                                                int num_samples) const;

private:
    IntArgument(std::string name, const ::dali::OpSpec& spec, bool is_list);

    std::string name_;
    bool is_list_;
    bool is_tensor_;
    std::vector<std::int64_t> constant_;
};

/// The numbers of one sample. Raises DaliTypeError for other types than integers.
[[nodiscard]] std::vector<std::int64_t> integers_of(const ::dali::TensorList<::dali::CPUBackend>& list, int sample,
                                                    const std::string& name);
/// The same for numbers of any type.
[[nodiscard]] std::vector<double> numbers_of(const ::dali::TensorList<::dali::CPUBackend>& list, int sample,
                                             const std::string& name);

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

/// Throws tricodec::Error(invalid_argument) if both an argument and DALI's name for it are given.
void expect_one_word(const ::dali::OpSpec& spec, const char* argument, const char* dali_word);

/// A text argument, and a text. Both throw tricodec::Error(invalid_argument) for a word that is not accepted.
[[nodiscard]] std::string word_argument(const ::dali::OpSpec& spec, const char* name,
                                        std::initializer_list<const char*> accepted);
void expect_one_of(const char* name, const std::string& word, std::initializer_list<const char*> accepted);
/// Throws DALI's errors for an input that is not `bytes` of one dimension, which is `of_sample`.
void expect_bytes(::dali::DALIDataType type, int sample_dim, const std::string& input, const std::string& bytes,
                  const std::string& of_sample);

}  // namespace tricodec::plugin
