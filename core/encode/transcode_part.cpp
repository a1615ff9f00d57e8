// SPDX-License-Identifier: Apache-2.0
#include "encode/transcode_part.h"

#include <algorithm>
#include <deque>
#include <utility>

extern "C" {
#include <libavutil/mathematics.h>
}

#include "encode/deinterlacer.h"
#include "ffmpeg/ffmpeg.h"

namespace tricodec {

std::unique_ptr<FrameReader> open_for_transcode(const MediaSource& source, int stream_index,
                                                const EncoderOptions& encoder,
                                                std::shared_ptr<const FrameIndex> known_index) {
    FrameReaderOptions options;
    options.device = encoder.device;
    options.stream_index = stream_index;
    options.num_workers = encoder.num_threads;
    options.known_index = std::move(known_index);
    return FrameReader::open(source, options);
}

TranscodePart::TranscodePart(const MediaSource& source, std::unique_ptr<FrameReader> reader, PartPlan plan)
    : plan_(std::move(plan)),
      reader_(reader ? std::move(reader)
                     : open_for_transcode(source, plan_.stream_index, plan_.pictures.encoder, plan_.known_index)),
      encoder_(Encoder::create(plan_.pictures.encoder)),
      adapt_(plan_.pictures) {
    threads_.emplace_back([this] { run(&TranscodePart::read); });
    threads_.emplace_back([this] { run(&TranscodePart::encode); });
}

TranscodePart::~TranscodePart() {
    ended_ = true;  // the encoder of slow pictures is left to itself
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
        frames_.abandon();
        out_.abandon();
    }
}

std::optional<Packet> TranscodePart::pop() {
    check_interrupt();
    auto packet = out_.pop();
    if (!packet) {
        std::lock_guard lock(mutex_);
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }
    return packet;
}

void TranscodePart::read() {
    FrameSelection selection;
    selection.start = plan_.first_frame;
    selection.count = plan_.num_frames;
    const auto frames = reader_->iterate(selection);
    while (!cancelled_) {
        auto frame = frames->next();
        if (!frame) break;
        if (!frames_.push(*std::move(frame))) return;
    }
    frames_.end();
}

void TranscodePart::encode() {
    OutputClock clock(reader_->info(), reader_->stream(), plan_.first_place);
    std::deque<Frame> waiting;  // for their places
    const auto encode_next = [&](OutputClock::Place place) {
        Frame frame = std::move(waiting.front());
        waiting.pop_front();
        encode_at(std::move(frame), place);
    };
    const auto take = [&](std::vector<Frame> frames) {
        for (auto& frame : frames) {
            const FrameReader::FrameTime time{frame.pts, frame.duration};
            waiting.push_back(std::move(frame));
            if (const auto place = clock.push(time)) encode_next(*place);
        }
    };
    std::optional<Deinterlacer> fields;
    if (plan_.deinterlace) fields.emplace();
    while (auto frame = frames_.pop()) take(fields ? fields->push(*frame) : std::vector{*std::move(frame)});
    if (frames_.abandoned()) return;  // the packets that the encoder holds back may take seconds
    if (fields) take(fields->flush());
    while (const auto place = clock.finish(plan_.end_place)) encode_next(*place);
    emit(encoder_->flush());
    out_.end();
}

void TranscodePart::encode_at(Frame frame, OutputClock::Place place) {
    const auto& stream = reader_->stream();
    const auto& unit = encoder_->stream().time_base;
    const auto to_units = [&](std::int64_t at) {
        return av_rescale_q(at - plan_.shift, ff::to_av(stream.time_base), ff::to_av(unit));
    };
    // The units of an encoder may be coarser than the source's.
    const auto pts = last_pts_ == kNoTimestamp ? to_units(place.begin) : std::max(to_units(place.begin), last_pts_ + 1);
    last_pts_ = pts;
    durations_[pts] = std::max<std::int64_t>(1, to_units(place.end()) - pts);
    frame.pts = pts;
    frame.time_base = unit;
    emit(encoder_->encode(adapt_(frame)));
}

void TranscodePart::emit(std::vector<Packet> packets) {
    for (auto& packet : packets) {
        // Encoders do not say for how long a picture is shown, and the last one has no picture after it.
        if (const auto found = durations_.find(packet.pts); found != durations_.end()) {
            packet.duration = found->second;
            durations_.erase(found);
        }
        if (!out_.push(std::move(packet))) return;
    }
}

}  // namespace tricodec
