// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <new>

namespace tricodec::plugin {

void throw_dali(ErrorCode code, const std::string& message) {
    switch (code) {
        case ErrorCode::invalid_argument:
            throw ::dali::DaliValueError(message);
        case ErrorCode::out_of_range:
            throw ::dali::DaliIndexError(message);
        default:
            throw ::dali::DaliRuntimeError(message);
    }
}

std::string context_of(int sample, int num_samples) {
    return "Sample " + std::to_string(sample) + " of the batch of " + std::to_string(num_samples) + ": ";
}

Failure describe_failure(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& failure) {
        return {failure.code(), failure.what()};
    } catch (const std::bad_alloc&) {
        return {ErrorCode::out_of_memory, "out of memory while decoding"};
    } catch (const std::exception& failure) {
        return {ErrorCode::internal, failure.what()};
    } catch (...) {
        return {ErrorCode::internal, "an exception of unknown type"};
    }
}

bool is_fault_of_sample(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::out_of_memory:
        case ErrorCode::device:
        case ErrorCode::internal:
            return false;
        default:
            return true;
    }
}

}  // namespace tricodec::plugin
