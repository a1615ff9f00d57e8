// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tricodec {

/// What kind of failure an Error reports. Python maps each to one exception class.
enum class ErrorCode {
    invalid_argument,  ///< the caller's value is not accepted (ValueError)
    out_of_range,      ///< an index or time past the end (IndexError)
    not_found,         ///< no such file (FileNotFoundError)
    unsupported,       ///< valid, but no engine here can do it
    refused,           ///< a policy of limits.h or the container allow-list forbids it
    corrupt_data,      ///< the media are damaged where they must not be
    io,                ///< a source or a target itself failed
    out_of_memory,     ///< the machine lacks memory
    device,            ///< a GPU or its driver failed
    internal,          ///< a defect of tricodec
};

[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;

/// The one exception type of the library. The text says what failed, the offending value, what is accepted and the
/// remedy.
class Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    [[nodiscard]] ErrorCode code() const noexcept { return code_; }

private:
    ErrorCode code_;
};

[[noreturn]] void fail(ErrorCode code, const std::string& message);

/// Raises ErrorCode::internal with the place of the broken invariant.
[[noreturn]] void fail_invariant(std::string_view condition,
                                 std::source_location where = std::source_location::current());

}  // namespace tricodec

/// Raises Error(code, message) unless `condition` holds. `message` is evaluated only on failure.
#define TRICODEC_EXPECT(condition, code, message)                                   \
    do {                                                                            \
        if (!(condition)) ::tricodec::fail(::tricodec::ErrorCode::code, (message)); \
    } while (false)

#define TRICODEC_INVARIANT(condition)                             \
    do {                                                          \
        if (!(condition)) ::tricodec::fail_invariant(#condition); \
    } while (false)
