// SPDX-License-Identifier: Apache-2.0
#include "container/mp4_fragments.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "container/mp4_boxes.h"
#include "io/byte_window.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

using mp4::find_box;
using mp4::for_each_box;
using mp4::number;
using mp4::Payload;

constexpr std::size_t kWindowBytes = 4096;                      // most fragments' headers fit
constexpr std::int64_t kLargestMoof = std::int64_t{16} << 20;   // sixteen bytes a sample: a million of them
constexpr std::int64_t kLargestTable = std::int64_t{16} << 20;  // that is fetched at once
constexpr std::size_t kMostAnnounced = 1 << 16;
constexpr std::uint32_t kIsNoSyncSample = 0x10000;
constexpr std::uint32_t kDependsOnOthers = 0x1000000;

/// What `trex` and `tfhd` state of samples that do not say otherwise.
struct Defaults {
    std::uint32_t description = 1;
    std::uint32_t duration = 0;
    std::uint32_t size_bytes = 0;
    std::uint32_t flags = 0;
};

std::uint32_t number32(Payload bytes, std::size_t at) {
    return static_cast<std::uint32_t>(number(bytes, at));
}

/// Version and flags of a full box.
std::uint32_t flags_of(Payload box) {
    return number32(box, 0) & 0xffffff;
}

/// Of `moov`. Nothing if the track is not there, has several descriptions, or lists samples in `moov` itself.
std::optional<Defaults> defaults_of(Payload moov, std::uint32_t track_id) {
    std::optional<Defaults> defaults;
    bool has_track = false;
    const bool whole = for_each_box(moov, [&](std::string_view name, Payload payload) {
        if (name == "trak" && mp4::track_id_of(payload) == track_id) {
            constexpr std::string_view kSizes[] = {"mdia", "minf", "stbl", "stsz"};
            constexpr std::string_view kDescriptions[] = {"mdia", "minf", "stbl", "stsd"};
            has_track = number(find_box(payload, kSizes), 8) == 0 && number(find_box(payload, kDescriptions), 4) == 1;
        }
        if (name != "mvex") return;
        for_each_box(payload, [&](std::string_view inner, Payload trex) {
            if (inner != "trex" || number32(trex, 4) != track_id) return;
            defaults = Defaults{number32(trex, 8), number32(trex, 12), number32(trex, 16), number32(trex, 20)};
        });
    });
    return whole && has_track ? defaults : std::nullopt;
}

/// Reads numbers one after another; ok() is false once one was missing.
class Fields {
public:
    explicit Fields(Payload bytes, std::size_t at) : bytes_(bytes), at_(at) {}
    std::uint32_t next() {
        ok_ = ok_ && at_ + 4 <= bytes_.size();
        const auto value = number32(bytes_, at_);
        at_ += 4;
        return value;
    }
    std::uint64_t next_long() {
        const std::uint64_t high = next();
        return high << 32 | next();
    }
    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] std::size_t left() const noexcept { return at_ < bytes_.size() ? bytes_.size() - at_ : 0; }

private:
    Payload bytes_;
    std::size_t at_;
    bool ok_ = true;
};

/// The samples of one track, fragment by fragment.
class Fragments {
public:
    Fragments(std::uint32_t track_id, const Defaults& defaults) : track_id_(track_id), defaults_(defaults) {}

