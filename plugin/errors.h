// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "tricodec/error.h"

namespace tricodec::plugin {

/// Raises the exception that DALI turns into the Python class which the Python door uses for `code`.
[[noreturn]] void throw_dali(ErrorCode code, const std::string& message);

/// An exception that a worker caught, in the words of tricodec::Error.
struct Failure {
    ErrorCode code = ErrorCode::internal;
    std::string message;
};
/// "Sample 3 of the batch of 8: ", for the beginning of a message.
[[nodiscard]] std::string context_of(int sample, int num_samples);
[[nodiscard]] Failure describe_failure(const std::exception_ptr& error);

/// True for failures that come from a sample's bytes or arguments, false where the machine or the library failed.
[[nodiscard]] bool is_fault_of_sample(ErrorCode code) noexcept;

/// Runs `function` and raises its tricodec::Error as DALI's, with `context` in front of the text.
template <typename Function>
auto translate_errors(const std::string& context, Function&& function) {
    try {
        return function();
    } catch (const Error& error) {
        throw_dali(error.code(), context + error.what());
    }
}

}  // namespace tricodec::plugin
