// SPDX-License-Identifier: Apache-2.0
#include "read/indexed_video.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bitstream/packet_inspector.h"
#include "bitstream/stream_headers.h"
#include "ffmpeg/decoder_context.h"
#include "index/frame_times.h"
#include "io/container_policy.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec {
namespace {

// Making a decoder takes as long as decoding 30 to 60 pictures of 1080p, or a quarter as many of 2160p.
constexpr std::int64_t kPacketsPerDecoder = 128;
constexpr std::int64_t kPixels = 1920 * 1080;
constexpr std::int64_t kFewestPackets = 16;
constexpr int kMostCodecThreads = 16;
constexpr std::int64_t kLargePicture = 1280 * 720;
// All packets of a smaller source are read in a few milliseconds, and then damage is known.
constexpr std::int64_t kListedFromBytes = 16 << 20;

/// Note [Threads of a codec]: libavcodec's threads decode a picture each, wait for the rows of the one before, and give
/// pictures out in order. Large pictures gain from three threads more than there are cores; small ones do not. dav1d's
/// threads take any work that is ready, so AV1 has one a core, or one in all if dav1d decodes one picture at a time.
int codec_threads(const StreamInfo& stream, int num_cores) {
    if (num_cores == 1 || is_decoded_by_one_thread(stream)) return 1;
    if (stream.codec == CodecId::av1) {
        const AVCodec* codec = find_decoder(AV_CODEC_ID_AV1);
        if (codec != nullptr && decodes_one_picture_at_once(*codec)) return 1;
    }
    const bool large = std::int64_t{stream.width} * stream.height >= kLargePicture;
    const int extra = large && stream.codec != CodecId::av1 ? 3 : 0;
    return std::min(std::min(num_cores, kMostCodecThreads) + extra, kMostCodecThreads);
}

/// True if no picture after this one is shown before it.
bool is_shown_first(PacketFeed& feed, PacketInspector& inspector, const Packet& packet) {
    const auto facts = inspector.inspect(packet);
    if (!facts.entry || facts.open_entry || !facts.shows_frame || facts.uncertain) return false;
    if (feed.stream().codec == CodecId::hevc) {  // leading pictures, if any, follow at once
        const auto next = feed.read(1, nullptr);
        return !next || !inspector.inspect(*next).leading;
    }
    // An IDR picture of H.264 starts the numbering again.
    constexpr CodecId kCodecs[] = {CodecId::h264, CodecId::vp8, CodecId::vp9, CodecId::av1, CodecId::mjpeg};
    return std::ranges::find(kCodecs, feed.stream().codec) != std::end(kCodecs);
}

/// True if a range has pictures that are not wanted, and that RangeDecoder may leave out. Of open groups those before
/// the first key frame are compared with the table as they are read, and the next key frame is decoded anyway.
bool leaves_out(const StreamIndex& index, const GopRange& range) {
    const auto first = index.packet(range.entry).frame;
    for (auto k = range.entry; k <= range.last; ++k) {
        const auto& packet = index.packet(k);
        if ((packet.entry && k > range.entry) || (packet.frame >= 0 && packet.frame < first)) continue;
        if (!std::ranges::binary_search(range.wanted, packet.frame)) return true;
    }
    return false;
}

}  // namespace

IndexedVideo::IndexedVideo(const MediaSource& source, const FrameReaderOptions& options)
    : num_workers_(options.num_workers == 0 ? available_cores() : options.num_workers),
      workers_given_(options.num_workers != 0),
      index_path_(options.index),
      index_origin_(options.index_origin),
      context_(options.context),
      feed_(source, {.stream_index = options.stream_index, .ignore_edit_list = options.ignore_edit_list}),
      num_threads_(codec_threads(feed_.stream(), num_workers_)),
      pool_(feed_.info().name, feed_.stream(), options),
      frame_index_(options.known_index) {
    TRICODEC_EXPECT(options.num_workers >= 0, invalid_argument,
                    "num_workers is " + std::to_string(options.num_workers) +
                        "; use 0 for the reader's own choice, or a positive number");
    TRICODEC_EXPECT(stream().kind == StreamKind::video, invalid_argument,
                    "stream " + std::to_string(stream().index) + " is " + std::string(to_string(stream().kind)) +
                        "; only video streams have frames");
    if (!index_path_.empty()) expect_index_or_nothing(index_path_);
    pool_.prepare();
    if (pool_.num_engines() > 0) {
        num_threads_ = 1;
        if (!workers_given_) num_workers_ = pool_.num_engines();
    }
}

int IndexedVideo::num_threads(int num_cores) const {
    return std::min(num_threads_, codec_threads(stream(), num_cores));
}

