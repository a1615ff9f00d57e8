// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <set>

#include "base/cuda/memory.h"
#include "tricodec/buffer.h"
#include "tricodec/error.h"
#include "tricodec/frame.h"
#include "tricodec/gpu.h"

namespace tricodec {
namespace {

constexpr Device kGpu{Device::Kind::cuda, 0};

TEST(Gpu, is_there_and_described) {
    EXPECT_EQ(gpu_unusable_reason(0), "");
    const auto all = gpus();
    ASSERT_FALSE(all.empty());
    EXPECT_FALSE(all[0].name.empty());
    EXPECT_GE(all[0].compute_major, 7);
    EXPECT_GT(all[0].total_memory_bytes, std::size_t{1} << 30);
    EXPECT_GE(cuda_driver_version(), 11000);
    EXPECT_NE(gpu_unusable_reason(static_cast<int>(all.size())), "");
}

TEST(DeviceMemory, is_reused_by_size_and_counted) {
    const auto context = cuda::Context::primary(0);
    cuda::Stream stream(context);
    const auto before = context->device_pool().use().in_use_bytes();
    void* first = nullptr;
    {
        const auto buffer = Buffer::allocate(3 << 20, kGpu, stream);
        first = buffer->data();
        EXPECT_EQ(buffer->device(), kGpu);
        EXPECT_EQ(context->device_pool().use().in_use_bytes(), before + (3 << 20));
    }
    EXPECT_EQ(context->device_pool().use().in_use_bytes(), before);
    EXPECT_EQ(Buffer::allocate(3 << 20, kGpu, stream)->data(), first);
    context->device_pool().trim();
    EXPECT_EQ(context->device_pool().use().idle_bytes(), 0u);
}

TEST(DeviceMemory, is_not_given_to_another_stream_before_its_readers_are_done) {
    const auto context = cuda::Context::primary(0);
    cuda::Stream writer(context);
    cuda::Stream reader(context);
    cuda::Stream next(context);
    constexpr std::size_t kSize = 64 << 20;
    const auto& driver = cuda::api();
    const auto result = Buffer::allocate_pinned(kSize, kGpu);
    std::memset(result->data(), 0, kSize);
    for (int round = 0; round < 20; ++round) {
        cuda::ContextScope scope(*context);
        const auto value = static_cast<unsigned char>(round + 1);
        auto buffer = Buffer::allocate(kSize, kGpu, writer);
        const auto pointer = reinterpret_cast<cuda::DevicePointer>(buffer->data());
        cuda::check(driver.set_bytes_async(pointer, value, kSize, cuda::handle_of(writer)), "setting");
        buffer->written_on(writer);
        buffer->wait_on(reader);
        cuda::check(driver.copy_to_host_async(result->data(), pointer, kSize, cuda::handle_of(reader)), "copying");
        buffer->used_on(reader);
        buffer.reset();
        // The same block, most likely: its bytes change only after the copy.
        const auto other = Buffer::allocate(kSize, kGpu, next);
        cuda::check(driver.set_bytes_async(reinterpret_cast<cuda::DevicePointer>(other->data()), 0, kSize,
                                           cuda::handle_of(next)),
                    "setting");
        other->written_on(next);
        reader.synchronize();
        for (std::size_t at = 0; at < kSize; at += 4099) {
            ASSERT_EQ(std::to_integer<unsigned char>(result->data()[at]), value) << round << " at " << at;
        }
    }
}

TEST(DeviceMemory, that_a_busy_stream_uses_is_not_waited_for_while_there_is_other) {
    const auto context = cuda::Context::primary(0);
    cuda::Stream busy(context);
    cuda::Stream next(context);
    constexpr std::size_t kSize = 5 << 20;
    context->device_pool().trim();
    std::promise<void> gate;
    auto open = gate.get_future();
    {
        cuda::ContextScope scope(*context);
        const auto wait = [](void* future) { static_cast<std::future<void>*>(future)->wait(); };
        cuda::check(cuda::api().launch_host_function(cuda::handle_of(busy), wait, &open), "keeping a stream busy");
    }
    auto used = Buffer::allocate(kSize, kGpu, next);
    const void* const data = used->data();
    used->used_on(busy);
    used.reset();

    auto other = Buffer::allocate(kSize, kGpu, next);
    next.synchronize();  // for ever, if it waits for the busy one
    EXPECT_NE(other->data(), data);
    other->wait();
    other.reset();
    EXPECT_NE(Buffer::allocate(kSize, kGpu, next)->data(), data) << "there is one that nobody uses";

    gate.set_value();
    busy.synchronize();
    context->device_pool().trim();
}

TEST(DeviceMemory, that_is_not_there_is_an_error_that_says_what_was_asked_and_what_is_free) {
    try {
        (void)Buffer::allocate(std::size_t{1} << 50, kGpu);
        FAIL() << "a pebibyte was allocated";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
        const std::string text = error.what();
        EXPECT_NE(text.find("1073741824 MiB were asked for"), std::string::npos) << text;
        EXPECT_NE(text.find("are free"), std::string::npos) << text;
    }
    EXPECT_NE(Buffer::allocate(1 << 20, kGpu), nullptr);  // the context is none the worse
}

TEST(PinnedMemory, is_reused_only_when_nobody_copies_to_it) {
    const auto context = cuda::Context::primary(0);
    const auto before = context->pinned_pool().use().in_use_bytes();
    const auto* first = Buffer::allocate_pinned(2 << 20, kGpu)->data();
    EXPECT_EQ(Buffer::allocate_pinned(2 << 20, kGpu)->data(), first);
    EXPECT_EQ(context->pinned_pool().use().in_use_bytes(), before);
}

TEST(FrameTransfer, to_the_gpu_and_back_gives_the_same_pixels_at_odd_sizes) {
    const auto context = cuda::Context::primary(0);
    cuda::Stream stream(context);
    for (const auto format : {PixelFormat::yuv420p, PixelFormat::nv12, PixelFormat::p010le, PixelFormat::rgb24}) {
        Frame frame = alloc_frame(format, 67, 35);
        auto* bytes = frame.planes[0].data;
        for (std::int64_t i = 0; i < frame.size_bytes(); ++i) bytes[i] = static_cast<std::byte>(i * 31 % 251);
        frame.pts = 42;
        const Frame there = to_device(frame, kGpu, stream);
        EXPECT_EQ(there.device, kGpu);
        const Frame back = to_host(there);
        EXPECT_EQ(back.device, Device{});
        EXPECT_EQ(back.pts, 42);
        std::vector<std::byte> sent(static_cast<std::size_t>(frame.size_bytes()));
        std::vector<std::byte> received(sent.size());
        pack(frame, sent);
        pack(back, received);
        EXPECT_EQ(sent, received) << to_string(format);
    }
}

TEST(Context, calls_leave_the_current_context_of_the_thread_as_it_was) {
    const auto context = cuda::Context::primary(0);
    cuda::Stream stream(context);
    cuda::ContextHandle before = nullptr;
    cuda::check(cuda::api().context_get_current(&before), "asking");
    const auto frame = alloc_frame(PixelFormat::nv12, 64, 64, kGpu, stream);
    (void)to_host(frame);
    cuda::ContextHandle after = context->handle();
    cuda::check(cuda::api().context_get_current(&after), "asking");
    EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace tricodec
