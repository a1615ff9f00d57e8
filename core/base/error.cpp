// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/error.h"

namespace tricodec {

std::string_view to_string(ErrorCode code) noexcept {
    // In the order of the enumeration.
    constexpr std::string_view kNames[] = {"invalid_argument", "out_of_range", "not_found", "unsupported",
                                           "refused",          "corrupt_data", "io",        "out_of_memory",
                                           "device",           "internal"};
    return kNames[static_cast<std::size_t>(code)];
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