    /// False if the fragment leaves doubt.
    bool add(Payload moof, std::int64_t place) {
        bool sure = true;
        bool is_first = true;
        const bool whole = for_each_box(moof, [&](std::string_view name, Payload payload) {
            if (name != "traf") return;
            sure = sure && add_track(payload, place, is_first);
            is_first = false;
        });
        return whole && sure;
    }
    std::vector<Mp4FragmentSample> take() { return std::move(samples_); }

private:
    bool add_track(Payload traf, std::int64_t place, bool is_first) {
        constexpr std::string_view kHeader[] = {"tfhd"};
        const auto header = find_box(traf, kHeader);
        if (number32(header, 4) != track_id_) return true;
        const auto flags = flags_of(header);
        auto defaults = defaults_;
        Fields fields(header, 8);
        std::uint64_t base = static_cast<std::uint64_t>(place);
        if ((flags & 0x1) != 0) base = fields.next_long();
        if ((flags & 0x2) != 0) defaults.description = fields.next();
        if ((flags & 0x8) != 0) defaults.duration = fields.next();
        if ((flags & 0x10) != 0) defaults.size_bytes = fields.next();
        if ((flags & 0x20) != 0) defaults.flags = fields.next();
        const bool has_place = is_first || (flags & 0x20001) != 0;  // else where the track before ends
        constexpr std::uint64_t kFarthest = std::uint64_t{1} << 62;
        if (!fields.ok() || !has_place || defaults.description != 1 || base > kFarthest) return false;

        constexpr std::string_view kTime[] = {"tfdt"};
        const auto time = find_box(traf, kTime);
        if (time.size() < 8) return false;
        const bool is_long = time[0] == 1;
        if (is_long && time.size() < 12) return false;
        const auto first = number(time, 4, is_long ? 8 : 4);
        if (first > kFarthest) return false;
        dts_ = static_cast<std::int64_t>(first);

        bool sure = true;
        int num_runs = 0;
        const bool whole = for_each_box(traf, [&](std::string_view name, Payload payload) {
            if (name == "trun") sure = sure && add_run(payload, static_cast<std::int64_t>(base), defaults, num_runs++);
        });
        return whole && sure;
    }

    bool add_run(Payload run, std::int64_t base, const Defaults& defaults, int number_of_run) {
        if (run.size() < 8) return false;
        const auto flags = flags_of(run);
        const auto count = std::int64_t{number32(run, 4)};
        Fields fields(run, 8);
        const bool has_place = (flags & 0x1) != 0;
        if (!has_place && number_of_run > 0) return false;
        auto pos = base + (has_place ? static_cast<std::int32_t>(fields.next()) : 0);
        const auto first_flags = (flags & 0x4) != 0 ? fields.next() : defaults.flags;
        if (static_cast<std::int64_t>(samples_.size()) + count > limits().max_packets) return false;
        std::size_t fields_each = 0;
        for (const auto flag : {0x100U, 0x200U, 0x400U, 0x800U}) fields_each += (flags & flag) != 0 ? 1 : 0;
        if (fields.left() / 4 < fields_each * static_cast<std::size_t>(count)) return false;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto duration = (flags & 0x100) != 0 ? fields.next() : defaults.duration;
            const auto size = (flags & 0x200) != 0 ? fields.next() : defaults.size_bytes;
            const auto sample_flags = (flags & 0x400) != 0 ? fields.next() : i == 0 ? first_flags : defaults.flags;
            const auto offset = (flags & 0x800) != 0 ? static_cast<std::int32_t>(fields.next()) : 0;
            if (size == 0 || (!samples_.empty() && samples_.back().dts >= dts_)) return false;
            samples_.push_back({.dts = dts_,
                                .composition_offset = offset,
                                .duration = duration,
                                .pos = pos,
                                .size_bytes = size,
                                .key = (sample_flags & (kIsNoSyncSample | kDependsOnOthers)) == 0});
            dts_ += duration;
            pos += size;
        }
        return fields.ok();
    }

    std::uint32_t track_id_;
    Defaults defaults_;
    std::vector<Mp4FragmentSample> samples_;
    std::int64_t dts_ = 0;
};

/// Calls `visit(name, position, length, header bytes)` for each box of a file until it returns false. False if they are
/// not all there.
template <class Visit>
bool for_each_top_box(ByteWindow& bytes, Visit visit) {
    for (std::int64_t position = 0; position < bytes.size();) {
        check_interrupt();
        const auto left = static_cast<std::uint64_t>(bytes.size() - position);
        const auto box = mp4::read_header(bytes.at(position, mp4::kLongHeaderBytes), left);
        if (!box) return false;
        const auto length = static_cast<std::int64_t>(box->length);
        if (!visit(box->name, position, length, static_cast<std::int64_t>(box->header_bytes))) return false;
        position += length;
    }
    return true;
}

/// Of `sidx`: where the parts that it lists begin. Nothing of a list of lists.
std::vector<ByteRange> places_of_sidx(Payload box, std::int64_t end) {
    std::vector<ByteRange> places;
    const bool is_long = !box.empty() && box[0] == 1;
    Fields fields(box, 12);
    (void)(is_long ? fields.next_long() : fields.next());
    auto position = static_cast<std::uint64_t>(end) + (is_long ? fields.next_long() : fields.next());
    const auto count = std::min<std::size_t>(fields.next() & 0xffff, fields.left() / 12);
    for (std::size_t i = 0; i < count && position < std::uint64_t{1} << 62; ++i) {
        const auto size = fields.next();
        (void)fields.next_long();
        if ((size & 0x80000000U) != 0) return {};
        places.push_back({static_cast<std::int64_t>(position), 0});
        position += size;
    }
    return places;
}

