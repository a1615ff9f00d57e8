// SPDX-License-Identifier: Apache-2.0
#include "read/read_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/cuda/memory.h"
#include "bitstream/sps.h"
#include "ffmpeg/decoder_context.h"
#include "ffmpeg/stream_info.h"
#include "read/read_plan.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

constexpr int kInFlight = 4;        // NvDecoderTuning::in_flight
constexpr int kOutputSurfaces = 4;  // of an NVDEC decoder
constexpr std::int64_t kMostSurfaces = 32;
constexpr std::int64_t kLaunchFrames = 16;  // that wait for a launch on a GPU

/// Frames in a decoder's memory at a time, with the current one. Note [Memory of a read]
int kept_frames(const StreamInfo& stream) {
    constexpr int kUsual = 5;
    const auto extradata = extradata_of(stream.parameters.get());
    switch (stream.codec) {
        case CodecId::h264: {
            const auto sps = only_h264_sps(extradata);
            return sps ? std::max(1, sps->num_kept_frames) + 1 : kUsual;
        }
        case CodecId::hevc: {
            const auto sps = first_hevc_sps(extradata);
            return sps && sps->num_kept_frames > 0 ? sps->num_kept_frames + 1 : kUsual + 1;
        }
        case CodecId::mjpeg:
            return 1;
        case CodecId::vp8:
            return 4;  // the last, the golden and the alternate frame
        case CodecId::vp9:
            return 5;  // these, and the one with the motion that the next frame is predicted from
        case CodecId::av1:
            return 9;
        default:
            return 4;
    }
}

/// The software decoders of AV1 have pictures of their own.
bool uses_own_memory(const StreamInfo& stream) noexcept {
    return stream.codec == CodecId::av1;
}

std::int64_t round_up(std::int64_t value, std::int64_t to) noexcept {
    return (value + to - 1) / to * to;
}
std::int64_t whole_pages(std::int64_t size_bytes) noexcept {
    return round_up(size_bytes, 4096);
}

/// A decoded picture, as FrameMemory lays it out for libavcodec.
std::int64_t picture_bytes(const StreamInfo& stream) {
    constexpr int kTails = 3 * 192;  // past the last rows of the planes
    if (stream.pixel_format == PixelFormat::unknown) return whole_pages(frame_bytes(stream));
    // Rows of every plane, of half the width too, begin at multiples of 64 bytes; H.264 reads two rows more.
    const auto width = round_up(stream.width, sample_dtype(stream.pixel_format) == DType::uint8 ? 128 : 64);
    const auto height = round_up(stream.height, 32) + (stream.codec == CodecId::h264 ? 2 : 0);
    const auto packed = info(stream.pixel_format).packed_bytes(static_cast<int>(width), static_cast<int>(height));
    return whole_pages(packed + kTails);
}

/// What a codec library takes from the system for one decoder, beside pictures of ours. Fitted to measurements,
/// so rougher than the rest.
std::int64_t codec_bytes(const StreamInfo& stream, int num_threads) {
    const auto pixels = std::int64_t{stream.width} * stream.height;
    if (uses_own_memory(stream)) return (std::int64_t{1} << 20) + 15 * pixels;
    const bool large_state = stream.codec == CodecId::h264 || stream.codec == CodecId::hevc;
    return large_state ? open_codec_bytes(pixels, num_threads) : num_threads * (std::int64_t{1} << 20);
}

/// The same as a frame in a GPU's memory.
std::int64_t device_frame_bytes(const StreamInfo& stream) {
    return static_cast<std::int64_t>(cuda::driver_block_bytes(static_cast<std::size_t>(frame_bytes(stream))));
}
std::int64_t device_bytes(std::int64_t size_bytes) {
    return static_cast<std::int64_t>(cuda::driver_block_bytes(static_cast<std::size_t>(size_bytes)));
}

/// Of one of NVDEC's decoders, as its session counts them.
std::int64_t surface_bytes(const StreamInfo& stream) {
    const auto whole_blocks = [](int side) { return (side + 15) / 16 * 16; };
    StreamInfo coded = stream;
    coded.width = whole_blocks(stream.width);
    coded.height = whole_blocks(stream.height);
    const auto num_surfaces = std::min<std::int64_t>(kMostSurfaces, kept_frames(stream) + kInFlight);
    return (num_surfaces + kOutputSurfaces) * frame_bytes(coded);
}

/// Decoders of one number of threads that exist at once. One that waits for its next range keeps its pictures.
struct Decoders {
    std::int64_t count = 0;
    std::int64_t most_packets = 0;  ///< for one of them; it makes no more pictures
};
using DecodersByThreads = std::map<int, Decoders>;

