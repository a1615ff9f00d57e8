// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tricodec/error.h"
#include "tricodec/limits.h"
#include "tricodec/log.h"
#include "video/batch_iterator.h"
#include "video/first_frame.h"
#include "video/frame_iterator.h"
#include "video/frame_numbers.h"
#include "video/frame_reader_impl.h"
#include "video/index_file.h"

namespace tricodec {
namespace {

// Making a decoder takes as long as decoding 30 to 60 pictures of 1080p, or a quarter as many of 2160p.
constexpr std::int64_t kPacketsPerDecoder = 128;
constexpr std::int64_t kPixels = 1920 * 1080;
constexpr std::int64_t kFewestPackets = 16;
constexpr int kMostCodecThreads = 16;
constexpr std::int64_t kLargePicture = 1280 * 720;
constexpr double kAssumedFrameRate = 25.0;  // FFmpeg's own assumption for streams that state none

/// Of one decoder that has `num_workers` cores to itself. Note [Threads of a codec]
int codec_threads(const StreamInfo& stream, int num_workers) {
    if (num_workers == 1) return 1;
    // libavcodec's threads have a picture each, wait for the rows of the one before, and give pictures out in order:
    // three more of them than cores, each of which takes 6 MB at 1080p. Small pictures gain nothing from those. dav1d's
    // take whatever work is ready: a third on two cores made it slower, 233 frames/s to 200 (EPYC, 22 November 2026;
    // docs/architecture.md has more figures).
    const bool large = std::int64_t{stream.width} * stream.height >= kLargePicture;
    const int extra = large && stream.codec != Codec::av1 ? 3 : 0;
    return std::min(num_workers + extra, kMostCodecThreads);
}

/// Frames that are handed out together are one output, as a batch is. Throws Error(refused).
void expect_within_limit(std::int64_t num_frames, std::int64_t size_bytes) {
    const auto most = limits().max_output_bytes;
    TRICODEC_EXPECT(size_bytes <= most, refused,
                    std::to_string(num_frames) + " frames take " + std::to_string(size_bytes) +
                        " bytes, past limits.max_output_bytes = " + std::to_string(most) +
                        "; iterate over the reader, take batches(), ask for fewer frames at a time, or raise the limit "
                        "with set_limits()");
}

std::string range_text(std::int64_t num_frames) {
    return num_frames == 0
               ? "the video has no frames"
               : "the video has " + std::to_string(num_frames) + " frames (0.." + std::to_string(num_frames - 1) + ")";
}

}  // namespace

FrameReaderImpl::FrameReaderImpl(const MediaSource& source, const FrameReaderOptions& options)
    : num_workers_(options.num_workers == 0 ? available_cores() : options.num_workers),
      index_path_(options.index),
      feed_(source, {.stream_index = options.stream_index, .ignore_edit_list = options.ignore_edit_list}),
      num_threads_(codec_threads(feed_.stream(), num_workers_)),
      pool_(feed_.info().name, feed_.stream(), options.device, options.context),
      context_(options.context),
      frame_index_(options.known_index),
      sequential_(feed_, pool_, num_threads_) {
    TRICODEC_EXPECT(
        options.num_workers >= 0, invalid_argument,
        "num_workers is " + std::to_string(options.num_workers) + "; use 0 to decide, or a positive number");
    TRICODEC_EXPECT(stream().kind == StreamKind::video, invalid_argument,
                    "stream " + std::to_string(stream().index) + " is " + std::string(to_string(stream().kind)) +
                        "; only video streams have frames");
    pool_.prepare();
    if (pool_.num_engines() > 0) {
        num_threads_ = 1;
        shares_engines_ = options.num_workers == 0;
        if (shares_engines_) num_workers_ = pool_.num_engines();
    }
}

int FrameReaderImpl::num_threads(int num_cores) const {
    return std::min(num_threads_, codec_threads(stream(), num_cores));
}

std::shared_ptr<const StreamIndex> FrameReaderImpl::index(const PacketFeed::Seen& seen) {
    if (index_) return index_;
    sequential_.stop();
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
    index_ = std::make_shared<const StreamIndex>(feed_.build_index(seen));
    if (index_->numbered()) {
        keep_index();
        return index_;
    }
    try {
        rescan();
    } catch (...) {
        index_ = nullptr;  // the next call must not take packets for frames
        throw;
    }
    return index_;
}

void FrameReaderImpl::keep_index() {
    if (index_path_.empty()) return;
    try {
        save_index(index_path_);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::io) throw;
        log(LogLevel::warning, std::string("the index is not kept: ") + error.what());
    }
}