/// Of `mfra`: where the fragments are that its lists of random access points name.
std::vector<ByteRange> places_of_mfra(Payload mfra) {
    std::vector<ByteRange> places;
    for_each_box(mfra, [&](std::string_view name, Payload box) {
        if (name != "tfra" || box.size() < 16) return;
        const bool is_long = box[0] == 1;
        const auto sizes = number32(box, 8);
        const std::size_t entry = (is_long ? 16 : 8) + (sizes >> 4 & 3) + (sizes >> 2 & 3) + (sizes & 3) + 3;
        const auto count = std::min<std::size_t>(number32(box, 12), (box.size() - 16) / entry);
        for (std::size_t i = 0; i < count && places.size() < kMostAnnounced; ++i) {
            const auto place = is_long ? number(box, 16 + i * entry + 8, 8) : number(box, 16 + i * entry + 4);
            if (place < std::uint64_t{1} << 62) places.push_back({static_cast<std::int64_t>(place), 0});
        }
    });
    return places;
}

}  // namespace

std::optional<std::vector<Mp4FragmentSample>> read_mp4_fragments(ByteReader& reader, std::uint32_t track_id) {
    const auto defaults = defaults_of(mp4::read_moov(reader), track_id);
    if (!defaults) return std::nullopt;
    ByteWindow bytes(reader, kWindowBytes);
    Fragments fragments(track_id, *defaults);
    const bool whole = for_each_top_box(
        bytes, [&](std::string_view name, std::int64_t position, std::int64_t length, std::int64_t header) {
            if (name != "moof") return true;
            if (length > kLargestMoof) return false;
            const auto payload = bytes.at(position + header, static_cast<std::size_t>(length - header));
            return fragments.add(payload, position);
        });
    if (!whole) return std::nullopt;
    return fragments.take();
}

void announce_mp4_tables(ByteReader& reader) {
    ByteWindow bytes(reader, kWindowBytes);
    std::vector<ByteRange> places;
    bool has_moov = false;
    bool has_fragments = false;
    for_each_top_box(
        bytes, [&](std::string_view name, std::int64_t position, std::int64_t length, std::int64_t header) {
            const auto end = position + length;
            if (name == "mdat" && !has_moov && bytes.size() - end <= kLargestTable) {
                const ByteRange rest[] = {{end, bytes.size() - end}};
                reader.will_read(rest);
            }
            has_moov = has_moov || name == "moov";
            if (name == "moov" && length <= kLargestTable) {
                const ByteRange table[] = {{position, length}};
                reader.will_read(table);
                constexpr std::string_view kExtends[] = {"mvex"};
                has_fragments =
                    !find_box(bytes.at(position + header, static_cast<std::size_t>(length - header)), kExtends).empty();
            }
            if (name == "sidx" && length <= kLargestTable) {
                places = places_of_sidx(bytes.at(position + header, static_cast<std::size_t>(length - header)), end);
            }
            return name != "mdat" && name != "moof" && name != "sidx";
        });
    if (!has_fragments) return;
    if (places.empty()) {
        constexpr std::int64_t kLast = 16;  // `mfro` states the size of `mfra`
        const auto last = bytes.at(bytes.size() - kLast, kLast);
        if (std::string_view(reinterpret_cast<const char*>(last.data()), last.size()).substr(4, 4) != "mfro") return;
        const auto size = std::int64_t{number32(last, 12)};
        if (size < kLast || size > std::min(bytes.size(), kLargestTable)) return;
        const auto mfra = bytes.at(bytes.size() - size, static_cast<std::size_t>(size));
        if (mfra.size() > mp4::kHeaderBytes) places = places_of_mfra(mfra.subspan(mp4::kHeaderBytes));
    }
    for (auto& place : places) place.size_bytes = static_cast<std::int64_t>(kWindowBytes);
    std::erase_if(places, [&](const auto& place) { return place.offset >= bytes.size(); });
    std::ranges::sort(places, {}, &ByteRange::offset);
    if (!places.empty()) reader.will_read(places);
}

}  // namespace tricodec