DecodersByThreads decoders_of(const ReadPlan& plan) {
    DecodersByThreads all;
    for (const auto& task : plan.tasks) {
        auto& [count, most_packets] = all[task.num_threads];
        count = std::min<std::int64_t>(count + 1, plan.num_decoders);
        most_packets = std::max(most_packets, task.num_packets());
    }
    return all;
}

/// Pictures of libavcodec's decoders in memory of ours.
std::int64_t num_pictures(const StreamInfo& stream, const DecodersByThreads& decoders) {
    if (uses_own_memory(stream)) return 0;
    std::int64_t total = 0;
    for (const auto& [num_threads, of_them] : decoders) {
        const auto each = std::int64_t{kept_frames(stream)} + num_threads - 1;
        total += of_them.count * std::min(each, of_them.most_packets);
    }
    return total;
}

/// Without the pictures of host_bytes.
MemoryNeed need_of_decoders(const IndexedVideo& video, const DecodersByThreads& decoders) {
    const auto& stream = video.stream();
    MemoryNeed need;
    for (const auto& [num_threads, of_them] : decoders) {
        if (video.slots() != nullptr) {
            need.decoder_bytes += of_them.count * surface_bytes(stream);
        } else {
            need.codec_bytes += of_them.count * codec_bytes(stream, num_threads);
        }
    }
    return need;
}

/// With pictures and what else a read on the CPU takes of memory of ours.
MemoryNeed need_on_cpu(const IndexedVideo& video, const ReadPlan& plan, std::int64_t output_bytes) {
    const auto decoders = decoders_of(plan);
    auto need = need_of_decoders(video, decoders);
    need.host_bytes = num_pictures(video.stream(), decoders) * picture_bytes(video.stream()) + output_bytes;
    return need;
}

}  // namespace

MemoryNeed memory_of_batch(const IndexedVideo& video, const ReadPlan& plan, std::int64_t output_bytes) {
    if (video.slots() == nullptr) return need_on_cpu(video, plan, output_bytes);
    auto need = need_of_decoders(video, decoders_of(plan));
    std::int64_t num_frames = 0;
    for (const auto& task : plan.tasks) {
        for (const auto& range : task.ranges) num_frames += static_cast<std::int64_t>(range.wanted.size());
    }
    // Of several decoders, one queues a launch while frames of the others wait for the next one.
    const bool several = plan.num_decoders > 1 && plan.tasks.size() > 1;
    const auto num_waiting = std::min<std::int64_t>(num_frames, (several ? 2 : 1) * kLaunchFrames + kInFlight);
    need.device_bytes = device_bytes(output_bytes) + num_waiting * device_frame_bytes(video.stream());
    return need;
}

MemoryNeed memory_of_batches(const IndexedVideo& video, const StreamIndex& index, std::span<const std::int64_t> numbers,
                             std::int64_t batch_size, std::int64_t frame_bytes) {
    const auto num_frames = static_cast<std::int64_t>(numbers.size());
    if (num_frames == 0) return {};
    const auto batch_bytes = std::min(batch_size, num_frames) * frame_bytes;
    const auto num_batches = (num_frames + batch_size - 1) / batch_size;
    if (video.slots() != nullptr) {
        const auto plan = plan_frames_ahead(video, index, numbers);
        const DecodersByThreads alone{{video.num_threads(), {1, index.num_packets()}}};
        auto need = need_of_decoders(video, plan ? decoders_of(*plan) : alone);
        const auto frame = device_frame_bytes(video.stream());
        const auto ahead = plan ? std::min(num_frames * frame, limits().max_device_buffered_bytes) : 2 * frame;
        // A batch's frames are those that were ahead, until its launch.
        need.device_bytes = std::min(ahead + std::min(batch_size, num_frames) * frame, num_frames * frame);
        need.device_bytes += std::min<std::int64_t>(num_batches, 2) * device_bytes(batch_bytes);
        return need;
    }
    const auto plan = plan_batches(video, index, numbers, batch_bytes, frame_bytes);
    // Those ahead, with at least the next one; the one that next() returns, after which a decoder with a frame at hand
    // begins another one; and the one before, which a loop keeps until its variable has the next one.
    const auto num_ahead = std::max<std::int64_t>(1, plan.most_bytes / std::max<std::int64_t>(1, batch_bytes));
    return need_on_cpu(video, plan.read, std::min(num_batches, num_ahead + 2) * whole_pages(batch_bytes));
}

}  // namespace tricodec
