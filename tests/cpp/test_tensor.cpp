// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tricodec/dlpack.h"
#include "tricodec/error.h"
#include "tricodec/frame.h"
#include "tricodec/limits.h"
#include "tricodec/pixel_format.h"
#include "tricodec/tensor.h"

namespace tricodec {
namespace {

TEST(Tensor, has_c_contiguous_strides_in_bytes) {
    const auto tensor = Tensor::empty({2, 3, 4}, DType::float32);
    EXPECT_EQ(tensor.view.strides_bytes, (std::vector<std::int64_t>{48, 16, 4}));
    EXPECT_TRUE(tensor.view.is_contiguous());
    EXPECT_EQ(describe(tensor.view), "float32 [2, 3, 4] on cpu");
}

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
    EXPECT_THROW((void)parse_dtype("half"), Error);
}

TEST(Dlpack, export_keeps_the_owner_until_its_deleter_runs) {
    auto owner = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = owner;
    TensorView view{owner.get(), DType::uint16, {}, {2, 3}, {12, 2}};
    auto* managed = dlpack::export_tensor(view, std::move(owner));
    EXPECT_EQ(managed->dl_tensor.strides[0], 6);  // elements, not bytes
    EXPECT_EQ(managed->dl_tensor.dtype.code, 1);
    EXPECT_EQ(managed->dl_tensor.dtype.bits, 16);
    EXPECT_FALSE(watched.expired());
    managed->deleter(managed);
    EXPECT_TRUE(watched.expired());
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

TEST(Dlpack, bfloat16_has_a_type_code_of_its_own) {
    const auto tensor = Tensor::empty({2}, DType::bfloat16);
    auto* managed = dlpack::export_tensor(tensor.view, tensor.owner);
    EXPECT_EQ(managed->dl_tensor.dtype.code, 4);
    EXPECT_EQ(managed->dl_tensor.dtype.bits, 16);
    EXPECT_EQ(managed->dl_tensor.dtype.lanes, 1);
    managed->deleter(managed);
}

TEST(PixelFormat, sizes_round_subsampled_planes_up) {
    EXPECT_EQ(info(PixelFormat::yuv420p).packed_bytes(3, 3), 9 + 4 + 4);
    EXPECT_EQ(info(PixelFormat::nv12).packed_bytes(3, 3), 9 + 8);
    EXPECT_EQ(info(PixelFormat::yuv422p).packed_bytes(3, 3), 9 + 6 + 6);
    EXPECT_EQ(info(PixelFormat::p010le).packed_bytes(4, 4), 32 + 16);
    EXPECT_EQ(info(PixelFormat::rgb24).packed_bytes(5, 2), 30);
    EXPECT_EQ(info(PixelFormat::yuv410p).packed_bytes(5, 5), 25 + 4 + 4);
}

TEST(PixelFormat, names_are_ffmpegs_and_round_trip) {
    for (const auto& format : all_pixel_formats()) EXPECT_EQ(parse_pixel_format(format.name), format.format);
    EXPECT_EQ(parse_pixel_format("yuvj420p"), PixelFormat::yuv420p);
    EXPECT_THROW((void)parse_pixel_format("pal8"), Error);
}

TEST(Frame, has_planes_that_follow_one_another) {
    const auto frame = alloc_frame(PixelFormat::nv12, 6, 4);
    EXPECT_EQ(frame.planes[1].data, frame.planes[0].data + 24);
    ASSERT_TRUE(frame.has_single_view());
    EXPECT_EQ(frame.single_view().shape, (std::vector<std::int64_t>{6, 6}));
    EXPECT_EQ(frame.plane_view(1).shape, (std::vector<std::int64_t>{2, 3, 2}));
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

TEST(Frame, packed_samples_have_a_shape) {
    using Shape = std::vector<std::int64_t>;
    EXPECT_EQ(packed_shape(PixelFormat::gray, 6, 4), (Shape{4, 6}));
    EXPECT_EQ(packed_shape(PixelFormat::rgb24, 6, 4), (Shape{4, 6, 3}));
    EXPECT_EQ(packed_shape(PixelFormat::yuv444p, 6, 4), (Shape{3, 4, 6}));
    EXPECT_EQ(packed_shape(PixelFormat::nv24, 6, 4), (Shape{12, 6}));
    EXPECT_EQ(packed_shape(PixelFormat::yuv420p, 6, 4), (Shape{6, 6}));
    EXPECT_EQ(packed_shape(PixelFormat::yuv422p, 6, 4), (Shape{8, 6}));
    EXPECT_EQ(packed_shape(PixelFormat::nv12, 5, 4), (Shape{20 + 12}));
}

TEST(Frame, pack_follows_the_strides_of_an_array) {
    std::vector<std::byte> samples(8 * 6 * 3 / 2);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::byte>(i + 1);
    const auto frame = frame_over(PixelFormat::yuv420p, 8, 6, samples.data());
    // Nine rows, upside down, every second byte.
    std::vector<std::byte> memory(9 * 20);
    pack(frame, TensorView{memory.data() + 8 * 20, DType::uint8, Device{}, {9, 8}, {-20, 2}});
    for (std::size_t y = 0; y < 9; ++y) {
        for (std::size_t x = 0; x < 20; ++x) {
            const bool written = x % 2 == 0 && x < 16;
            EXPECT_EQ(memory[(8 - y) * 20 + x], written ? samples[y * 8 + x / 2] : std::byte{0}) << y << " " << x;
        }
    }
    EXPECT_THROW(pack(frame, TensorView{memory.data(), DType::uint8, Device{}, {71}, {1}}), Error);
    EXPECT_THROW(pack(frame, TensorView{memory.data(), DType::int16, Device{}, {72}, {2}}), Error);
}

TEST(Frame, of_several_planes_is_not_one_array) {
    const auto frame = alloc_frame(PixelFormat::yuv420p, 6, 4);
    EXPECT_FALSE(frame.has_single_view());
    EXPECT_THROW((void)frame.single_view(), Error);
    EXPECT_TRUE(alloc_frame(PixelFormat::yuv444p, 6, 4).has_single_view());
}

TEST(Frame, of_impossible_size_is_refused) {
    EXPECT_THROW((void)alloc_frame(PixelFormat::gray, 0, 4), Error);
    EXPECT_THROW((void)alloc_frame(PixelFormat::gray, 4, -1), Error);
    EXPECT_THROW((void)alloc_frame(PixelFormat::gray, 1 << 20, 1), Error);
}

TEST(Frame, pack_leaves_out_row_padding) {
    auto frame = alloc_frame(PixelFormat::gray, 4, 2);
    for (int i = 0; i < 8; ++i) frame.planes[0].data[i] = static_cast<std::byte>(i);
    frame.width = 3;  // the fourth column is now padding
    std::vector<std::byte> bytes(6);
    pack(frame, bytes);
    EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{2}, std::byte{4}, std::byte{5},
                                             std::byte{6}}));
    EXPECT_THROW(pack(frame, std::span(bytes).first(5)), Error);
}

TEST(Frame, time_is_not_a_number_without_a_time_stamp) {
    Frame frame;
    EXPECT_TRUE(std::isnan(frame.pts_seconds()));
    frame.pts = 3;
    frame.time_base = {1, 2};
    EXPECT_EQ(frame.pts_seconds(), 1.5);
}

}  // namespace
}  // namespace tricodec
