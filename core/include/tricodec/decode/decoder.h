// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tricodec/base/device.h"
#include "tricodec/base/error.h"
#include "tricodec/io/packet.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/pixel_format.h"

namespace tricodec {

/// Where a `Decoder` works, and with how many threads.
struct DecoderOptions {
    std::string device = "auto";
    int num_threads = 0;  ///< of the codec; 0 = the cores this process may use, at most 16
    /// On a GPU, the handle of the CUDA context to work in (a CUcontext as a number), which must outlive the decoder
    /// and its frames; 0 is the device's primary one.
    std::uintptr_t context = 0;
    /// Frames of H.264 and HEVC have block_statistics, where the decoder can tell: the CPU's of H.264, and NVDEC's if
    /// the driver gives them. If only the CPU can, it is the choice of "auto". docs/migration/pynvvideocodec.md has the
    /// layout.
    bool block_statistics = false;
    /// Of a CPU's decoder of H.264 or HEVC: it may take the open codec of a decoder that was destroyed, and keeps its
    /// own for the next one. Only for a stream without headers other than its extradata. The frames are the same.
    bool reuses_codec = false;
};

/// Packets to frames, in presentation order.
/// Thread safety: one object from one thread at a time; different objects are independent.
class Decoder {
public:
    /// For a stream of a Demuxer. Throws Error(unsupported) naming the codec if no engine here decodes it.
    [[nodiscard]] static std::unique_ptr<Decoder> create(const StreamInfo& stream, const DecoderOptions& options = {});
    /// For packets that carry their own headers (Annex B, OBU).
    [[nodiscard]] static std::unique_ptr<Decoder> create(CodecId codec, const DecoderOptions& options = {});
    virtual ~Decoder() = default;

    /// Feeds one access unit. A packet that cannot be decoded is noted in issues() and costs its frames only; the call
    /// throws for failures that are not the packet's (out of memory, device). `tag` comes back as the `index` of the
    /// frames it gives.
    virtual void send(const Packet& packet, std::int64_t tag = -1) = 0;
    /// No more packets: receive() then yields what is still held back. send() is possible again after reset().
    virtual void send_end() = 0;
    /// The next frame in presentation order, or nothing until more is sent.
    [[nodiscard]] virtual std::optional<Frame> receive() = 0;
    /// Forgets everything but the headers: for use after a seek. `mid_stream` gives frames too that the codec would
    /// hold back because frames before the first packet, which it has not seen, might be missing.
    virtual void reset(bool mid_stream = false) = 0;

    /// send() and every frame that is ready.
    [[nodiscard]] std::vector<Frame> decode(const Packet& packet, std::int64_t tag = -1);
    /// send_end(), the rest of the frames, and reset().
    [[nodiscard]] std::vector<Frame> flush();

    /// Damage met since the decoder was made, across reset(): the latest kMostIssues reports.
    [[nodiscard]] virtual const std::deque<DecodeIssue>& issues() const noexcept = 0;
    /// How many reports there were, with those that issues() does not hold any more.
    [[nodiscard]] virtual std::int64_t num_issues() const noexcept = 0;
    /// The name of the decoder, for people: "libavcodec h264".
    [[nodiscard]] virtual std::string engine() const = 0;
    [[nodiscard]] virtual Device device() const noexcept = 0;
    /// How many decoders of this kind the hardware runs side by side; 0 where it is cores that decode.
    [[nodiscard]] virtual int num_engines() const noexcept { return 0; }
};

/// What a GPU decodes of one kind of pictures; all 0 if it does not.
struct HardwareCaps {
    bool supported = false;
    int num_engines = 0;
    int min_width = 0;
    int min_height = 0;
    int max_width = 0;
    int max_height = 0;
    int max_macroblocks = 0;
};

/// What GPU `index` decodes of a codec, by any of the formats of equal subsampling and depth. All 0 in a build without
/// the engine. Throws Error(device).
[[nodiscard]] HardwareCaps hardware_caps(CodecId codec, PixelFormat format, int index);

/// Why GPU `index` does not give the CPU's frames of a video stream, for people, as far as the stream's headers tell;
/// empty if it does. Without an index: why no GPU does. Throws Error(device).
[[nodiscard]] std::string gpu_refusal(const StreamInfo& stream, std::optional<int> index);

}  // namespace tricodec
