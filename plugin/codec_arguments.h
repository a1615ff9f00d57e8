// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/data/tensor_list.h>
#include <dali/pipeline/operator/error_reporting.h>
#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/util/thread_pool.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.h"
#include "tricodec/buffer.h"
#include "tricodec/compress.h"

namespace tricodec::plugin {

/// A setting that is an integer; compressing takes one for each sample, too.
struct CodecInteger {
    const char* name;
    void (*set)(CodecOptions& options, std::int64_t value);
};
[[nodiscard]] std::span<const CodecInteger> codec_integers() noexcept;

/// The settings of a codec as the operators take them, in the words of tricodec.Codec, but for those that are tensors.
/// Throws tricodec::Error(invalid_argument) for words that are not accepted.
[[nodiscard]] CodecOptions read_codec_options(const ::dali::OpSpec& spec, int num_threads);

/// numpy's array protocol string of DALI's element types. Throws Error(unsupported) for others than numbers.
[[nodiscard]] std::string_view typestr_of(::dali::DALIDataType type);
/// The way back. Throws Error(unsupported) for types that DALI has not.
[[nodiscard]] ::dali::DALIDataType type_of(std::string_view typestr);

/// Raises DaliTypeError or DaliValueError unless samples are bytes, as compressed data are.
void expect_bytes(::dali::DALIDataType type, int sample_dim);

/// Runs the library's work on DALI's threads.
[[nodiscard]] TaskRunner runner_on(::dali::ThreadPool& pool);

/// Bytes of each sample's elements.
template <typename Backend>
[[nodiscard]] std::size_t bytes_of(const ::dali::TensorList<Backend>& list, int sample) {
    return static_cast<std::size_t>(list.tensor_shape(sample).num_elements()) * list.type_info().size();
}

/// The bytes of the samples, to be read or written, in the memory of the backend.
template <typename Backend>
[[nodiscard]] std::vector<ByteView> views_of(const ::dali::TensorList<Backend>& list) {
    std::vector<ByteView> views;
    for (int i = 0; i < list.num_samples(); ++i) {
        views.emplace_back(static_cast<const std::byte*>(list.raw_tensor(i)), bytes_of(list, i));
    }
    return views;
}
template <typename Backend>
[[nodiscard]] std::vector<MutableBytes> places_of(::dali::TensorList<Backend>& list) {
    std::vector<MutableBytes> places;
    for (int i = 0; i < list.num_samples(); ++i) {
        places.emplace_back(static_cast<std::byte*>(list.raw_mutable_tensor(i)), bytes_of(list, i));
    }
    return places;
}

/// Makes the output one-dimensional samples of bytes of these sizes.
template <typename Backend>
void resize_to_bytes(::dali::TensorList<Backend>& list, std::span<const std::size_t> sizes) {
    ::dali::TensorListShape<> shape(static_cast<int>(sizes.size()), 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        shape.set_tensor_shape(static_cast<int>(i), ::dali::TensorShape<>{static_cast<std::int64_t>(sizes[i])});
    }
    list.Resize(shape, DALI_UINT8);
}

template <typename From, typename To>
void copy_source_info(const ::dali::TensorList<From>& from, ::dali::TensorList<To>& to) {
    for (int i = 0; i < from.num_samples(); ++i) to.SetSourceInfo(i, from.GetMeta(i).GetSourceInfo());
}

/// Runs `function` and raises the library's errors as DALI's, naming the sample.
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
