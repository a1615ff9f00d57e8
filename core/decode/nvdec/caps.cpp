// SPDX-License-Identifier: Apache-2.0
#include "decode/nvdec/caps.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "base/cuda/context.h"
#include "tricodec/base/text.h"

namespace tricodec::nvdec {
namespace {

constexpr std::pair<CodecId, cudaVideoCodec> kCodecs[] = {
    {CodecId::mpeg1, cudaVideoCodec_MPEG1}, {CodecId::mpeg2, cudaVideoCodec_MPEG2},
    {CodecId::mpeg4, cudaVideoCodec_MPEG4}, {CodecId::vc1, cudaVideoCodec_VC1},
    {CodecId::h264, cudaVideoCodec_H264},   {CodecId::mjpeg, cudaVideoCodec_JPEG},
    {CodecId::hevc, cudaVideoCodec_HEVC},   {CodecId::vp8, cudaVideoCodec_VP8},
    {CodecId::vp9, cudaVideoCodec_VP9},     {CodecId::av1, cudaVideoCodec_AV1},
};

std::string name_of(const PictureKind& kind) {
    static constexpr const char* kChroma[] = {"4:0:0", "4:2:0", "4:2:2", "4:4:4"};
    std::string name = "this codec";
    for (const auto& [codec, theirs] : kCodecs) {
        if (theirs == kind.codec) name = std::string(to_string(codec));
    }
    return name + " " + kChroma[kind.chroma & 3] + " of " + std::to_string(kind.depth) + " bits";
}

std::optional<cudaVideoChromaFormat> chroma_of(const PixelFormatInfo& format) {
    if (format.family == ColorFamily::gray) return cudaVideoChromaFormat_Monochrome;
    if (format.family != ColorFamily::yuv) return std::nullopt;
    if (format.log2_chroma_w == 1 && format.log2_chroma_h == 1) return cudaVideoChromaFormat_420;
    if (format.log2_chroma_w == 1 && format.log2_chroma_h == 0) return cudaVideoChromaFormat_422;
    if (format.log2_chroma_w == 0 && format.log2_chroma_h == 0) return cudaVideoChromaFormat_444;
    return std::nullopt;
}

/// The field bIsDecodeStatsSupported of SDK 13.1. Earlier headers reserve it.
bool gives_statistics(const CUVIDDECODECAPS& caps) {
    constexpr auto kPlace = offsetof(CUVIDDECODECAPS, nMaxHistogramBins) + sizeof caps.nMaxHistogramBins;
    return reinterpret_cast<const unsigned char*>(&caps)[kPlace] != 0;
}

/// What the headers say of a stream's pictures; the usual where they say nothing. Nothing if NVDEC has no such format.
std::optional<PictureKind> kind_of(const StreamInfo& stream, cudaVideoCodec codec) {
    PictureKind kind{codec};
    if (stream.pixel_format == PixelFormat::unknown) return kind;
    const auto& format = info(stream.pixel_format);
    const auto chroma = chroma_of(format);
    if (!chroma) return std::nullopt;
    kind.chroma = *chroma;
    kind.depth = format.depth;
    return kind;
}

}  // namespace

std::optional<cudaVideoCodec> to_nvdec(CodecId codec) noexcept {
    for (const auto& [ours, theirs] : kCodecs) {
        if (ours == codec) return theirs;
    }
    return std::nullopt;
}

std::string doubt(CodecId codec) {
    switch (codec) {
        case CodecId::h264:
        case CodecId::hevc:
        case CodecId::vp8:
        case CodecId::vp9:
        case CodecId::av1:
            return {};
        case CodecId::vc1:
            return "NVDEC's frames of vc1 have never been compared with the CPU's, which are the reference";
        default:  // the inverse transforms of MPEG-1, MPEG-2, MPEG-4 part 2 and JPEG are only bounded by their
                  // standards
            return "decoders of " + std::string(to_string(codec)) +
                   " may differ in rounding, and the CPU's frames are the reference";
    }
}

std::optional<OutputFormat> output_format(const PictureKind& kind) noexcept {
    using enum PixelFormat;
    switch (kind.chroma) {
        case cudaVideoChromaFormat_Monochrome:
            if (kind.depth == 8) return OutputFormat{cudaVideoSurfaceFormat_NV12, gray};
            return std::nullopt;
        case cudaVideoChromaFormat_420:
            if (kind.depth == 8) return OutputFormat{cudaVideoSurfaceFormat_NV12, nv12};
            if (kind.depth == 10) return OutputFormat{cudaVideoSurfaceFormat_P016, p010le};
            if (kind.depth == 12) return OutputFormat{cudaVideoSurfaceFormat_P016, p012le};
            return std::nullopt;
        case cudaVideoChromaFormat_444:
            if (kind.depth == 8) return OutputFormat{cudaVideoSurfaceFormat_YUV444, yuv444p};
            if (kind.depth == 10) return OutputFormat{cudaVideoSurfaceFormat_YUV444_16Bit, yuv444p10msble};
            if (kind.depth == 12) return OutputFormat{cudaVideoSurfaceFormat_YUV444_16Bit, yuv444p12msble};
            return std::nullopt;
        default:
            return std::nullopt;
    }
}

Caps caps_of(const PictureKind& kind, int index) {
    static std::mutex mutex;
    static std::map<std::pair<int, PictureKind>, Caps> known;
    std::lock_guard lock(mutex);
    const auto key = std::make_pair(index, kind);
    if (const auto it = known.find(key); it != known.end()) return it->second;

    const auto context = cuda::Context::primary(index);
    cuda::ContextScope scope(*context);
    CUVIDDECODECAPS query{};
    query.eCodecType = kind.codec;
    query.eChromaFormat = kind.chroma;
    query.nBitDepthMinus8 = static_cast<unsigned>(kind.depth - 8);
    check(cuvid().get_decoder_caps(&query), "asking NVDEC what it can decode");
    Caps caps;
    caps.supported = query.bIsSupported != 0;
    if (caps.supported) {
        caps = {{true, query.nNumNVDECs, query.nMinWidth, query.nMinHeight, static_cast<int>(query.nMaxWidth),
                 static_cast<int>(query.nMaxHeight), static_cast<int>(query.nMaxMBCount)},
                query.nOutputFormatMask,
                gives_statistics(query)};
    }
    known.emplace(key, caps);
    return caps;
}

Caps caps_of(CodecId codec, PixelFormat format, int index) {
    const auto theirs = to_nvdec(codec);
    const auto chroma = chroma_of(info(format));
    if (!theirs || !chroma || try_cuvid(nullptr) == nullptr) return {};
    return caps_of({*theirs, *chroma, info(format).depth}, index);
}

std::string refusal(const PictureKind& kind, int coded_width, int coded_height, int index) {
    const auto output = output_format(kind);
    const auto caps = caps_of(kind, index);
    if (!output || !caps.supported || (caps.output_formats >> output->surface & 1) == 0) {
        return "NVDEC of this GPU does not decode " + name_of(kind);
    }
    const auto size = size_text(coded_width, coded_height);
    if (coded_width < caps.min_width || coded_height < caps.min_height || coded_width > caps.max_width ||
        coded_height > caps.max_height) {
        return "NVDEC of this GPU decodes " + name_of(kind) + " from " + size_text(caps.min_width, caps.min_height) +
               " to " + size_text(caps.max_width, caps.max_height) + ", not " + size;
    }
    if (static_cast<std::int64_t>(coded_width) * coded_height / 256 > caps.max_macroblocks) {
        return "NVDEC of this GPU decodes pictures of at most " + std::to_string(caps.max_macroblocks) +
               " macroblocks (16x16), " + size + " has more";
    }
    return {};
}

std::string size_refusal(cudaVideoCodec codec, int width, int height) {
    // Seen on an H200: of 322 columns the last two are black, whatever size the decoder is made for.
    if ((codec == cudaVideoCodec_MPEG1 || codec == cudaVideoCodec_MPEG2) && width % 16 != 0) {
        return "of MPEG-1 and MPEG-2 NVDEC leaves out the columns after the last multiple of 16, and these pictures "
               "have " +
               std::to_string(width);
    }
    // Seen on an H200: no frame of a 175x143 stream is that of libvpx.
    if (codec == cudaVideoCodec_VP8 && (width % 2 != 0 || height % 2 != 0)) {
        return "NVDEC does not decode VP8 of an odd size exactly, and these pictures are " + size_text(width, height);
    }
    return {};
}

std::string refusal(const StreamInfo& stream) {
    const auto codec = to_nvdec(stream.codec);
    if (!codec) return "NVDEC does not know the codec '" + stream.codec_name + "'";
    // Only decoding tells where the headers are in the packets: the usual is assumed, and the decoder asks again.
    const auto kind = kind_of(stream, *codec);
    if (!kind || (stream.pixel_format == PixelFormat::unknown && !stream.pixel_format_name.empty())) {
        return "NVDEC does not decode to " + stream.pixel_format_name;
    }
    if (!output_format(*kind)) return "NVDEC does not decode " + name_of(*kind);
    return stream.width == 0 || stream.height == 0 ? "" : size_refusal(*codec, stream.width, stream.height);
}

std::string refusal(const StreamInfo& stream, int index) {
    std::string_view reason;
    if (try_cuvid(&reason) == nullptr) return std::string(reason);
    auto refused = refusal(stream);
    if (!refused.empty()) return refused;
    const auto kind = kind_of(stream, to_nvdec(stream.codec).value()).value();
    // Codecs of 8x8 and 16x16 blocks are coded in whole ones.
    const auto coded = [](int size) { return (size + 15) / 16 * 16; };
    if (stream.width == 0 || stream.height == 0) {
        const auto caps = caps_of(kind, index);
        return refusal(kind, caps.min_width, caps.min_height, index);
    }
    return refusal(kind, coded(stream.width), coded(stream.height), index);
}

bool has_statistics(const StreamInfo& stream, int index) {
    if (try_cuvid() == nullptr || (stream.codec != CodecId::h264 && stream.codec != CodecId::hevc)) return false;
    const auto kind = kind_of(stream, to_nvdec(stream.codec).value());
    return kind && caps_of(*kind, index).block_statistics;
}

}  // namespace tricodec::nvdec
