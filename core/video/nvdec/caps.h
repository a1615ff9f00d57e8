// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tricodec/media/stream_info.h"
#include "tricodec/tensor/pixel_format.h"
#include "video/nvdec/cuvid.h"

namespace tricodec::nvdec {

/// What a decoder must be able to do.
struct PictureKind {
    cudaVideoCodec codec = cudaVideoCodec_NumCodecs;
    cudaVideoChromaFormat chroma = cudaVideoChromaFormat_420;
    int depth = 8;

    friend auto operator<=>(const PictureKind&, const PictureKind&) = default;
};

struct Caps {
    bool supported = false;
    int num_engines = 0;
    int output_formats = 0;  ///< a bit for each cudaVideoSurfaceFormat
    int min_width = 0;
    int min_height = 0;
    int max_width = 0;
    int max_height = 0;
    int max_macroblocks = 0;
};

/// How pictures of a kind leave the decoder, and what they are called here.
struct OutputFormat {
    cudaVideoSurfaceFormat surface = cudaVideoSurfaceFormat_NV12;
    PixelFormat pixel_format = PixelFormat::unknown;
};

/// NVDEC's name of a codec, or nothing.
[[nodiscard]] std::optional<cudaVideoCodec> to_nvdec(CodecId codec) noexcept;
/// Why NVDEC's samples may not be libavcodec's; empty if the codec's standard leaves no freedom to decoders.
[[nodiscard]] std::string doubt(CodecId codec);
/// Nothing for kinds that have no pixel format here.
[[nodiscard]] std::optional<OutputFormat> output_format(const PictureKind& kind) noexcept;

/// What GPU `index` can do; asked of the driver once. Throws Error(device).
[[nodiscard]] Caps caps_of(const PictureKind& kind, int index);

/// Why GPU `index` cannot decode pictures of this kind and coded size, for people; empty if it can.
[[nodiscard]] std::string refusal(const PictureKind& kind, int coded_width, int coded_height, int index);
/// Why pictures of this width come out cut off, whatever the GPU; empty if they do not.
[[nodiscard]] std::string cut_off_reason(cudaVideoCodec codec, int width);
/// The same for a stream, as far as its headers tell.
[[nodiscard]] std::string refusal(const StreamInfo& stream, int index);

}  // namespace tricodec::nvdec
