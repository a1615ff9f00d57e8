// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "media.h"
#include "tricodec/base/error.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {
namespace {

using testing::standard_clip;

std::unique_ptr<FrameReader> open(const std::filesystem::path& path, int num_workers = 0) {
    FrameReaderOptions options;
    options.num_workers = num_workers;
    return FrameReader::open(MediaSource::from_path(path), options);
}

FrameReader::Place at(const Tensor& out) {
    return [view = out.view](const auto&) { return view; };
}

TEST(FrameReader, plan_writes_a_frame_to_every_part_that_wants_it) {
    const auto reader = open(standard_clip(), 2);
    const Transform whole;
    TransformOptions gray_options;
    gray_options.color = OutputColor::gray;
    const Transform gray(gray_options);
    const std::vector<std::int64_t> first{3, 4, 5, 4};
    const std::vector<std::int64_t> second{30, 5, 4};
    const auto expected_first = reader->batch(first, whole).tensor;
    const auto expected_second = reader->batch(second, gray).tensor;
    const auto out_first = Tensor::empty(expected_first.view.shape, DType::uint8);
    const auto out_second = Tensor::empty(expected_second.view.shape, DType::uint8);
    const auto plan = reader->plan_parts({{first, whole, at(out_first)}, {second, gray, at(out_second)}},
                                         {.max_tasks = 2, .num_cores = 2, .resumable = true});
    for (const auto& task : plan.tasks) task();
    plan.finish();
    const auto same = [](const Tensor& a, const Tensor& b) {
        return std::memcmp(a.view.data, b.view.data, static_cast<std::size_t>(b.view.num_elements())) == 0;
    };
    EXPECT_TRUE(same(out_first, expected_first));
    EXPECT_TRUE(same(out_second, expected_second));
}

TEST(FrameReader, a_file_that_is_emptied_while_it_is_open_raises_at_each_read) {
    const auto path = testing::write_file("emptied.mp4", testing::read_file(standard_clip()));
    const auto reader = open(path);
    ASSERT_EQ(reader->num_frames(), 50);
    std::filesystem::resize_file(path, 0);

    // The first read finds no packets where they were and no file to open again; the next must not count on one.
    for (int attempt = 0; attempt < 3; ++attempt) EXPECT_THROW((void)reader->frame(40), Error) << attempt;
    const auto it = reader->iterate({});
    EXPECT_THROW(while (it->next()){}, Error);
}

TEST(FrameReader, a_file_that_is_halved_while_it_is_open_raises_or_tells_of_damage) {
    const auto path = testing::write_file("halved.mp4", testing::read_file(standard_clip()));
    const auto reader = open(path);
    (void)reader->frame(0);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    try {
        const auto it = reader->iterate({});
        while (it->next()) {
        }
        EXPECT_GT(reader->num_damaged_packets(), 0);
    } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::io) << error.what();
    }
}

}  // namespace
}  // namespace tricodec
