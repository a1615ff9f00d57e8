// SPDX-License-Identifier: Apache-2.0
#include "streams/stream_seek.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "read/indexed_video.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec::streams {
namespace {

constexpr double kMicrosecond = 1e-6;  // callers round times to it

}  // namespace

StreamSeek::StreamSeek(const MediaSource& source, int stream_index) : StreamSeek(indexed(source, stream_index)) {}

StreamSeek::StreamSeek(Indexed indexed)
    : stream_(std::move(indexed.stream)), index_(std::move(indexed.index)), times_(stream_, index_) {
    const auto has_time = [](const IndexedPacket& packet) { return packet.pts != kNoTimestamp; };
    timed_ = std::ranges::all_of(index_->packets(), has_time) && times_.video_times().by_time.empty();
}

StreamSeek::Indexed StreamSeek::indexed(const MediaSource& source, int stream_index) {
    IndexedVideo video(source, {.device = "cpu", .stream_index = stream_index, .num_workers = 1});
    const auto index = video.index();
    return {video.stream(), index};
}

StreamSeek::Target StreamSeek::target(double seconds, bool key) const {
    const auto video = times_.video_times();
    const auto clock = video.clock();
    Target target;
    if (clock.empty()) return target;
    target.start.whole = true;
    const auto first = std::ranges::lower_bound(clock, seconds - kMicrosecond) - clock.begin();
    auto number = static_cast<std::int64_t>(first);
    const auto last = index_->num_frames() - 1;
    if (key) {
        const auto after = std::ranges::upper_bound(clock, seconds + kMicrosecond) - clock.begin();
        target.packet = index_->entry_for(std::max<std::int64_t>(0, after - 1));
        number = std::max<std::int64_t>(0, index_->packet(target.packet).frame);
    } else {
        target.packet = index_->entry_for(std::min(number, last));
    }
    if (timed_) {
        target.start.from_seconds = number <= last ? clock[static_cast<std::size_t>(number)] : seconds;
        return target;
    }
    // Frames are counted from a key frame that none precedes.
    while (target.packet > 0 && (index_->is_open(target.packet) || index_->packet(target.packet).frame < 0)) {
        target.packet = entry_before(target.packet - 1, seconds);
    }
    const auto begin = target.packet == 0 ? 0 : index_->packet(target.packet).frame;
    target.start.num_left_out = number - begin;
    for (; number <= last; ++number) {
        const auto pts = index_->frame(number).pts;
        const double ticks = clock[static_cast<std::size_t>(number)] / stream_.time_base.to_double();
        target.start.pts.push_back(pts == kNoTimestamp ? std::llround(ticks) : pts);
    }
    return target;
}

std::int64_t StreamSeek::entry_before(std::int64_t packet, double seconds) const {
    const double tick = stream_.time_base.to_double();
    for (; packet > 0; --packet) {
        const auto& each = index_->packet(packet);
        const auto time = each.dts == kNoTimestamp ? each.pts : each.dts;
        if (each.entry && (time == kNoTimestamp || static_cast<double>(time) * tick <= seconds)) return packet;
    }
    return 0;
}

}  // namespace tricodec::streams