void FrameReaderImpl::save_index(const std::filesystem::path& path) {
    save_index_file(path, *index(), feed_.fingerprint());
}

std::shared_ptr<const FrameIndex> FrameReaderImpl::frame_index() {
    const auto known = index();
    if (!frame_index_) frame_index_ = std::make_shared<const FrameIndex>(known, feed_.fingerprint());
    return frame_index_;
}

void FrameReaderImpl::rescan() {
    log(LogLevel::info, "numbering the frames of '" + info().name + "' by decoding it once");
    sequential_.stop();
    auto numbered = std::make_shared<StreamIndex>(*index_);
    auto scan = pool_.scan(feed_, *index_, num_threads_);
    numbered->set_scanned(std::move(scan.frames), scan.damaged);
    index_ = std::move(numbered);
    frame_index_ = nullptr;
    pts_seconds_.clear();
    keep_index();
}

std::int64_t FrameReaderImpl::num_frames() {
    return index()->num_frames();
}

const std::vector<double>& FrameReaderImpl::pts_seconds() {
    const auto numbered = index();
    const auto& frames = numbered->frames();
    if (pts_seconds_.size() == frames.size()) return pts_seconds_;
    const auto& facts = stream();
    const double rate = facts.average_frame_rate.num > 0 ? facts.average_frame_rate.to_double()
                        : facts.real_frame_rate.num > 0  ? facts.real_frame_rate.to_double()
                                                         : kAssumedFrameRate;
    std::vector<double> seconds(frames.size());
    double last = -1.0 / rate;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        // Streams without time stamps, and frames between those with one, go on at the frame rate.
        last = frames[i].pts == kNoTimestamp
                   ? last + 1.0 / rate
                   : static_cast<double>(frames[i].pts) * static_cast<double>(facts.time_base.num) /
                         static_cast<double>(facts.time_base.den);
        seconds[i] = last;
    }
    pts_seconds_ = std::move(seconds);
    return pts_seconds_;
}

std::vector<std::int64_t> FrameReaderImpl::key_frames() {
    return index()->entry_frames();
}

std::int64_t FrameReaderImpl::index_at(double seconds) {
    const auto& times = pts_seconds();
    TRICODEC_EXPECT(!times.empty(), out_of_range, range_text(0));
    const auto count = static_cast<std::int64_t>(times.size());
    const auto last_duration = index()->frame(count - 1).duration;
    const double shown = last_duration > 0 ? static_cast<double>(last_duration) * stream().time_base.to_double()
                         : count > 1       ? (times.back() - times.front()) / static_cast<double>(count - 1)
                                           : 1.0 / kAssumedFrameRate;
    TRICODEC_EXPECT(std::isfinite(seconds) && seconds >= times.front() && seconds < times.back() + shown, out_of_range,
                    "time " + std::to_string(seconds) + " s is outside the video, which shows frames from " +
                        std::to_string(times.front()) + " s to " + std::to_string(times.back() + shown) + " s");
    return std::upper_bound(times.begin(), times.end(), seconds) - times.begin() - 1;
}

std::int64_t FrameReaderImpl::checked(std::int64_t i) {
    const auto count = num_frames();
    const auto number = i < 0 ? i + count : i;
    TRICODEC_EXPECT(number >= 0 && number < count, out_of_range,
                    "frame " + std::to_string(i) + " was asked for; " + range_text(count));
    return number;
}

Frame FrameReaderImpl::frame(std::int64_t i) {
    if (i == 0 && !index_ && !sequential_.running() && feed_.rereadable()) {
        if (auto first = decode_first_frame(feed_, pool_)) {
            last_given_ = 0;
            return std::move(*first);
        }
    }
    const auto number = checked(i);
    if (sequential_.running() && sequential_.next_frame() == number) {
        if (auto frame = frame_in_order(number)) return std::move(*frame);
    }
    // Asked for the one after the last: likely to go on so, and then a decoder that stays is worth its delay.
    if (last_given_ >= 0 && number == last_given_ + 1) {
        if (auto frame = frame_in_order(number)) return std::move(*frame);
    }
    sequential_.stop();
    std::optional<Frame> found;
    const std::int64_t wanted[] = {number};
    // Another one of the same group of pictures, further on: more of them may follow.
    const bool ahead = last_given_ >= 0 && last_given_ < number;
    const bool goes_on = ahead && index_->entry_for(last_given_) == index_->entry_for(number);
    decode(wanted, goes_on, [&](Frame frame) { found = std::move(frame); });
    last_given_ = number;
    return std::move(*found);
}

