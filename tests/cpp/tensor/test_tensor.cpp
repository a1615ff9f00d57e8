// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/tensor/dlpack.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/pixel_format.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {
namespace {

TEST(Tensor, slices_share_memory) {
    const auto tensor = Tensor::empty({4, 8}, DType::uint8);
    EXPECT_EQ(tensor.view[2].data, static_cast<std::byte*>(tensor.view.data) + 16);
    const auto middle = tensor.view.slice(1, 3);
    EXPECT_EQ(middle.shape, (std::vector<std::int64_t>{2, 8}));
    EXPECT_EQ(middle.data, static_cast<std::byte*>(tensor.view.data) + 8);
}

TEST(Tensor, past_the_limit_is_refused_before_memory_is_taken) {
    const std::int64_t huge = std::int64_t{1} << 40;
    for (const auto& shape : {std::vector<std::int64_t>{huge, huge}, {huge}, {limits().max_output_bytes + 1}}) {
        try {
            (void)Tensor::empty(shape, DType::uint8);
            FAIL() << "nothing was raised";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::refused);
        }
    }
}

TEST(DType, is_parsed_from_numpys_names) {
    EXPECT_EQ(parse_dtype("float16"), DType::float16);
    EXPECT_EQ(parse_dtype("bfloat16"), DType::bfloat16);
    EXPECT_EQ(size_of(DType::bfloat16), 2u);
    EXPECT_EQ(parse_dtype("half"), DType::float16);
    EXPECT_THROW((void)parse_dtype("quarter"), Error);
}

TEST(Dlpack, import_returns_what_was_exported) {
    for (int i = 0; i < kNumDTypes; ++i) {
        const auto tensor = Tensor::empty({3, 5}, static_cast<DType>(i));
        auto* managed = dlpack::export_tensor_versioned(tensor.view, tensor.owner, dlpack::kFlagReadOnly);
        EXPECT_EQ(managed->version.major, 1u);
        const auto view = dlpack::import_tensor(managed->dl_tensor);
        EXPECT_EQ(view.dtype, tensor.view.dtype);
        EXPECT_EQ(view.shape, tensor.view.shape);
        EXPECT_EQ(view.strides_bytes, tensor.view.strides_bytes);
        EXPECT_EQ(view.data, tensor.view.data);
        managed->deleter(managed);
    }
}

TEST(Frame, over_memory_of_the_callers_has_its_planes_there) {
    std::vector<std::byte> memory(9 + 4 + 4);
    const auto frame = frame_over(PixelFormat::yuv420p, 3, 3, memory.data());
    EXPECT_EQ(frame.planes[0].data, memory.data());
    EXPECT_EQ(frame.planes[1].data, memory.data() + 9);
    EXPECT_EQ(frame.planes[2].data, memory.data() + 13);
    EXPECT_EQ(frame.planes[2].stride_bytes, 2);
    EXPECT_THROW((void)frame_over(PixelFormat::gray, 0, 3, memory.data()), Error);
}

TEST(Frame, of_impossible_size_is_refused) {
    EXPECT_THROW((void)alloc_frame(PixelFormat::gray, 0, 4), Error);
    EXPECT_THROW((void)alloc_frame(PixelFormat::gray, 4, -1), Error);
    EXPECT_THROW((void)alloc_frame(PixelFormat::gray, 1 << 20, 1), Error);
}

}  // namespace
}  // namespace tricodec
