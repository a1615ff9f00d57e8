// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tricodec/encode/transcode.h"
#include "tricodec/image/transform.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// How the pictures of a source come to an encoder.
struct PictureSettings {
    EncoderOptions encoder;    ///< size, format, rate, colors, fields and orientation of the output are known
    std::optional<Crop> crop;  ///< of the upright pictures of size `upright`
    Size upright;              ///< of the source's pictures as they are shown
    bool turn = false;         ///< pictures are turned upright, because the container cannot say how they are turned
};

/// True if files of this format ("mp4", "mkv", ...) say how pictures are turned.
[[nodiscard]] bool keeps_orientation(const std::string& container);

/// What is not set in options.encoder is the source's. An odd column or row of subsampled chroma is cropped if the
/// encoder needs that, which one log line says. Throws Error(invalid_argument) for a crop outside the picture.
[[nodiscard]] PictureSettings settle_pictures(const StreamInfo& video, const TranscodeOptions& options,
                                              const std::string& container);

/// Decoded frames to what one encoder takes: crop, size, orientation, and samples that the encoder does not convert
/// itself. Thread safety: one thread at a time.
class PictureAdapter {
public:
    explicit PictureAdapter(PictureSettings settings) : settings_(std::move(settings)) {}

    /// Without a copy where nothing changes. Frames of another size than the stream's are resized; the crop is then the
    /// same part of the picture. Throws Error(unsupported).
    [[nodiscard]] Frame operator()(const Frame& frame) const;

private:
    [[nodiscard]] TransformOptions options_for(const Frame& frame) const;

    PictureSettings settings_;
};

}  // namespace tricodec
