// SPDX-License-Identifier: Apache-2.0
#include "container/matroska_blocks.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "io/bit_reader.h"
#include "io/byte_window.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/limits.h"

// Note [Walking blocks]: Matroska has no table of its frames: Cues lists key frames, without how many frames lie
// between them. But each block begins with its track, time and key flag, and its length leads to the next one. So the
// frames are listed by reading some bytes a block. That is sound, because it is what a demuxer does, without the
// frames. Of a source that fetches ahead no block can be found before the one before it has come: its GOPs are found by
// Cues, and each is fetched whole. Note [Predicted packets]
namespace tricodec {
namespace {

constexpr std::size_t kWindowBytes = 512;  // a block of sound and the next header
constexpr std::int64_t kLargestHeaders = std::int64_t{16} << 20;
constexpr std::int64_t kUnknown = -1;
constexpr std::uint64_t kFarthest = std::uint64_t{1} << 62;
constexpr std::uint64_t kTicksPerSecond = 1'000'000'000;

// RFC 9559, 5.1
enum Id : std::uint32_t {
    kEbml = 0x1A45DFA3,
    kSegment = 0x18538067,
    kSeekHead = 0x114D9B74,
    kInfo = 0x1549A966,
    kTracks = 0x1654AE6B,
    kCluster = 0x1F43B675,
    kCues = 0x1C53BB6B,
    kChapters = 0x1043A770,
    kTags = 0x1254C367,
    kAttachments = 0x1941A469,
    kTimestampScale = 0x2AD7B1,
    kTrackEntry = 0xAE,
    kTrackNumber = 0xD7,
    kTrackType = 0x83,
    kCodecId = 0x86,
    kDefaultDuration = 0x23E383,
    kTrackTimestampScale = 0x23314F,
    kContentEncodings = 0x6D80,
    kTimestamp = 0xE7,
    kSimpleBlock = 0xA3,
    kBlockGroup = 0xA0,
    kBlock = 0xA1,
    kBlockDuration = 0x9B,
    kReferenceBlock = 0xFB,
    kSeek = 0x4DBB,
    kSeekId = 0x53AB,
    kSeekPosition = 0x53AC,
    kCuePoint = 0xBB,
    kCueTime = 0xB3,
    kCueTrackPositions = 0xB7,
    kCueTrack = 0xF7,
    kCueClusterPosition = 0xF1,
    kEncryptedBlock = 0xAF,
};

using Bytes = std::span<const std::uint8_t>;

struct Element {
    std::uint32_t id = 0;
    std::size_t header_bytes = 0;
    std::int64_t size = kUnknown;  ///< of what follows the header
};

/// A number of variable length (RFC 8794, 4): its value without the marker, and its length. Nothing if it is cut off.
struct VariableNumber {
    std::uint64_t value = 0;
    std::size_t num_bytes = 0;
    bool all_ones = false;
};
std::optional<VariableNumber> variable_number(Bytes bytes, std::size_t longest) {
    if (bytes.empty() || bytes[0] == 0) return std::nullopt;
    const auto length = static_cast<std::size_t>(std::countl_zero(bytes[0])) + 1;
    if (length > longest || length > bytes.size()) return std::nullopt;
    const auto mask = (std::uint64_t{1} << (7 * length)) - 1;
    const auto value = big_endian(bytes.first(length)) & mask;
    return VariableNumber{value, length, value == mask};
}

/// The header at the start of the bytes.
std::optional<Element> element_of(Bytes bytes) {
    const auto id = variable_number(bytes, 4);
    if (!id) return std::nullopt;
    const auto size = variable_number(bytes.subspan(id->num_bytes), 8);
    if (!size) return std::nullopt;
    Element element{static_cast<std::uint32_t>(big_endian(bytes.first(id->num_bytes))),
                    id->num_bytes + size->num_bytes};
    if (!size->all_ones) element.size = static_cast<std::int64_t>(size->value);
    return element;
}

/// Calls `visit(id, payload)` for each element. False if the bytes are no list of elements.
template <class Visit>
bool for_each_element(Bytes bytes, Visit visit) {
    while (!bytes.empty()) {
        const auto element = element_of(bytes);
        if (!element || element->size == kUnknown) return false;
        bytes = bytes.subspan(element->header_bytes);
        if (static_cast<std::uint64_t>(element->size) > bytes.size()) return false;
        const auto size = static_cast<std::size_t>(element->size);
        visit(element->id, bytes.first(size));
        bytes = bytes.subspan(size);
    }
    return true;
}

std::uint64_t number_of(Bytes payload) {
    return payload.size() > 8 ? 0 : big_endian(payload);
}

bool is_level_1(std::uint32_t id) {
    constexpr std::uint32_t kLevel1[] = {kSeekHead, kInfo, kTracks, kCluster, kCues, kChapters, kTags, kAttachments};
    return std::ranges::find(kLevel1, id) != std::end(kLevel1);
}

struct Track {
    std::uint64_t number = 0;
    std::uint64_t default_duration = 0;  // nanoseconds
    bool plain = true;                   // blocks hold frames as they are, with times of their own
};

/// The video tracks of `Tracks`, in the order in which libavformat makes streams of them.
std::optional<std::vector<Track>> video_tracks(Bytes tracks) {
    constexpr std::uint64_t kVideo = 1;
    std::vector<Track> found;
    const bool whole = for_each_element(tracks, [&](std::uint32_t id, Bytes entry) {
        if (id != kTrackEntry) return;
        Track track;
        std::uint64_t type = 0;
        std::string_view codec;
        track.plain = for_each_element(entry, [&](std::uint32_t inner, Bytes payload) {
            if (inner == kTrackNumber) track.number = number_of(payload);
            if (inner == kTrackType) type = number_of(payload);
            if (inner == kDefaultDuration) track.default_duration = number_of(payload);
            if (inner == kCodecId) codec = {reinterpret_cast<const char*>(payload.data()), payload.size()};
            if (inner == kContentEncodings) type |= kVideo << 32;
            const bool is_one =
                payload.size() == 4 ? big_endian(payload) == 0x3F800000 : big_endian(payload) == 0x3FF0000000000000;
            if (inner == kTrackTimestampScale && !is_one) type |= kVideo << 33;
        });
        if ((type & 0xFF) != kVideo || !codec.starts_with('V')) return;
        track.plain = track.plain && type == kVideo && !codec.starts_with("V_MS/") && !codec.starts_with("V_QUICKTIME");
        found.push_back(track);
    });
    if (!whole) return std::nullopt;
    return found;
}

class Walk {
public:
    Walk(ByteReader& reader, std::size_t video_stream) : bytes_(reader, kWindowBytes), video_stream_(video_stream) {}

