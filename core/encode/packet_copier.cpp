// SPDX-License-Identifier: Apache-2.0
#include "encode/packet_copier.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ffmpeg/stream_info.h"
#include "io/container_policy.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"

namespace tricodec {
namespace {

constexpr double kJumpSeconds = 10.0;        // ffmpeg's -dts_delta_threshold
constexpr double kStepBackSeconds = 0.1;     // ffmpeg's, too
constexpr double kStepSeconds = 0.001;       // that every container can tell apart
constexpr double kSameJumpSeconds = 1.0;     // by which streams of one recording end apart
constexpr double kEarlierSeconds = 2.0;      // that packets of one time may lie apart in a file
constexpr std::size_t kPacketsAhead = 1000;  // that are read to find what lies beside a packet

double unit_of(const Packet& packet) {
    return packet.time_base.to_double();
}

/// Only decoding times rise from packet to packet.
std::optional<double> decoded_at(const Packet& packet) {
    if (packet.dts == kNoTimestamp) return std::nullopt;
    return static_cast<double>(packet.dts) * unit_of(packet);
}

double shown_at(const Packet& packet) {
    return static_cast<double>(packet.pts) * unit_of(packet);
}

void move(Packet& packet, double seconds) {
    const std::int64_t units = std::llround(seconds / unit_of(packet));
    if (packet.pts != kNoTimestamp) packet.pts += units;
    if (packet.dts != kNoTimestamp) packet.dts += units;
}

}  // namespace

PacketClock::PacketClock(const MediaInfo& media) : clock_jumps_(has_jumping_clock(media.format_name)) {}

bool PacketClock::jumps(const Stream& stream, double seconds) const {
    if (!stream.last) return false;
    const double placed = seconds + offsets_[stream.segment];
    if (placed + kStepBackSeconds < *stream.last) return true;
    return clock_jumps_ && std::abs(placed - stream.next) > kJumpSeconds;
}

bool PacketClock::jumps(const Packet& packet) const {
    const auto found = streams_.find(packet.stream_index);
    const auto seconds = decoded_at(packet);
    return seconds && found != streams_.end() && jumps(found->second, *seconds);
}

void PacketClock::place(Packet& packet) {
    const auto seconds = decoded_at(packet);
    auto& stream = streams_[packet.stream_index];
    if (!seconds) return move(packet, offsets_[stream.segment]);
    if (jumps(stream, *seconds)) {
        ++stream.segment;
        // A stream of the same recording has found the jump already, or this one is the first.
        const auto fits = [&](double offset) { return std::abs(*seconds + offset - stream.next) < kSameJumpSeconds; };
        while (stream.segment < offsets_.size() && !fits(offsets_[stream.segment])) ++stream.segment;
        if (stream.segment == offsets_.size()) offsets_.push_back(stream.next - *seconds);
    }
    const double offset = offsets_[stream.segment];
    if (offset != 0.0) move(packet, offset);
    const double placed = *seconds + offset;
    const double usual = stream.last ? std::max(0.0, placed - *stream.last) : 0.0;
    stream.next = placed + (packet.duration > 0 ? static_cast<double>(packet.duration) * unit_of(packet) : usual);
    stream.last = placed;
}

PacketCopier::PacketCopier(const MediaSource& source, int video_stream, bool copies_video, bool repeats_headers)
    : source_(source), video_stream_(video_stream), copies_video_(copies_video), repeats_headers_(repeats_headers) {
    open();
}

void PacketCopier::set_range(const CopyRange& range) {
    range_ = range;
    if (range.begin_seconds && range.continuous && !copies_video_) go_to_range();
}

void PacketCopier::open() {
    // Muxers need all facts of the sound; the reader of the video reports an early end.
    demuxer_ = Demuxer::open(source_, {.stream_index = video_stream_,
                                       .all_streams = true,
                                       .annexb = repeats_headers_,
                                       .thorough = true,
                                       .silent_end = true});
    clock_.emplace(demuxer_->info());
    ahead_.clear();
    ended_ = false;
}

void PacketCopier::go_to_range() {
    std::set<int> unseen;
    for (const auto& stream : info().streams) {
        if (stream.kind == StreamKind::audio) unseen.insert(stream.index);
    }
    const double begin = *range_.begin_seconds - kEarlierSeconds;
    if (unseen.empty() || !demuxer_->seekable() || begin <= demuxer_->info().start_seconds) return;
    demuxer_->seek(static_cast<std::int64_t>(begin / demuxer_->stream().time_base.to_double()));
    while (!unseen.empty() && ahead_.size() < kPacketsAhead && read_ahead()) {
        const auto& packet = ahead_.back();
        if (packet.pts == kNoTimestamp || !unseen.contains(packet.stream_index)) continue;
        if (shown_at(packet) > *range_.begin_seconds) break;
        unseen.erase(packet.stream_index);
    }
    if (!unseen.empty()) open();
}

bool PacketCopier::is_audio(const Packet& packet) const {
    return info().streams[static_cast<std::size_t>(packet.stream_index)].kind == StreamKind::audio;
}

bool PacketCopier::read_ahead() {
    auto packet = demuxer_->read();
    if (!packet) return false;
    const bool video = packet->stream_index == video_stream_;
    if (!video && !is_audio(*packet)) return true;
    if (video) clock_->place(*packet);
    ahead_.push_back(*std::move(packet));
    return true;
}

void PacketCopier::copy_until(double seconds, const std::function<void(const Packet&)>& write) {
    while (!ended_) {
        if (!held_) held_ = next();
        if (!held_ || decoded_at(*held_).value_or(shown_at(*held_)) >= seconds) return;
        move(*held_, -range_.shift_seconds);
        keep_order(*held_);
        write(*held_);
        held_.reset();
    }
}

std::optional<Packet> PacketCopier::next() {
    for (;;) {
        check_interrupt();
        while (ahead_.empty() && read_ahead()) continue;
        if (ahead_.empty()) break;
        Packet packet = std::move(ahead_.front());
        ahead_.pop_front();
        if (packet.stream_index != video_stream_) {
            // The video says how far the clock jumped: it is what the sound must stay in step with.
            const auto known = clock_->num_jumps();
            if (clock_->jumps(packet)) {
                while (clock_->num_jumps() == known && ahead_.size() < kPacketsAhead && read_ahead()) continue;
            }
            clock_->place(packet);
        } else if (!copies_video_) {
            continue;
        }
        if (is_past_range(packet)) break;
        if (!in_range(packet)) continue;
        if (packet.stream_index != video_stream_) return packet;
        if (packet.key && repeats_headers_) add_headers(packet);
        copied_key_ = copied_key_ || packet.key;  // nothing before the first key frame can be decoded
        if (copied_key_) return packet;
    }
    ended_ = true;
    return std::nullopt;
}

void PacketCopier::add_headers(Packet& packet) const {
    const auto& video = demuxer_->stream();
    const auto headers = extradata_of(video.parameters.get());
    const bool has_headers = video.codec == CodecId::h264 || video.codec == CodecId::mpeg4;
    if (!has_headers || !std::ranges::search(packet.data, headers).empty()) return;
    std::vector<std::byte> bytes(headers.begin(), headers.end());
    bytes.insert(bytes.end(), packet.data.begin(), packet.data.end());
    const Packet joined = Packet::copy(bytes);
    packet.data = joined.data;
    packet.owner = joined.owner;
}

void PacketCopier::keep_order(Packet& packet) {
    if (packet.dts == kNoTimestamp) return;
    const auto [last, is_first] = last_dts_.try_emplace(packet.stream_index, packet.dts);
    if (is_first) return;
    if (packet.dts <= last->second) {
        packet.dts = last->second + std::max<std::int64_t>(1, std::llround(kStepSeconds / unit_of(packet)));
        packet.pts = std::max(packet.pts, packet.dts);
    }
    last->second = packet.dts;
}

bool PacketCopier::is_past_range(const Packet& packet) const {
    return range_.end_seconds && decoded_at(packet).value_or(0.0) > *range_.end_seconds + kJumpSeconds;
}

bool PacketCopier::in_range(const Packet& packet) const {
    const bool video = packet.stream_index == video_stream_;
    TRICODEC_EXPECT(packet.pts != kNoTimestamp || !video, unsupported,
                    "'" + info().name + "' (" + info().format_name +
                        ") does not state when each of its pictures is shown, which a copy needs; name a codec that "
                        "encodes (\"h264\")");
    if (packet.pts == kNoTimestamp) return false;
    // What the codec needs first is decoded before it is shown.
    const double begins = shown_at(packet);
    const double ends = video ? decoded_at(packet).value_or(begins) : begins;
    return (!range_.begin_seconds || begins >= *range_.begin_seconds - 1e-9) &&
           (!range_.end_seconds || ends < *range_.end_seconds - 1e-9);
}

}  // namespace tricodec
