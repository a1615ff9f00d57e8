// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "encode/avcodec/encoder_settings.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/encode/encoder.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {
namespace {

std::vector<Packet> encode_all(Encoder& encoder, const std::vector<Frame>& frames) {
    std::vector<Packet> packets;
    for (const auto& frame : frames) {
        for (auto& packet : encoder.encode(frame)) packets.push_back(std::move(packet));
    }
    for (auto& packet : encoder.flush()) packets.push_back(std::move(packet));
    return packets;
}

/// Note [Calls of slow encoders], media/encoder_context.h. One call of the encoder takes some tenths of a second.
class SlowEncoder : public ::testing::Test {
protected:
    struct Interrupt : std::runtime_error {
        Interrupt() : std::runtime_error("interrupted") {}
    };

    ~SlowEncoder() override { set_interrupt_check(nullptr); }

    static std::unique_ptr<Encoder> make(const std::string& codec) {
        EncoderOptions options;
        options.codec = codec;
        options.width = 384;
        options.height = 216;
        options.num_b_frames = 0;
        options.num_threads = 1;
        options.device = "cpu";
        const std::string parameters = codec == "hevc" ? "x265-params" : "x264-params";
        options.options = {{"preset", "placebo"}, {parameters, "rc-lookahead=0:sync-lookahead=0"}};
        return Encoder::create(options);
    }
    /// Noise, which encoders cannot be quick with.
    Frame picture() {
        Frame frame = alloc_frame(PixelFormat::yuv420p, 384, 216);
        auto* bytes = reinterpret_cast<std::uint8_t*>(frame.planes[0].data);
        for (std::int64_t at = 0; at < frame.size_bytes(); ++at) bytes[at] = static_cast<std::uint8_t>(random_());
        return frame;
    }
    /// Returns how many times the frame was sent until a call took so long that it was interrupted.
    static std::size_t send_until_interrupted(Encoder& encoder, const Frame& frame) {
        set_interrupt_check([] { throw Interrupt(); });
        for (std::size_t count = 1;; ++count) {
            try {
                encoder.send(frame, {});
            } catch (const Interrupt&) {
                set_interrupt_check(nullptr);
                return count;
            }
        }
    }

    std::mt19937 random_;
};

TEST_F(SlowEncoder, loses_no_picture_if_it_is_used_after_an_interrupt) {
    for (const std::string codec : {"hevc", "h264"}) {
        const auto encoder = make(codec);
        const auto count = send_until_interrupted(*encoder, picture());
        RateControl rate;
        rate.bit_rate = 1'000'000;
        if (codec == "h264") encoder->reconfigure(rate);

        const auto packets = encode_all(*encoder, {picture()});

        EXPECT_EQ(packets.size(), count + 1) << codec;
    }
}

TEST_F(SlowEncoder, finishes_the_call_of_an_interrupt_alone_and_closes_itself) {
    std::weak_ptr<const void> memory;
    const auto soon = std::chrono::milliseconds(200);
    std::chrono::steady_clock::time_point interrupted;
    {
        const auto encoder = make("hevc");
        const auto frame = picture();
        memory = frame.owner;
        send_until_interrupted(*encoder, frame);
        interrupted = std::chrono::steady_clock::now();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - interrupted, soon);
    for (int tries = 0; tries < 6000 && !memory.expired(); ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(memory.expired());
}

}  // namespace
}  // namespace tricodec
