// SPDX-License-Identifier: Apache-2.0
#include "encode/transcode_part.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tricodec/base/interrupt.h"
#include "tricodec/decode/decoder.h"
#include "tricodec/image/rgb_to_yuv.h"

namespace tricodec {
namespace {

Transform to_samples(const std::optional<Crop>& crop, Size size, OutputColor color, DType dtype = DType::uint8) {
    TransformOptions options;
    options.crop = crop;
    options.size = size;
    options.color = color;
    options.layout = Layout::chw;
    options.dtype = dtype;
    if (dtype != DType::uint8) options.scale = 1.0F;  // floats in units of 8-bit samples
    options.rotate = false;                           // the container says how the pictures are turned
    return Transform{options};
}

bool same_sampling(const PixelFormatInfo& a, const PixelFormatInfo& b) noexcept {
    return a.family == b.family && a.log2_chroma_w == b.log2_chroma_w && a.log2_chroma_h == b.log2_chroma_h &&
           a.num_components == b.num_components;
}

}  // namespace

PictureAdapter::PictureAdapter(std::optional<Crop> crop, Size size, PixelFormat format)
    : crop_(crop),
      size_(size),
      format_(format),
      transform_(to_samples(crop, size, OutputColor::yuv)),
      deep_(to_samples(crop, size, OutputColor::yuv, DType::float32)) {}

Frame PictureAdapter::operator()(const Frame& frame) const {
    const auto& from = info(frame.format);
    const auto& to = info(format_);
    const bool fits = !crop_ && frame.width - size_.width >= 0 && frame.width - size_.width < (1 << to.log2_chroma_w) &&
                      frame.height - size_.height >= 0 && frame.height - size_.height < (1 << to.log2_chroma_h);
    // The encoder rearranges samples and converts RGB itself.
    if (fits && (same_sampling(from, to) || from.family == ColorFamily::rgb)) {
        Frame cut = frame;
        cut.width = size_.width;
        cut.height = size_.height;
        return cut;
    }
    const bool deep = from.family == ColorFamily::yuv && from.depth > 8 && to.depth > 8;
    if (deep) return resampled_deep(frame.device.kind == Device::Kind::cpu ? frame : to_host(frame));
    return resampled(frame.device.kind == Device::Kind::cpu ? frame : to_host(frame));
}

Frame PictureAdapter::resampled(const Frame& frame) const {
    const bool rgb = info(frame.format).family == ColorFamily::rgb;
    const PixelFormat planes = rgb ? PixelFormat::gbrp : PixelFormat::yuv444p;
    Frame full = alloc_frame(planes, size_.width, size_.height);
    TensorView out;
    out.data = full.planes[0].data;
    out.dtype = DType::uint8;
    out.shape = {3, size_.height, size_.width};
    out.strides_bytes = contiguous_strides(out.shape, out.dtype);
    if (rgb) {
        to_samples(crop_, size_, OutputColor::rgb)(frame, out);
        // CHW is R, G, B; gbrp's planes are G, B, R.
        full.planes = {full.planes[1], full.planes[2], full.planes[0]};
    } else {
        transform_(frame, out);
    }
    copy_properties(frame, full);
    if (rgb || format_ == PixelFormat::yuv444p) return full;
    Frame result = subsample_chroma(full, format_);
    copy_properties(frame, result);
    return result;
}

Frame PictureAdapter::resampled_deep(const Frame& frame) const {
    // What is stored in 16 bits has ten that encoders look at.
    const int depth = info(format_).depth == 12 ? 12 : 10;
    const Tensor values = deep_(frame);
    Frame full =
        alloc_frame(depth == 12 ? PixelFormat::yuv444p12le : PixelFormat::yuv444p10le, size_.width, size_.height);
    copy_properties(frame, full);
    const auto unit = static_cast<float>(1 << (depth - 8));
    const auto largest = static_cast<float>((1 << depth) - 1);
    const auto* from = static_cast<const float*>(values.view.data);
    for (const auto& plane : full.planes) {
        for (int y = 0; y < size_.height; ++y, from += size_.width) {
            auto* to = reinterpret_cast<std::uint16_t*>(plane.data + y * plane.stride_bytes);
            for (int x = 0; x < size_.width; ++x) {
                to[x] = static_cast<std::uint16_t>(std::clamp(from[x] * unit + 0.5F, 0.0F, largest));
            }
        }
    }
    return subsample_chroma(full, format_);
}

TranscodePart::TranscodePart(std::unique_ptr<Demuxer> demuxer, PartPlan plan)
    : plan_(std::move(plan)), demuxer_(std::move(demuxer)), video_(demuxer_->stream()) {
    encoder_ = Encoder::create(plan_.encoder);
    decoding_ = Decoder::create(video_, {.device = plan_.encoder.device, .num_threads = plan_.encoder.num_threads});
    decoder_name_ = decoding_->engine();
    if (plan_.first_pts) demuxer_->seek(*plan_.first_pts);
    threads_.emplace_back([this] { run(&TranscodePart::demux); });
    threads_.emplace_back([this] { run(&TranscodePart::decode); });
    threads_.emplace_back([this] { run(&TranscodePart::encode); });
}

TranscodePart::~TranscodePart() {
    ended_ = true;  // the encoder of slow pictures is left to itself
    packets_.abandon();
    frames_.abandon();
    out_.abandon();
    threads_.clear();  // joins
}

void TranscodePart::run(void (TranscodePart::*stage)()) {
    const EndedBy ended(ended_);
    try {
        (this->*stage)();
    } catch (...) {
        {
            std::lock_guard lock(mutex_);
            if (!error_) error_ = std::current_exception();
        }
        packets_.abandon();
        frames_.abandon();
        out_.abandon();
    }
}

std::optional<PartPacket> TranscodePart::pop() {
    check_interrupt();
    auto packet = out_.pop();
    if (!packet) {
        std::lock_guard lock(mutex_);
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }
    return packet;
}

bool TranscodePart::wanted(std::int64_t pts) const noexcept {
    if (pts == kNoTimestamp) return true;
    return (!plan_.first_pts || pts >= *plan_.first_pts) && (!plan_.end_pts || pts < *plan_.end_pts);
}

void TranscodePart::note_damage() {
    for (auto& issue : new_issues(*decoding_, num_issues_)) {
        // Before the part's first frame, pictures may refer to what the part before it has.
        if (wanted(issue.pts)) note(std::move(issue));
    }
}

void TranscodePart::note(DecodeIssue issue) {
    if (damaged_.num_packets() == 0) first_damage_ = issue.message;
    damaged_.add(std::move(issue));
}

void TranscodePart::demux() {
    const auto seconds = [&](std::int64_t pts) { return static_cast<double>(pts) * video_.time_base.to_double(); };
    bool video_done = false;
    while (!cancelled_) {
        auto packet = demuxer_->read();
        if (!packet) {
            ends_early_ = demuxer_->ends_early();
            break;
        }
        if (packet->stream_index == video_.index) {
            // Pictures are shown after they are decoded: none that is wanted is decoded from here on.
            video_done = plan_.end_pts && packet->dts != kNoTimestamp && packet->dts >= *plan_.end_pts;
            if (video_done) break;
            if (!packets_.push(*std::move(packet))) return;
            continue;
        }
        const auto& streams = demuxer_->info().streams;
        const auto& stream = streams[static_cast<std::size_t>(packet->stream_index)];
        if (!plan_.with_audio || stream.kind != StreamKind::audio || packet->pts == kNoTimestamp) continue;
        const double at = static_cast<double>(packet->pts) * packet->time_base.to_double();
        if (plan_.first_pts && at < seconds(*plan_.first_pts)) continue;
        if (plan_.end_pts && at >= seconds(*plan_.end_pts)) continue;
        const auto shift = static_cast<std::int64_t>(seconds(plan_.shift) / packet->time_base.to_double() +
                                                     (plan_.shift > 0 ? .5 : 0));
        packet->pts -= shift;
        if (packet->dts != kNoTimestamp) packet->dts -= shift;
        const int number = packet->stream_index;
        if (!out_.push({*std::move(packet), number, false})) return;
    }
    packets_.end();
}

void TranscodePart::decode() {
    const auto hand_on = [&](std::vector<Frame> frames) {
        for (auto& frame : frames) {
            if (wanted(frame.pts) && !frames_.push(std::move(frame))) return false;
        }
        return true;
    };
    std::int64_t number = 0;
    while (auto packet = packets_.pop()) {
        auto frames = decoding_->decode(*packet, number++);
        note_damage();
        if (!hand_on(std::move(frames))) return;
    }
    if (packets_.abandoned()) return;
    auto rest = decoding_->flush();
    note_damage();
    if (!ends_early_.empty()) note({.message = "it ends early: " + ends_early_});
    if (hand_on(std::move(rest))) frames_.end();
}

void TranscodePart::encode() {
    const PictureAdapter adapt(plan_.crop, {plan_.encoder.height, plan_.encoder.width}, plan_.encoder.format);
    std::optional<std::int64_t> last;
    while (auto frame = frames_.pop()) {
        if (frame->pts != kNoTimestamp) {
            frame->pts -= plan_.shift;
            // A damaged stream may repeat a time; no container holds that, and dropping is what players do.
            if (last && frame->pts <= *last) continue;
            last = frame->pts;
        }
        emit(encoder_->encode(adapt(*frame)));
    }
    if (frames_.abandoned()) return;  // the packets that the encoder holds back may take seconds
    emit(encoder_->flush());
    out_.end();
}

void TranscodePart::emit(std::vector<Packet> packets) {
    for (auto& packet : packets) {
        if (!out_.push({std::move(packet), video_.index, true})) return;
    }
}

}  // namespace tricodec
