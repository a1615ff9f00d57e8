// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/error.h"

namespace tricodec {

std::string_view to_string(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument:
            return "invalid_argument";
        case ErrorCode::out_of_range:
            return "out_of_range";
        case ErrorCode::not_found:
            return "not_found";
        case ErrorCode::unsupported:
            return "unsupported";
        case ErrorCode::refused:
            return "refused";
        case ErrorCode::corrupt_data:
            return "corrupt_data";
        case ErrorCode::io:
            return "io";
        case ErrorCode::out_of_memory:
            return "out_of_memory";
        case ErrorCode::device:
            return "device";
        case ErrorCode::internal:
            return "internal";
    }
    return "internal";
}

void fail(ErrorCode code, const std::string& message) {
    throw Error(code, message);
}

void fail_invariant(std::string_view condition, std::source_location where) {
    throw Error(ErrorCode::internal, "broken invariant '" + std::string(condition) + "' in " + where.function_name() +
                                         " (" + where.file_name() + ":" + std::to_string(where.line()) +
                                         "); please report this with the file that caused it");
}

}  // namespace tricodec
