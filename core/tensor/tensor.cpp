// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/tensor.h"

#include <array>
#include <string>
#include <utility>

#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/text.h"
#include "tricodec/tensor/dtype.h"

namespace tricodec {

std::int64_t TensorView::num_elements() const noexcept {
    std::int64_t count = 1;
    for (const auto extent : shape) count *= extent;
    return count;
}

bool TensorView::is_contiguous() const noexcept {
    auto expected = static_cast<std::int64_t>(size_of(dtype));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] == 0) return true;
        if (shape[axis] != 1 && strides_bytes[axis] != expected) return false;
        expected *= shape[axis];
    }
    return true;
}

TensorView TensorView::operator[](std::int64_t index) const {
    TRICODEC_INVARIANT(!shape.empty() && index >= 0 && index < shape[0]);
    return {static_cast<std::byte*>(data) + index * strides_bytes[0],
            dtype,
            device,
            {shape.begin() + 1, shape.end()},
            {strides_bytes.begin() + 1, strides_bytes.end()}};
}

TensorView TensorView::slice(std::int64_t begin, std::int64_t end) const {
    TRICODEC_INVARIANT(!shape.empty() && begin >= 0 && begin <= end && end <= shape[0]);
    TensorView result = *this;
    result.data = static_cast<std::byte*>(data) + begin * strides_bytes[0];
    result.shape[0] = end - begin;
    return result;
}

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape, DType dtype) {
    std::vector<std::int64_t> strides(shape.size());
    auto step = static_cast<std::int64_t>(size_of(dtype));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        strides[axis] = step;
        step *= shape[axis];
    }
    return strides;
}

std::string describe(const TensorView& view) {
    return std::string(to_string(view.dtype)) + " [" + listed_numbers(view.shape) + "] on " + view.device.to_string();
}

namespace {

std::size_t checked_size(const std::vector<std::int64_t>& shape, DType dtype, Device device) {
    const std::int64_t most = limits().max_output_bytes;
    auto size = static_cast<std::int64_t>(size_of(dtype));
    for (const auto extent : shape) {
        TRICODEC_EXPECT(extent >= 0, invalid_argument, "a tensor cannot have extent " + std::to_string(extent));
        const bool overflows = __builtin_mul_overflow(size, extent, &size);
        TRICODEC_EXPECT(!overflows && size <= most, refused,
                        "a tensor of " + describe({nullptr, dtype, device, shape, {}}) +
                            " is larger than limits.max_output_bytes = " + std::to_string(most) +
                            "; ask for fewer or smaller frames, or raise the limit");
    }
    return static_cast<std::size_t>(size);
}

Tensor over(std::shared_ptr<Buffer> buffer, const std::vector<std::int64_t>& shape, DType dtype) {
    const Device device = buffer->device();
    Tensor result;
    result.view = {buffer->data(), dtype, device, shape, contiguous_strides(shape, dtype)};
    if (device.kind == Device::Kind::cuda) result.buffer = buffer;
    result.owner = std::move(buffer);
    return result;
}

}  // namespace

Tensor Tensor::empty(const std::vector<std::int64_t>& shape, DType dtype, Device device, StreamView stream) {
    return over(Buffer::allocate(checked_size(shape, dtype, device), device, stream), shape, dtype);
}

Tensor Tensor::empty_pinned(const std::vector<std::int64_t>& shape, DType dtype, Device device) {
    return over(Buffer::allocate_pinned(checked_size(shape, dtype, {}), device), shape, dtype);
}

namespace {
constexpr std::array<std::string_view, kNumDTypes> kNames = {"uint8",   "uint16",  "int16",   "int32",   "int64",
                                                             "float16", "float32", "float64", "bfloat16"};
constexpr std::pair<std::string_view, DType> kSpellings[] = {{"half", DType::float16},
                                                             {"fp16", DType::float16},
                                                             {"float", DType::float32},
                                                             {"fp32", DType::float32},
                                                             {"bf16", DType::bfloat16}};
}  // namespace

std::string_view to_string(DType dtype) noexcept {
    return kNames[static_cast<std::size_t>(dtype)];
}

DType parse_dtype(std::string_view name) {
    for (const auto& [spelling, dtype] : kSpellings) {
        if (same_word(name, spelling)) return dtype;
    }
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (same_word(kNames[i], name)) return static_cast<DType>(i);
    }
    // Others are of arrays alone: no call makes them.
    const std::string accepted = "uint8, float16, bfloat16, float32, or of sound int16, float32";
    fail(ErrorCode::invalid_argument,
         "dtype '" + std::string(name) + "' is not one of " + accepted + did_you_mean(name, accepted));
}

}  // namespace tricodec