std::optional<Frame> FrameReaderImpl::frame_in_order(std::int64_t number) {
    for (int attempt = 0;; ++attempt) {
        try {
            if (!sequential_.running() || sequential_.next_frame() != number) {
                if (number == 0 && !index_) {
                    sequential_.start_counting();
                } else {
                    const auto known = index();
                    if (number >= known->num_frames()) return std::nullopt;
                    sequential_.start_at(number, known);
                }
            }
            auto frame = sequential_.next();
            if (frame) {
                last_given_ = number;
            } else {
                sequential_.stop();
            }
            return frame;
        } catch (const IndexMismatch& mismatch) {
            sequential_.stop();
            TRICODEC_EXPECT(attempt == 0 && !index_->scanned(), corrupt_data,
                            "frame " + std::to_string(mismatch.frame) + " could not be decoded again");
            rescan();
        }
    }
}

bool FrameReaderImpl::goes_on(std::span<const std::int64_t> numbers) const {
    if (numbers.empty() || numbers.front() != last_given_ + 1) return false;
    const auto size = static_cast<std::int64_t>(numbers.size());
    return numbers.back() - numbers.front() + 1 == size && (size > 1 || last_given_ >= 0);
}

ReadPlan FrameReaderImpl::plan_own_read(std::span<const std::int64_t> numbers, bool goes_on) {
    if (numbers.empty()) return {};
    const auto known = index();
    auto plan = plan_read(*known, numbers, {num_workers_, num_workers_, num_threads_, num_turns()},
                          pool_.resumes_at(known, numbers.front()));
    plan.goes_on = goes_on && plan.groups.size() == 1;
    return plan;
}

void FrameReaderImpl::decode_once(std::span<const std::int64_t> numbers, bool goes_on, const Sink& sink) {
    const auto known = index();
    const auto plan = plan_own_read(numbers, goes_on);
    std::vector<std::function<void()>> tasks;
    for (const auto& group : plan.groups) {
        tasks.emplace_back([&, this] {
            for (const auto& segment : group.segments) run(known, segment, plan.options(group), sink);
        });
    }
    run_tasks(std::move(tasks), plan.num_packets());
}

void FrameReaderImpl::run_tasks(std::vector<std::function<void()>> tasks, std::int64_t num_packets) {
    if (pool_.num_engines() == 0) return run_parallel(tasks, num_workers_);
    auto& queue = engine_queue();
    const EngineQueue::Read read(queue, true);
    for (auto& task : tasks) {
        task = [&queue, &read, work = std::move(task)] {
            const EngineQueue::Turn turn(queue, read.share());
            work();
        };
    }
    const int most = num_decoders(num_packets, static_cast<std::int64_t>(tasks.size()));
    run_parallel(tasks, shares_engines_ ? read.num_threads(most) : most);
}

int FrameReaderImpl::num_decoders(std::int64_t num_packets, std::int64_t num_groups) const {
    if (!shares_engines_) return num_workers_;
    const auto& queue = engine_queue();
    const auto pixels = std::max(kPixels, std::int64_t{stream().width} * stream().height);
    const auto packets_each = std::max(kFewestPackets, kPacketsPerDecoder * kPixels / pixels);
    // Those that exist cost nothing.
    const auto worth_making = std::max<std::int64_t>(queue.most_at_once(), num_packets / packets_each);
    const int at_first = std::min(num_workers_, queue.num_turns());
    const auto most = std::clamp<std::int64_t>(worth_making, at_first, queue.num_turns());
    return decoders_for_even_turns(static_cast<int>(most), num_groups, num_workers_);
}

void FrameReaderImpl::decode(std::span<const std::int64_t> numbers, bool goes_on, const Sink& sink) {
    try {
        decode_once(numbers, goes_on, sink);
    } catch (const IndexMismatch& mismatch) {
        TRICODEC_EXPECT(!index_->scanned(), corrupt_data,
                        "frame " + std::to_string(mismatch.frame) + " could not be decoded again");
        rescan();
        TRICODEC_EXPECT(numbers.empty() || numbers.back() < num_frames(), corrupt_data,
                        "frame " + std::to_string(numbers.back()) + " cannot be decoded: packets are damaged, and " +
                            range_text(num_frames()));
        try {
            decode_once(numbers, false, sink);
        } catch (const IndexMismatch& again) {
            fail(ErrorCode::corrupt_data, "frame " + std::to_string(again.frame) + " could not be decoded again");
        }
    }
}

