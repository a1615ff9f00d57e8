// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "common/errors.h"
#include "tricodec/compress/compress.h"

namespace tricodec::plugin {

/// A setting that is an integer; `compress` also takes one for each sample.
struct CodecInteger {
    const char* name;
    void (*set)(CodecOptions& options, std::int64_t value);
};
[[nodiscard]] std::span<const CodecInteger> codec_integers() noexcept;

/// The settings of a codec, with the names of tricodec.Codec; without those that are tensors. Throws
/// tricodec::Error(invalid_argument) for values that are not accepted.
[[nodiscard]] CodecOptions read_codec_options(const ::dali::OpSpec& spec, int num_threads);

/// numpy's array protocol string of DALI's element types. Throws Error(unsupported) for types other than numbers.
[[nodiscard]] std::string_view typestr_of(::dali::DALIDataType type);
/// The DALI type of such a string. Throws Error(unsupported) for types that DALI does not have.
[[nodiscard]] ::dali::DALIDataType type_of(std::string_view typestr);

/// Runs `function` for each sample's number. Throws BatchError with the number of the sample that failed.
template <typename Function>
void for_each_sample(std::size_t count, Function&& function) {
    for (std::size_t i = 0; i < count; ++i) {
        try {
            function(i);
        } catch (const Error& error) {
            throw BatchError(error, "sample", i, count);
        }
    }
}

/// Runs `function` and raises the library's errors as DALI's, with the name of the sample.
template <typename Function>
auto name_samples(int num_samples, Function&& function) {
    try {
        return function();
    } catch (const BatchError& error) {
        throw_dali(error.code(), context_of(static_cast<int>(error.index()), num_samples) + error.reason());
    } catch (const Error& error) {
        throw_dali(error.code(), error.what());
    }
}

}  // namespace tricodec::plugin