    std::optional<MatroskaBlocks> run() {
        if (!find_segment() || !walk_segment(begin_, bytes_.size()) || !track_) return std::nullopt;
        found_.tick = tick();
        return std::move(found_);
    }

    std::optional<MatroskaBlocks> run(std::span<const ByteRange> clusters) {
        if (!walk_head()) return std::nullopt;
        for (const auto& each : clusters) {
            const auto end = each.offset + each.size_bytes;
            bytes_.end_at(end);  // what follows may not have come
            if (!walk_segment(each.offset, end)) return std::nullopt;
        }
        found_.tick = tick();
        return std::move(found_);
    }

    std::optional<MatroskaCues> cues() {
        if (!walk_head() || cues_at_ < begin_) return std::nullopt;
        const auto element = element_at(cues_at_);
        if (!element || element->id != kCues || !after(cues_at_, *element) || element->size > kLargestHeaders)
            return std::nullopt;
        const auto size = static_cast<std::uint64_t>(bytes_.size());
        MatroskaCues found{tick(), static_cast<double>(track_->default_duration) / static_cast<double>(scale_), {}};
        const auto payload = bytes_.at(cues_at_ + static_cast<std::int64_t>(element->header_bytes),
                                       static_cast<std::size_t>(element->size));
        const bool whole = for_each_element(payload, [&](std::uint32_t id, Bytes point) {
            std::uint64_t time = 0;
            if (id != kCuePoint) return;
            for_each_element(point, [&](std::uint32_t part, Bytes value) {
                std::uint64_t track = 0;
                std::uint64_t cluster = 0;
                if (part == kCueTime) time = std::min(number_of(value), kFarthest);
                if (part != kCueTrackPositions) return;
                for_each_element(value, [&](std::uint32_t inner, Bytes number) {
                    if (inner == kCueTrack) track = number_of(number);
                    if (inner == kCueClusterPosition) cluster = std::min(number_of(number), size);
                });
                if (track != track_->number) return;
                found.gops.push_back(
                    {static_cast<std::int64_t>(time), {begin_ + static_cast<std::int64_t>(cluster), 0}});
            });
        });
        auto& gops = found.gops;
        if (!whole || gops.empty() || gops.front().clusters.offset != cluster_) return std::nullopt;
        for (std::size_t g = 0; g < gops.size(); ++g) {
            const bool is_last = g + 1 == gops.size();
            auto& clusters = gops[g].clusters;
            clusters.size_bytes = (is_last ? bytes_.size() : gops[g + 1].clusters.offset) - clusters.offset;
            const bool in_order = is_last || gops[g].pts < gops[g + 1].pts;
            if (clusters.size_bytes <= 0 || !in_order) return std::nullopt;
        }
        return found;
    }

private:
    [[nodiscard]] Rational tick() const {
        return {static_cast<std::int64_t>(scale_), static_cast<std::int64_t>(kTicksPerSecond)};
    }