std::vector<Frame> FrameReaderImpl::frames(std::span<const std::int64_t> indices) {
    std::vector<std::int64_t> numbers;
    for (const auto i : indices) numbers.push_back(checked(i));
    const auto distinct = sorted_distinct(numbers);
    if (const auto shape = geometry(); !distinct.empty() && shape.format != PixelFormat::unknown) {
        const auto num_frames = static_cast<std::int64_t>(distinct.size());
        expect_within_limit(num_frames, num_frames * shape.size_bytes());
    }
    std::map<std::int64_t, Frame> decoded;
    std::int64_t size_bytes = 0;
    std::mutex mutex;
    decode(distinct, goes_on(distinct), [&](Frame frame) {
        const auto number = frame.index;
        std::lock_guard lock(mutex);
        const auto [place, fresh] = decoded.try_emplace(number);
        // Summed up, because a stream may change its size; a frame may come again under a new number.
        size_bytes += frame.size_bytes() - (fresh ? 0 : place->second.size_bytes());
        expect_within_limit(static_cast<std::int64_t>(decoded.size()), size_bytes);
        place->second = std::move(frame);
    });
    std::vector<Frame> result;
    for (const auto number : numbers) result.push_back(decoded.at(number));
    if (!numbers.empty()) last_given_ = numbers.back();
    return result;
}

Frame FrameReaderImpl::geometry() {
    Frame shape;
    const auto& facts = stream();
    shape.format = facts.pixel_format;
    shape.width = facts.width;
    shape.height = facts.height;
    shape.orientation = facts.orientation;
    shape.color = facts.color;
    if (shape.width > 0 && shape.height > 0) return shape;
    return frame(0);
}

std::unique_ptr<FrameReader::Iterator> FrameReaderImpl::iterate(const FrameSelection& selection) {
    return make_frame_iterator(*this, selection);
}

std::unique_ptr<FrameReader::BatchIterator> FrameReaderImpl::batches(const FrameSelection& selection,
                                                                     std::int64_t batch_size,
                                                                     const Transform& transform) {
    return make_batch_iterator(*this, selection, batch_size, transform);
}

std::vector<std::int64_t> FrameReaderImpl::select_clipped(const FrameSelection& selection) {
    FrameSelection clipped = selection;
    if (clipped.count > 0 && clipped.stride > 0) {
        const auto total = num_frames();
        const auto start = clipped.start < 0 ? clipped.start + total : clipped.start;
        clipped.count =
            std::min(clipped.count, std::max<std::int64_t>(0, (total - start + clipped.stride - 1) / clipped.stride));
    }
    return select(clipped);
}

std::vector<DecodeIssue> FrameReaderImpl::issues() const {
    auto issues = pool_.issues();
    if (const auto why = feed_.ends_early(); !why.empty()) {
        issues.push_back(
            {index_ ? index_->num_packets() : -1, kNoTimestamp, info().size_bytes, "it ends early: " + why});
    }
    return issues;
}

std::int64_t FrameReaderImpl::num_damaged_packets() const {
    return pool_.num_damaged_packets() + (feed_.ends_early().empty() ? 0 : 1);
}

std::unique_ptr<FrameReader> FrameReader::open(const MediaSource& source, const FrameReaderOptions& options) {
    return std::make_unique<FrameReaderImpl>(source, options);
}

std::vector<std::int64_t> FrameReader::select(const FrameSelection& selection) {
    TRICODEC_EXPECT(selection.stride >= 1, invalid_argument,
                    "stride is " + std::to_string(selection.stride) + "; it must be at least 1");
    TRICODEC_EXPECT(selection.count >= -1, invalid_argument,
                    "count is " + std::to_string(selection.count) + "; use -1 for all frames, or a number from 0");
    const auto total = num_frames();
    const auto start = selection.start < 0 ? selection.start + total : selection.start;
    TRICODEC_EXPECT(start >= 0 && (start < total || (start == 0 && total == 0)), out_of_range,
                    "start is " + std::to_string(selection.start) + "; " + range_text(total));
    const auto available = (total - start + selection.stride - 1) / selection.stride;
    TRICODEC_EXPECT(selection.count <= available, out_of_range,
                    std::to_string(selection.count) + " frames from " + std::to_string(start) + " with stride " +
                        std::to_string(selection.stride) + " were asked for, but there are " +
                        std::to_string(available) + "; " + range_text(total));
    const auto count = selection.count < 0 ? available : selection.count;
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = start + i * selection.stride;
    return numbers;
}

}  // namespace tricodec
