// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "media.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/container/demuxer.h"
#include "tricodec/decode/decoder.h"

namespace tricodec {
namespace {

using testing::clip;

/// The limits of the process, as they were before, when this goes out of scope.
class KeepLimits {
public:
    ~KeepLimits() { set_limits(before_); }
    Limits before_ = limits();
};

struct SizeCase {
    const char* name;
    const char* arguments;
    std::int64_t Limits::* limit;
    std::int64_t most;  // what the small pictures have
};

class DecoderOfAStreamThatGrows : public ::testing::TestWithParam<SizeCase> {
protected:
    /// Five pictures of 104x66, then five of 160x96. Opened before the limits are set.
    std::unique_ptr<Demuxer> open() const {
        const auto& [name, arguments, limit, most] = GetParam();
        auto stream = testing::read_file(clip(std::string("small.") + name, arguments, 5, "104x66"));
        const auto large = testing::read_file(clip(std::string("large.") + name, arguments, 5, "160x96"));
        stream.insert(stream.end(), large.begin(), large.end());
        return Demuxer::open(MediaSource::from_path(testing::write_file(std::string("grows.") + name, stream)));
    }
};

TEST_P(DecoderOfAStreamThatGrows, gives_pictures_of_just_the_limits_and_refuses_larger_ones) {
    const KeepLimits keep;
    const auto demuxer = open();
    auto most = limits();
    most.*GetParam().limit = GetParam().most;
    set_limits(most);
    const auto decoder = Decoder::create(demuxer->stream(), {"cpu", 1});

    std::vector<Frame> frames;
    std::string refusal;
    const auto take = [&](const auto& decode) {
        try {
            for (auto& frame : decode()) frames.push_back(std::move(frame));
        } catch (const Error& error) {
            ASSERT_EQ(error.code(), ErrorCode::refused) << error.what();
            refusal = error.what();
        }
    };
    while (const auto packet = demuxer->read()) take([&] { return decoder->decode(*packet); });
    for (int i = 0; i < 5; ++i) take([&] { return decoder->flush(); });

    ASSERT_EQ(frames.size(), 5u);
    for (const auto& frame : frames) EXPECT_EQ(frame.width, 104);
    EXPECT_NE(refusal.find("160x96, past limits.max_width, max_height or max_pixels"), std::string::npos) << refusal;
}

constexpr const char* kH264 = "-pix_fmt yuv420p -c:v libx264 -g 5 -bf 0 -f h264";
constexpr const char* kAv1 = "-pix_fmt yuv420p -c:v libsvtav1 -preset 12 -g 5 -f obu";
INSTANTIATE_TEST_SUITE_P(Limits, DecoderOfAStreamThatGrows,
                         ::testing::Values(SizeCase{"width.h264", kH264, &Limits::max_width, 104},
                                           SizeCase{"height.h264", kH264, &Limits::max_height, 66},
                                           SizeCase{"pixels.h264", kH264, &Limits::max_pixels, 104 * 66},
                                           SizeCase{"width.obu", kAv1, &Limits::max_width, 104},
                                           SizeCase{"pixels.obu", kAv1, &Limits::max_pixels, 104 * 66}),
                         testing::name_of_file);

}  // namespace
}  // namespace tricodec