    /// False if the file is not one segment from its head to its end.
    bool find_segment() {
        const auto head = element_at(0);
        if (!head || head->id != kEbml || head->size == kUnknown) return false;
        const auto place = after(0, *head);
        const auto segment = place ? element_at(*place) : std::nullopt;
        if (!segment || segment->id != kSegment) return false;
        begin_ = *place + static_cast<std::int64_t>(segment->header_bytes);
        // What follows would be another segment, or what was appended.
        return segment->size == kUnknown || segment->size == bytes_.size() - begin_;
    }
    /// Up to the first cluster, which is cluster_.
    bool walk_head() { return find_segment() && walk_segment(begin_, bytes_.size(), true) && track_; }

    std::optional<Element> element_at(std::int64_t position) {
        constexpr std::size_t kLongest = 12;
        return element_of(bytes_.at(position, kLongest));
    }
    /// The position after an element of known size; nothing if that is past the end.
    std::optional<std::int64_t> after(std::int64_t position, const Element& element) const {
        const auto begin = position + static_cast<std::int64_t>(element.header_bytes);
        if (element.size < 0 || element.size > bytes_.size() - begin) return std::nullopt;
        return begin + element.size;
    }

    bool walk_segment(std::int64_t position, std::int64_t end, bool head_only = false) {
        while (position < end) {
            check_interrupt();
            const auto element = element_at(position);
            if (!element) return false;
            const auto begin = position + static_cast<std::int64_t>(element->header_bytes);
            const auto next = after(position, *element);
            if (element->id == kCluster) {
                cluster_ = position;
                if (head_only) return true;
                const auto stop = element->size == kUnknown ? std::optional(end) : next;
                const auto reached = stop ? walk_cluster(begin, *stop, element->size == kUnknown) : std::nullopt;
                if (!reached) return false;
                position = *reached;
                continue;
            }
            if (!next || element->id == kSegment) return false;
            const bool is_seek_head = head_only && element->id == kSeekHead;
            if (element->id == kInfo || element->id == kTracks || is_seek_head) {
                if (element->size > kLargestHeaders || !found_.blocks.empty()) return false;
                const auto payload = bytes_.at(begin, static_cast<std::size_t>(element->size));
                if (is_seek_head) {
                    take_seek_head(payload);
                } else if (!(element->id == kInfo ? take_info(payload) : take_tracks(payload))) {
                    return false;
                }
            }
            position = *next;
        }
        return !head_only && position == end;
    }

    void take_seek_head(Bytes payload) {
        for_each_element(payload, [&](std::uint32_t id, Bytes seek) {
            std::uint64_t wanted = 0;
            std::uint64_t place = 0;
            if (id != kSeek) return;
            for_each_element(seek, [&](std::uint32_t inner, Bytes value) {
                if (inner == kSeekId) wanted = number_of(value);
                if (inner == kSeekPosition) place = number_of(value);
            });
            if (wanted == kCues && place < static_cast<std::uint64_t>(bytes_.size()))
                cues_at_ = begin_ + static_cast<std::int64_t>(place);
        });
    }

    bool take_info(Bytes payload) {
        const bool whole = for_each_element(payload, [&](std::uint32_t id, Bytes value) {
            if (id == kTimestampScale) scale_ = number_of(value);
        });
        return whole && scale_ > 0 && scale_ <= kTicksPerSecond;
    }

    bool take_tracks(Bytes payload) {
        const auto tracks = video_tracks(payload);
        if (!tracks || track_ || video_stream_ >= tracks->size()) return false;
        track_ = (*tracks)[video_stream_];
        return track_->plain && track_->number > 0;
    }

