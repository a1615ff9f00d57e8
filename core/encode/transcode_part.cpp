// SPDX-License-Identifier: Apache-2.0
#include "encode/transcode_part.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "encode/deinterlacer.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/decode/decoder.h"

namespace tricodec {

TranscodePart::TranscodePart(std::unique_ptr<Demuxer> demuxer, PartPlan plan)
    : plan_(std::move(plan)), demuxer_(std::move(demuxer)), video_(demuxer_->stream()) {
    encoder_ = Encoder::create(plan_.pictures.encoder);
    decoding_ = Decoder::create(
        video_, {.device = plan_.pictures.encoder.device, .num_threads = plan_.pictures.encoder.num_threads});
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
    const PictureAdapter adapt(plan_.pictures);
    std::optional<Deinterlacer> fields;
    if (plan_.deinterlace) fields.emplace();
    std::optional<std::int64_t> last;
    const auto encode_all = [&](const std::vector<Frame>& frames) {
        for (const auto& frame : frames) emit(encoder_->encode(adapt(frame)));
    };
    while (auto frame = frames_.pop()) {
        if (frame->pts != kNoTimestamp) {
            frame->pts -= plan_.shift;
            // A damaged stream may repeat a time; no container holds that, and dropping is what players do.
            if (last && frame->pts <= *last) continue;
            last = frame->pts;
        }
        encode_all(fields ? fields->push(*frame) : std::vector{*std::move(frame)});
    }
    if (frames_.abandoned()) return;  // the packets that the encoder holds back may take seconds
    if (fields) encode_all(fields->flush());
    emit(encoder_->flush());
    out_.end();
}

void TranscodePart::emit(std::vector<Packet> packets) {
    for (auto& packet : packets) {
        if (!out_.push({std::move(packet), video_.index, true})) return;
    }
}

}  // namespace tricodec
