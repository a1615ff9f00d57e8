// SPDX-License-Identifier: Apache-2.0
/// What Decoder::create() chooses from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tricodec/decode/decoder.h"

namespace tricodec {

/// Decoding on the CPU by libavcodec. `stream.parameters` may be null when the packets carry their own headers.
[[nodiscard]] std::unique_ptr<Decoder> make_av_decoder(const StreamInfo& stream, const DecoderOptions& options);

/// How far decoding runs ahead of output.
struct NvDecoderTuning {
    /// Pictures that may be in the hardware while later packets are sent; more keep it busy, and cost a surface each.
    int in_flight = 4;
    /// Takes finished pictures out early, where the driver reports them.
    bool poll = true;
    /// Frames have block_statistics; nvdec::has_statistics().
    bool block_statistics = false;
};

/// Decoding on the GPU `device` by NVDEC, in its primary context or in the caller's, by its handle. Frames are in
/// device memory: nv12, p010le, p012le or planar 4:4:4; their buffers know when they are complete.
[[nodiscard]] std::unique_ptr<Decoder> make_nv_decoder(const StreamInfo& stream, Device device,
                                                       std::uintptr_t context = 0, const NvDecoderTuning& tuning = {});

/// `first`, as long as it gets on with the stream; then what `make_second` makes, with the same frames as if that had
/// decoded the whole stream. Headers do not tell all that a decoder must be able to do, and devices run out of memory.
///
/// Note [Taking over]: a decoder that fails before it has given a frame is replaced, whatever it lacks. Later it is
/// replaced at a picture that it does not take (Error(unsupported), DecodeIssue::refused): the packets from a key frame
/// before the last one on are kept, go to the second decoder, and frames that were given already are dropped. Where
/// key frames are so far apart that those packets take more than 16 MiB, the picture is lost and reported.
[[nodiscard]] std::unique_ptr<Decoder> with_fallback(std::unique_ptr<Decoder> first, const StreamInfo& stream,
                                                     std::function<std::unique_ptr<Decoder>()> make_second);

}  // namespace tricodec
