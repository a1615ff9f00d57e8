// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "decode/nvdec/cuvid.h"
#include "tricodec/decode/decoder.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/tensor/pixel_format.h"

namespace tricodec::nvdec {

/// What a decoder must be able to do.
struct PictureKind {
    cudaVideoCodec codec = cudaVideoCodec_NumCodecs;
    cudaVideoChromaFormat chroma = cudaVideoChromaFormat_420;
    int depth = 8;

    friend auto operator<=>(const PictureKind&, const PictureKind&) = default;
};

struct Caps : HardwareCaps {
    int output_formats = 0;  ///< a bit for each cudaVideoSurfaceFormat
    bool block_statistics = false;
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
/// The same, of a codec and format; nothing where NVDEC knows either not, or is not on this machine.
[[nodiscard]] Caps caps_of(CodecId codec, PixelFormat format, int index);

/// Why GPU `index` cannot decode pictures of this kind and coded size, for people; empty if it can.
[[nodiscard]] std::string refusal(const PictureKind& kind, int coded_width, int coded_height, int index);
/// Why pictures of this size come out cut off or changed, whatever the GPU; empty if they do not.
[[nodiscard]] std::string size_refusal(cudaVideoCodec codec, int width, int height);
/// The same for a stream, as far as its headers tell.
[[nodiscard]] std::string refusal(const StreamInfo& stream, int index);
/// Why no GPU can decode a stream, as far as its headers tell; empty if some can.
[[nodiscard]] std::string refusal(const StreamInfo& stream);
/// Whether the decoder of a stream's pictures gives statistics of their blocks, as far as its headers tell.
[[nodiscard]] bool has_statistics(const StreamInfo& stream, int index);

}  // namespace tricodec::nvdec