DecoderSlots* IndexedVideo::slots() const {
    const int engines = pool_.num_engines();
    return engines == 0 ? nullptr : &DecoderSlots::of(pool_.device(), engines);
}

int IndexedVideo::num_gpu_decoders(std::int64_t num_packets) const {
    if (workers_given_) return num_workers_;
    const auto& slots = *this->slots();
    const auto pixels = std::max(kPixels, std::int64_t{stream().width} * stream().height);
    const auto packets_each = std::max(kFewestPackets, kPacketsPerDecoder * kPixels / pixels);
    // Decoders that exist cost nothing.
    const auto worth_making = std::max<std::int64_t>(slots.most_at_once(), num_packets / packets_each);
    return static_cast<int>(
        std::clamp<std::int64_t>(worth_making, std::min(num_workers_, slots.num_slots()), slots.num_slots()));
}

std::shared_ptr<const StreamIndex> IndexedVideo::index() {
    if (index_) return index_;
    if (frame_index_ && frame_index_->source() == feed_.fingerprint()) {
        feed_.set_ends_early(frame_index_->index()->ends_early());
        return index_ = frame_index_->index();
    }
    frame_index_ = nullptr;
    if (!index_path_.empty()) {
        if (auto saved = load_index_file(index_path_, feed_.fingerprint())) {
            feed_.set_ends_early(saved->ends_early());
            return index_ = std::make_shared<const StreamIndex>(std::move(*saved));
        }
    }
    const bool believes_table =
        index_origin_ == IndexOrigin::container || (index_origin_ == IndexOrigin::automatic && index_path_.empty() &&
                                                    (info().size_bytes >= kListedFromBytes || feed_.fetches_ahead()));
    if (believes_table) {
        const bool predicts = index_origin_ == IndexOrigin::container;
        if (auto listed = feed_.listed_index(predicts))
            return index_ = std::make_shared<const StreamIndex>(std::move(*listed));
    }
    build_index();
    return index_;
}

void IndexedVideo::build_index() {
    frame_index_ = nullptr;
    index_ = std::make_shared<const StreamIndex>(feed_.build_index());
    if (index_->numbered()) return keep_index();
    try {
        scan(false);
    } catch (...) {
        index_ = nullptr;  // the next call must not take packets for frames
        throw;
    }
}

std::shared_ptr<const StreamIndex> IndexedVideo::index_for(std::span<const std::int64_t> numbers) {
    const auto known = index();
    const bool announces = feed_.fetches_ahead();
    if (numbers.empty() || (!known->listed() && !announces)) return known;
    if (place(numbers)) return index_;
    const auto ranges = plan_ranges(*known, numbers);
    // Else what is on its way is decoded as it comes. Of AV1 much is left out by what all headers of a GOP say.
    const bool inspects = known->listed() && (!announces || stream().codec == CodecId::av1);
    std::vector<std::pair<std::int64_t, std::int64_t>> read;       // first and last packets
    std::vector<std::pair<std::int64_t, std::int64_t>> inspected;  // GOPs, whole
    for (const auto& range : ranges) {
        read.emplace_back(range.entry, range.last);
        if (!inspects || !leaves_out(*known, range)) continue;  // RangeDecoder compares packets with the table
        for (auto first = range.entry; first <= range.last;) {
            const auto next = known->next_entry(first);
            const bool twice = !inspected.empty() && inspected.back().first >= first;
            if (!known->packet(first).inspected && !twice) inspected.emplace_back(first, next - 1);
            read.back().second = std::max(read.back().second, next - 1);
            first = next;
        }
    }
    if (announces) feed_.announce(*known, read);
    if (inspected.empty()) return known;
    feed_.drop_kept();
    auto completed = std::make_shared<StreamIndex>(*known);
    for (const auto& [first, last] : inspected) {
        if (feed_.inspect(first, last, *completed)) continue;
        renumber(*known);
        return index_;
    }
    return index_ = std::move(completed);
}

bool IndexedVideo::place(std::span<const std::int64_t> numbers) {
    const auto known = index_;
    std::vector<std::int64_t> entries;
    for (const auto& range : plan_ranges(*known, numbers)) {
        for (auto k = range.entry; k <= range.last; k = known->next_entry(k)) {
            if (known->packet(k).predicted && (entries.empty() || entries.back() < k)) entries.push_back(k);
        }
    }
    if (entries.empty()) return false;
    auto placed = feed_.placed_index(*known, entries);
    if (placed) {
        index_ = std::make_shared<const StreamIndex>(std::move(*placed));
    } else {
        renumber(*known);
    }
    return true;
}