    /// Where the cluster ends; nothing if something leaves doubt.
    std::optional<std::int64_t> walk_cluster(std::int64_t position, std::int64_t end, bool is_open) {
        if (!track_) return std::nullopt;
        time_.reset();
        while (position < end) {
            if (++num_elements_ % kElementsBetweenChecks == 0) check_interrupt();
            const auto element = element_at(position);
            if (!element) return std::nullopt;
            if (is_open && is_level_1(element->id)) return position;
            const auto begin = position + static_cast<std::int64_t>(element->header_bytes);
            const auto next = after(position, *element);
            if (!next || *next > end || is_level_1(element->id) || element->id == kEncryptedBlock) return std::nullopt;
            bool sure = true;
            if (element->id == kTimestamp) {
                const auto value = element->size <= 8
                                       ? bytes_.big_endian(begin, static_cast<std::size_t>(element->size))
                                       : std::nullopt;
                if (!value || *value > kFarthest) return std::nullopt;
                time_ = static_cast<std::int64_t>(*value);
            } else if (element->id == kSimpleBlock) {
                sure = add_block(begin, element->size, 0, std::nullopt);
            } else if (element->id == kBlockGroup) {
                sure = add_group(begin, *next);
            }
            if (!sure) return std::nullopt;
            position = *next;
        }
        return position;
    }

    bool add_group(std::int64_t position, std::int64_t end) {
        std::int64_t block = -1;
        std::int64_t size = 0;
        std::uint64_t duration = 0;
        bool key = true;
        while (position < end) {
            const auto element = element_at(position);
            const auto next = element ? after(position, *element) : std::nullopt;
            if (!next || *next > end) return false;
            const auto begin = position + static_cast<std::int64_t>(element->header_bytes);
            if (element->id == kBlock) {
                if (block >= 0) return false;
                block = begin;
                size = element->size;
            } else if (element->id == kBlockDuration) {
                if (element->size > 8) return false;
                duration = bytes_.big_endian(begin, static_cast<std::size_t>(element->size)).value_or(0);
            } else if (element->id == kReferenceBlock) {
                key = false;
            }
            position = *next;
        }
        return block >= 0 && add_block(block, size, duration, key);
    }

    /// `key`: of a block group; a simple block has a flag of its own.
    bool add_block(std::int64_t position, std::int64_t size, std::uint64_t duration, std::optional<bool> key) {
        constexpr std::size_t kHeader = 8 + 3 + 1;
        const auto header = bytes_.at(position, kHeader);
        const auto number = variable_number(header, 8);
        if (!number) return false;
        if (number->value != track_->number) return true;
        if (number->num_bytes + 4 > header.size()) return false;
        const auto rest = header.subspan(number->num_bytes);
        const auto offset = static_cast<std::int16_t>(static_cast<std::uint16_t>(big_endian(rest.first(2))));
        const auto flags = rest[2];
        const auto num_bytes = size - static_cast<std::int64_t>(number->num_bytes + 3);
        constexpr int kLacing = 0x06;
        if (!time_ || *time_ + offset < 0 || num_bytes < 1 || (flags & kLacing) != 0 || duration > kFarthest)
            return false;
        if (static_cast<std::int64_t>(found_.blocks.size()) >= most_blocks_) return false;
        if (duration == 0) duration = track_->default_duration / scale_;
        found_.blocks.push_back({.pts = *time_ + offset,
                                 .duration = static_cast<std::int64_t>(duration),
                                 .pos = position,
                                 .size_bytes = num_bytes,
                                 .cluster = cluster_,
                                 .key = key.value_or((flags & 0x80) != 0),
                                 .first_byte = rest[3]});
        return true;
    }

    static constexpr std::int64_t kElementsBetweenChecks = 256;

    ByteWindow bytes_;
    std::size_t video_stream_;
    std::int64_t most_blocks_ = limits().max_packets;
    std::int64_t num_elements_ = 0;
    std::uint64_t scale_ = 1'000'000;
    std::optional<Track> track_;
    std::int64_t begin_ = 0;            // of what is in the segment
    std::int64_t cues_at_ = -1;         // as SeekHead says
    std::int64_t cluster_ = 0;          // its position
    std::optional<std::int64_t> time_;  // and time
    MatroskaBlocks found_;
};

}  // namespace

std::optional<MatroskaBlocks> read_matroska_blocks(ByteReader& reader, std::size_t video_stream) {
    return Walk(reader, video_stream).run();
}

std::optional<MatroskaBlocks> read_matroska_blocks(ByteReader& reader, std::size_t video_stream,
                                                   std::span<const ByteRange> clusters) {
    return Walk(reader, video_stream).run(clusters);
}

std::optional<MatroskaCues> read_matroska_cues(ByteReader& reader, std::size_t video_stream) {
    return Walk(reader, video_stream).cues();
}

}  // namespace tricodec
