// SPDX-License-Identifier: Apache-2.0
#include "video/avcodec/encoder_formats.h"

#include <algorithm>
#include <string>
#include <vector>

#include "media/encoder_choice.h"
#include "tricodec/error.h"

namespace tricodec {
namespace {

/// The formats that an encoder takes, of those that frames here can have.
std::vector<PixelFormat> accepted_formats(const AVCodec& codec) {
    std::vector<PixelFormat> accepted;
    for (const auto format : encoder_formats(codec)) {
        const auto known = ff::to_pixel_format(format);
        if (known != PixelFormat::unknown && std::ranges::find(accepted, known) == accepted.end())
            accepted.push_back(known);
    }
    return accepted;
}

std::string names_of(const std::vector<PixelFormat>& formats) {
    std::string names;
    for (const auto format : formats) names += (names.empty() ? "" : ", ") + std::string(to_string(format));
    return names;
}

}  // namespace

void expect_encodable(const AVCodec& codec, const EncoderOptions& options) {
    expect_encodable(options.width, options.height);
    const auto& format = info(options.format);
    // 4:2:0 of an odd size has no representation in these codecs: half a chroma sample would have to be cropped.
    const int columns = 1 << format.log2_chroma_w;
    const int rows = 1 << format.log2_chroma_h;
    TRICODEC_EXPECT(options.width % columns == 0 && options.height % rows == 0, invalid_argument,
                    std::string(format.name) + " of " + std::to_string(options.width) + "x" +
                        std::to_string(options.height) + " cannot be encoded: the width must be a multiple of " +
                        std::to_string(columns) + " and the height of " + std::to_string(rows) +
                        "; crop the frames, or encode yuv444p");
    const auto accepted = accepted_formats(codec);
    TRICODEC_EXPECT(accepted.empty() || std::ranges::find(accepted, options.format) != accepted.end(), invalid_argument,
                    std::string(format.name) + " is not encoded by " + codec.name + "; it takes " + names_of(accepted));
    TRICODEC_EXPECT(options.frame_rate.num > 0 && options.frame_rate.den > 0, invalid_argument,
                    "frame_rate is " + std::to_string(options.frame_rate.num) + "/" +
                        std::to_string(options.frame_rate.den) + "; it must be positive");
    expect_rate(options.bit_rate, "bit_rate");
    TRICODEC_EXPECT(options.num_threads >= 0, invalid_argument,
                    "num_threads is " + std::to_string(options.num_threads) +
                        "; use 0 for the encoder's own choice, or a positive number");
    TRICODEC_EXPECT(
        options.gop_size >= -1, invalid_argument,
        "gop_size is " + std::to_string(options.gop_size) + "; use -1 for the encoder's own choice, or 0 or more");
    TRICODEC_EXPECT(options.num_b_frames >= -1, invalid_argument,
                    "num_b_frames is " + std::to_string(options.num_b_frames) +
                        "; use -1 for the encoder's own choice, or 0 or more");
    const int rotation = options.orientation.rotation_degrees;
    TRICODEC_EXPECT(rotation == 0 || rotation == 90 || rotation == 180 || rotation == 270, invalid_argument,
                    "rotation is " + std::to_string(rotation) + "; it must be 0, 90, 180 or 270");
}

PixelFormat nearest_format(const AVCodec& codec, PixelFormat source) {
    const auto accepted = accepted_formats(codec);
    const auto takes = [&](PixelFormat format) { return std::ranges::find(accepted, format) != accepted.end(); };
    if (accepted.empty() || (takes(source) && info(source).family == ColorFamily::yuv)) return source;
    const auto& from = info(source);
    const auto alike = [&](const PixelFormatInfo& to) {
        return takes(to.format) && to.family == from.family && to.num_components == from.num_components &&
               to.log2_chroma_w == from.log2_chroma_w && to.log2_chroma_h == from.log2_chroma_h;
    };
    // Among the layouts of the same samples, the least depth that keeps them all, else the greatest there is.
    const PixelFormatInfo* best = nullptr;
    for (const auto& to : all_pixel_formats()) {
        if (to.format == PixelFormat::unknown || to.family != ColorFamily::yuv || !alike(to)) continue;
        const bool keeps = to.depth >= from.depth;
        const bool best_keeps = best != nullptr && best->depth >= from.depth;
        if (best == nullptr || (keeps && (!best_keeps || to.depth < best->depth)) ||
            (!keeps && !best_keeps && to.depth > best->depth)) {
            best = &to;
        }
    }
    return best != nullptr ? best->format : PixelFormat::yuv420p;
}

}  // namespace tricodec