void IndexedVideo::renumber(const StreamIndex& stale) {
    if (!index_->numbers_as(stale)) return;
    if (stale.listed()) {
        log(LogLevel::info, "the packets of '" + info().name + "' are not those of its table; all of them are read");
        return build_index();
    }
    TRICODEC_EXPECT(!stale.counted(), corrupt_data,
                    "the frames of '" + info().name +
                        "' are not the same each time they are decoded: the file is damaged, or changes while it is "
                        "read");
    scan(stale.scanned());
}

void IndexedVideo::scan(bool counted) {
    log(LogLevel::info, "numbering the frames of '" + info().name + "' by decoding it once");
    auto numbered = std::make_shared<StreamIndex>(*index_);
    numbered->set_scanned(pool_.scan(feed_, *index_, counted ? 1 : num_threads_), counted);
    index_ = std::move(numbered);
    frame_index_ = nullptr;
    keep_index();
}

void IndexedVideo::keep_index() {
    if (index_path_.empty()) return;
    try {
        save_index(index_path_);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::io && error.code() != ErrorCode::not_found) throw;
        log(LogLevel::warning, std::string("the index is not kept: ") + error.what());
    }
}

void IndexedVideo::expect_frames() {
    if (index()->num_frames() > 0) return;
    if (is_hidden()) fail(ErrorCode::unsupported, all_hidden_text(info().name, stream().num_frames));
    const auto known = issues();
    fail(ErrorCode::corrupt_data,
         "no frame of '" + info().name + "' can be decoded" + (known.empty() ? "" : ": " + known.front().message));
}

void IndexedVideo::save_index(const std::filesystem::path& path) {
    if (index()->listed()) build_index();
    save_index_file(path, *index(), feed_.fingerprint(), feed_.permissions());
}

std::shared_ptr<const FrameIndex> IndexedVideo::frame_index() {
    if (std::ranges::any_of(index()->packets(), &IndexedPacket::predicted)) build_index();
    const auto known = index();
    if (!frame_index_ || !frame_index_->index()->numbers_as(*known))
        frame_index_ = std::make_shared<const FrameIndex>(known, feed_.fingerprint());
    return frame_index_;
}

void IndexedVideo::learn_in_child(IndexedVideo& parents) {
    pool_.take_issues_in_child(parents.pool_);
    if (!parents.index_ || info().size_bytes != parents.info().size_bytes) return;
    index_ = parents.index_;
    frame_index_ = parents.frame_index_;
    feed_.set_ends_early(index_->ends_early());
}

std::optional<Frame> IndexedVideo::decode_first_frame() {
    const bool known = index_ != nullptr;
    if (known && (index_->scanned() || index_->num_packets() == 0 || index_->packet(0).frame != 0)) return std::nullopt;
    const auto packet = feed_.read(0, known ? index_.get() : nullptr);
    if (!packet) return std::nullopt;
    PacketInspector inspector(stream());
    if (!is_shown_first(feed_, inspector, *packet)) return std::nullopt;
    auto cursor = pool_.acquire_at_start(1, true);
    auto& decoder = *cursor.decoder;
    decoder.send(*packet, 0);
    decoder.send_end();
    auto frame = decoder.receive();
    const bool whole = frame && !frame->corrupt && decoder.num_issues() == 0 && !decoder.receive();
    if (!whole) return std::nullopt;
    pool_.release(std::move(cursor));
    frame->index = 0;
    if (frame->pts == kNoTimestamp) frame->pts = 0;
    if (known) {
        frame->pts = pts_of_frame(stream(), *index_, 0);
        if (frame->duration == 0) frame->duration = index_->frame(0).duration;
    }
    return frame;
}

std::vector<DecodeIssue> IndexedVideo::issues() const {
    auto issues = pool_.issues();
    if (const auto why = feed_.ends_early(); !why.empty()) {
        issues.push_back(
            {index_ ? index_->num_packets() : -1, kNoTimestamp, info().size_bytes, "it ends early: " + why, -1, true});
    }
    if (issues.empty() && is_without_frames()) {
        issues.push_back({0, kNoTimestamp, -1,
                          "none of its " + std::to_string(index_->num_packets()) +
                              " packets gives a frame: decoding starts at a key frame, and none was found"});
    }
    return issues;
}

bool IndexedVideo::is_hidden() const {
    return index_ && index_->num_frames() == 0 && stream().num_frames > 0 && feed_.ends_early().empty() &&
           info().format_name.starts_with("mov,") &&
           std::ranges::none_of(index_->packets(), &IndexedPacket::shows_frame);
}

bool IndexedVideo::is_without_frames() const {
    return index_ && index_->num_frames() == 0 && !is_hidden();
}

std::int64_t IndexedVideo::num_damaged_packets() const {
    const auto damaged = pool_.num_damaged_packets() + (feed_.ends_early().empty() ? 0 : 1);
    return damaged == 0 && is_without_frames() ? 1 : damaged;
}

}  // namespace tricodec
