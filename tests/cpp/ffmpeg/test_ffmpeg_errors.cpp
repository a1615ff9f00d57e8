// SPDX-License-Identifier: Apache-2.0
/// Which line of FFmpeg's log a message quotes.
#include <gtest/gtest.h>

#include "ffmpeg/ffmpeg.h"

namespace tricodec {
namespace {

constexpr int kInvalid = AVERROR_INVALIDDATA;

void say(const char* line) {
    ff::install_log();
    av_log(nullptr, AV_LOG_ERROR, "%s\n", line);
}

bool quotes(const std::string& text, const std::string& line) {
    return text.find(line) != std::string::npos;
}

TEST(CallLog, quotes_the_last_error_line_of_the_call) {
    const ff::CallLog call;
    say("first");
    say("second");
    const auto text = ff::error_text(kInvalid);
    EXPECT_TRUE(quotes(text, "(second)")) << text;
    EXPECT_FALSE(quotes(text, "first")) << text;
}

TEST(CallLog, keeps_the_lines_of_a_call_inside_another_apart) {
    const ff::CallLog outer;
    say("outer");
    {
        const ff::CallLog inner;
        EXPECT_FALSE(quotes(ff::error_text(kInvalid), "outer"));
        say("inner");
    }
    EXPECT_TRUE(quotes(ff::error_text(kInvalid), "outer"));
}

}  // namespace
}  // namespace tricodec
