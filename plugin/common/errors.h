// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/error_reporting.h>

#include <exception>
#include <new>
#include <string>

#include "tricodec/base/error.h"

namespace tricodec::plugin {

/// Raises the exception that DALI turns into the Python class of `code`: the one that the Python package raises.
[[noreturn]] inline void throw_dali(ErrorCode code, const std::string& message) {
    switch (code) {
        case ErrorCode::invalid_argument:
            throw ::dali::DaliValueError(message);
        case ErrorCode::out_of_range:
            throw ::dali::DaliIndexError(message);
        default:
            throw ::dali::DaliRuntimeError(message);
    }
}

/// Runs `function` and raises its tricodec::Error as DALI's, with `context` before the text.
template <typename Function>
auto translate_errors(const std::string& context, Function&& function) {
    try {
        return function();
    } catch (const Error& error) {
        throw_dali(error.code(), context + error.what());
    }
}

/// "Sample 3 of the batch of 8: ", the beginning of a message.
[[nodiscard]] inline std::string context_of(int sample, int num_samples) {
    return "Sample " + std::to_string(sample) + " of the batch of " + std::to_string(num_samples) + ": ";
}

/// An exception that a thread has caught, in the terms of tricodec::Error.
struct Failure {
    ErrorCode code = ErrorCode::internal;
    std::string message;
};
[[nodiscard]] inline Failure describe_failure(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& failure) {
        return {failure.code(), failure.what()};
    } catch (const std::bad_alloc&) {
        return {ErrorCode::out_of_memory, "out of memory"};
    } catch (const std::exception& failure) {
        return {ErrorCode::internal, failure.what()};
    } catch (...) {
        return {ErrorCode::internal, "an exception of unknown type"};
    }
}

/// True for failures that come from a sample's bytes or arguments, false if the machine or the library failed.
[[nodiscard]] inline bool is_fault_of_sample(ErrorCode code) noexcept {
    return code != ErrorCode::out_of_memory && code != ErrorCode::device && code != ErrorCode::internal;
}

}  // namespace tricodec::plugin
