// SPDX-License-Identifier: Apache-2.0
#include "media/reference_marks.h"

#include <algorithm>
#include <cstdlib>

#include "media/nal_types.h"

namespace tricodec {
namespace {

constexpr std::uint32_t kMostActive = 32;
constexpr std::uint32_t kMostKept = 16;
constexpr std::uint32_t kLastPps = 255;
constexpr std::size_t kMostCommands = 66;                     // libavcodec's bound
constexpr std::size_t kMostOpenEntries = 16;                  // of a stream that never forgets
constexpr std::uint32_t kTypeP = 0, kTypeB = 1, kTypeSp = 3;  // slice_type modulo 5
constexpr std::size_t kFewestReaching = 4;                    // of a stream of which most entries are so

void read_list(BitReader& bits, H264References::List& list) {
    if (!bits.flag()) return;
    constexpr std::uint32_t kEnd = 3;
    for (auto kind = bits.exp_golomb(); bits.ok() && kind != kEnd; kind = bits.exp_golomb()) {
        list.commands.emplace_back(kind, bits.exp_golomb());
        if (list.commands.size() > kMostCommands) return;
    }
}

void skip_weights(BitReader& bits, const H264References& references, int num_lists, bool has_chroma) {
    (void)bits.exp_golomb();
    if (has_chroma) (void)bits.exp_golomb();
    for (int list = 0; list < num_lists; ++list) {
        for (std::uint32_t i = 0; i < references.lists[static_cast<std::size_t>(list)].num_active && bits.ok(); ++i) {
            for (int numbers = bits.flag() ? 2 : 0; numbers > 0; --numbers) (void)bits.signed_exp_golomb();
            for (int numbers = has_chroma && bits.flag() ? 4 : 0; numbers > 0; --numbers)
                (void)bits.signed_exp_golomb();
        }
    }
}

bool read_commands(BitReader& bits, H264References& references) {
    for (;;) {
        H264References::Command command{.kind = bits.exp_golomb()};
        if (command.kind == 0 || !bits.ok()) return bits.ok();
        if (command.kind > 6 || references.commands.size() > kMostCommands) return false;
        if (command.kind == 1 || command.kind == 3) command.difference = bits.exp_golomb() + 1;
        if (command.kind == 2 || command.kind == 3 || command.kind == 4 || command.kind == 6) {
            command.long_index = bits.exp_golomb();
            if (command.long_index > kMostKept) return false;
        }
        references.commands.push_back(command);
    }
}

}  // namespace

void ReferenceMarks::learn(Bytes extradata) {
    if (nal_length_size(CodecId::h264, extradata) == 0) {
        for_each_nal(extradata, 0, [this](Bytes nal) { learn_pps(nal); });
        return;
    }
    // A count of SPS and each after its length, then the same of PPS (ISO/IEC 14496-15, 5.3.3.1).
    constexpr std::size_t kCountAt = 5;
    if (extradata.size() <= kCountAt) return;
    auto rest = extradata.subspan(kCountAt);
    for (const bool is_pps : {false, true}) {
        if (rest.empty()) return;
        auto count = byte_at(rest, 0) & (is_pps ? 0xff : 0x1f);
        for (rest = rest.subspan(1); count > 0 && rest.size() >= 2; --count) {
            const std::size_t size = byte_at(rest, 0) << 8 | byte_at(rest, 1);
            if (size > rest.size() - 2) return;
            if (is_pps) learn_pps(rest.subspan(2, size));
            rest = rest.subspan(2 + size);
        }
    }
}

void ReferenceMarks::learn_pps(Bytes nal) {
    if (nal.empty() || h264_nal::type_of(nal) != h264_nal::kPps) return;
    const auto payload = nal_payload(nal.subspan(1));
    BitReader bits(payload);
    const auto id = bits.exp_golomb();
    (void)bits.exp_golomb();  // the sequence parameter set
    bits.skip(1);             // entropy coding
    Pps pps;
    pps.has_bottom_order = bits.flag();
    const auto more_groups = bits.exp_golomb();
    for (auto& count : pps.num_active) count = bits.exp_golomb() + 1;
    pps.weights_p = bits.flag();
    pps.weights_b = bits.bits(2) == 1;
    for (int i = 0; i < 3; ++i) (void)bits.signed_exp_golomb();  // quantizers
    bits.skip(2);
    pps.has_redundant_count = bits.flag();
    sets_.erase(id);
    if (bits.ok() && more_groups == 0 && id <= kLastPps) sets_.emplace(id, pps);
}

std::optional<H264References> ReferenceMarks::read(BitReader& bits, const H264Sps& sps, std::uint32_t slice_type,
                                                   std::uint32_t pps_id, bool is_idr, bool is_reference) const {
    const auto found = sets_.find(pps_id);
    if (found == sets_.end()) return std::nullopt;
    const auto& pps = found->second;
    if (pps.has_bottom_order) (void)bits.signed_exp_golomb();
    H264References references;
    references.is_redundant = pps.has_redundant_count && bits.exp_golomb() > 0;
    const auto type = slice_type % 5;
    references.is_bidirectional = type == kTypeB;
    references.is_inter = references.is_bidirectional || type == kTypeP || type == kTypeSp;
    const int num_lists = references.is_inter ? 1 + static_cast<int>(references.is_bidirectional) : 0;
    if (references.is_inter) {
        if (references.is_bidirectional) bits.skip(1);  // direct_spatial_mv_pred_flag
        const bool overrides = bits.flag();
        for (std::size_t i = 0; i < static_cast<std::size_t>(num_lists); ++i) {
            references.lists[i].num_active = overrides ? bits.exp_golomb() + 1 : pps.num_active[i];
            if (references.lists[i].num_active > kMostActive) return std::nullopt;
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(num_lists); ++i) read_list(bits, references.lists[i]);
        if (references.is_bidirectional ? pps.weights_b : pps.weights_p) {
            skip_weights(bits, references, num_lists, sps.chroma_format_idc != 0);
        }
    }
    if (!is_reference) return bits.ok() ? std::optional(std::move(references)) : std::nullopt;
    if (is_idr) {
        bits.skip(1);                                                 // no_output_of_prior_pics_flag
        if (bits.flag()) references.commands.push_back({.kind = 6});  // long_term_reference_flag
    } else if (bits.flag()) {
        references.slides = false;
        if (!read_commands(bits, references)) return std::nullopt;
    }
    return bits.ok() ? std::optional(std::move(references)) : std::nullopt;
}

void ReferenceMarks::lose() {
    for (const auto& entry : open_) {
        if (!entry.reaches) reaching_entries_.push_back(entry.packet);
    }
    forget();
    complete_ = false;
}

void ReferenceMarks::forget() {
    kept_.clear();
    open_.clear();
    complete_ = true;
}

std::vector<std::int64_t> ReferenceMarks::false_entries() const {
    auto entries = false_entries_;
    const auto num_reaching = reaching_entries_.size();
    const bool most_reach = num_reaching >= kFewestReaching && 2 * num_reaching > num_entries_;
    if (!most_reach) entries.insert(entries.end(), reaching_entries_.begin(), reaching_entries_.end());
    return entries;
}

ReferenceMarks::Place ReferenceMarks::find_short(std::uint32_t frame_num) {
    return std::ranges::find_if(kept_,
                                [&](const Kept& kept) { return !kept.long_index && kept.frame_num == frame_num; });
}

ReferenceMarks::Place ReferenceMarks::find_long(std::uint32_t index) {
    return std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.long_index == index; });
}

bool ReferenceMarks::add(const Picture& picture, std::span<const H264References> slices, const H264Sps& sps) {
    if (picture.is_idr) forget();
    judge_entries(picture, slices, sps);
    const auto& first = slices.front();
    bool fits = !complete_ || names_kept(picture, first, std::uint32_t{1} << sps.frame_num_bits);
    if (picture.is_reference) fits = mark(picture, first, sps) && fits;
    if (picture.is_open_entry) {
        std::erase_if(open_, [](const Entry& entry) { return entry.is_alone; });
        if (open_.size() == kMostOpenEntries) open_.erase(open_.begin());
        ++num_entries_;
        const bool has_lists = std::ranges::any_of(slices, &H264References::is_inter);
        if (has_lists) reaching_entries_.push_back(picture.packet);
        open_.push_back({.packet = picture.packet, .place = picture.place, .reaches = has_lists});
    }
    if (picture.is_reference) settle(sps);
    return fits;
}

void ReferenceMarks::settle(const H264Sps& sps) {
    const auto most_kept = static_cast<std::size_t>(sps.num_reference_frames);
    std::erase_if(open_, [&](Entry& entry) {
        const auto num_newer = static_cast<std::size_t>(
            std::ranges::count_if(kept_, [&](const Kept& kept) { return entry.is_newer(kept); }));
        entry.is_alone = entry.is_alone || (complete_ && num_newer == kept_.size());
        return num_newer >= most_kept;
    });
}

bool ReferenceMarks::doubts(std::int64_t place) const {
    return std::ranges::any_of(open_, [&](const Entry& entry) { return !entry.is_alone && place >= entry.place; });
}

/// Note [Open entries]
void ReferenceMarks::judge_entries(const Picture& picture, std::span<const H264References> slices, const H264Sps& sps) {
    for (auto& entry : open_) {
        const bool is_late = entry.is_alone && picture.is_reference && picture.place < entry.place;
        if (is_late && !std::exchange(entry.reaches, true)) reaching_entries_.push_back(entry.packet);
    }
    if (std::ranges::none_of(open_, [&](const Entry& entry) { return picture.place >= entry.place; })) return;
    std::vector<List> lists;
    for (const auto& slice : slices) {
        const std::size_t num_lists = slice.is_inter ? 1 + static_cast<std::size_t>(slice.is_bidirectional) : 0;
        for (std::size_t i = 0; i < num_lists; ++i) {
            lists.push_back(list_of(picture, slice, i, std::uint32_t{1} << sps.frame_num_bits));
        }
    }
    std::erase_if(open_, [&](Entry& entry) {
        if (picture.place < entry.place) return false;
        const auto is_older = [&](const Kept* kept) { return kept == nullptr || !entry.is_newer(*kept); };
        const bool reaches =
            std::ranges::any_of(lists, [&](const List& list) { return std::ranges::any_of(list.pictures, is_older); });
        const bool names = reaches && std::ranges::any_of(lists, [&](const List& list) {
                               return std::ranges::any_of(std::span(list.pictures).first(list.num_named), is_older);
                           });
        if (names || (reaches && entry.lost_newer)) {
            false_entries_.push_back(entry.packet);
            return true;
        }
        if (reaches && !std::exchange(entry.reaches, true)) reaching_entries_.push_back(entry.packet);
        return false;
    });
}

/// 8.2.4.2, as libavcodec does it. What else a decoder may keep that began at the key frame is at the end: libavcodec
/// makes up what it misses there, and the encoder's commands need not remove all of it.
std::vector<const ReferenceMarks::Kept*> ReferenceMarks::initial_list(const Picture& picture, bool is_bidirectional,
                                                                      std::size_t which) const {
    std::vector<const Kept*> list;
    for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
        if (!kept->long_index) list.push_back(&*kept);
    }
    const auto is_later = [&](const Kept* kept) { return kept->place > picture.place; };
    if (is_bidirectional) {
        // The nearest first: in the first list of those from before, and then of the others.
        std::ranges::stable_sort(list, {}, [&](const Kept* kept) {
            return std::pair(is_later(kept) == (which == 0), std::abs(kept->place - picture.place));
        });
        const auto same = std::ranges::unique(list, {}, [](const Kept* kept) { return kept->place; });
        list.erase(same.begin(), same.end());
    }
    const auto num_short = static_cast<std::ptrdiff_t>(list.size());
    const auto num_later = std::ranges::count_if(list, is_later);
    for (const auto& kept : kept_) {
        if (kept.long_index) list.push_back(&kept);
    }
    std::ranges::sort(list.begin() + num_short, list.end(), {}, [](const Kept* kept) { return *kept->long_index; });
    list.push_back(nullptr);
    const bool is_first_again = which == 1 && (num_later == 0 || num_later == num_short);
    if (is_first_again && list.size() > 1) std::swap(list[0], list[1]);
    return list;
}

/// 8.2.4.3
ReferenceMarks::List ReferenceMarks::list_of(const Picture& picture, const H264References& slice, std::size_t which,
                                             std::uint32_t range) {
    const auto& commands = slice.lists[which];
    List list{initial_list(picture, slice.is_bidirectional, which)};
    auto& pictures = list.pictures;
    for_each_named(picture, commands, range, [&](Place named) {
        const Kept* kept = named == kept_.end() ? nullptr : &*named;
        pictures.insert(pictures.begin() + static_cast<std::ptrdiff_t>(list.num_named), kept);
        ++list.num_named;
        const auto rest = pictures.begin() + static_cast<std::ptrdiff_t>(list.num_named);
        if (kept != nullptr) pictures.erase(std::remove(rest, pictures.end(), kept), pictures.end());
    });
    pictures.resize(std::min<std::size_t>(pictures.size(), commands.num_active));
    list.num_named = std::min(list.num_named, pictures.size());
    return list;
}

template <typename Visit>
void ReferenceMarks::for_each_named(const Picture& picture, const H264References::List& list, std::uint32_t range,
                                    Visit visit) {
    auto number = picture.frame_num;
    for (const auto& [kind, value] : list.commands) {
        constexpr std::uint32_t kLongTerm = 2;
        if (kind < kLongTerm) number = (kind == 0 ? number - value - 1 : number + value + 1) & (range - 1);
        visit(kind == kLongTerm ? find_long(value) : find_short(number));
    }
}

bool ReferenceMarks::names_kept(const Picture& picture, const H264References& references, std::uint32_t range) {
    bool kept = true;
    for (const auto& list : references.lists) {
        kept = kept && list.num_active <= kept_.size() + list.commands.size();
        for_each_named(picture, list, range, [&](Place named) { kept = kept && named != kept_.end(); });
    }
    return kept;
}

void ReferenceMarks::remove(Place at) {
    for (auto& entry : open_) entry.lost_newer = entry.lost_newer || entry.is_newer(*at);
    kept_.erase(at);
}

void ReferenceMarks::slide() {
    const auto oldest = std::ranges::find_if(kept_, [](const Kept& kept) { return !kept.long_index; });
    if (oldest != kept_.end()) kept_.erase(oldest);
}

bool ReferenceMarks::mark(const Picture& picture, const H264References& references, const H264Sps& sps) {
    const auto most_kept = static_cast<std::size_t>(sps.num_reference_frames);
    const auto range = std::uint32_t{1} << sps.frame_num_bits;
    Kept current{picture.packet, picture.frame_num, picture.place};
    bool fits = true;
    if (references.slides && !picture.is_idr && kept_.size() >= most_kept) slide();
    for (const auto& command : references.commands) {
        const auto named = find_short((picture.frame_num - command.difference) & (range - 1));
        const auto of_index = find_long(command.long_index);
        switch (command.kind) {
            case 1:
                fits = fits && named != kept_.end();
                if (named != kept_.end()) remove(named);
                break;
            case 2:
                if (of_index != kept_.end()) remove(of_index);
                break;
            case 3:
                fits = fits && (named != kept_.end() || of_index != kept_.end());
                if (named == kept_.end()) break;
                named->long_index = command.long_index;
                if (of_index != kept_.end()) remove(of_index);
                break;
            case 4:
                std::erase_if(kept_, [&](const Kept& kept) { return kept.long_index >= command.long_index; });
                break;
            case 5:
                forget();
                current.frame_num = 0;
                break;
            default:
                if (of_index != kept_.end()) remove(of_index);
                current.long_index = command.long_index;
                break;
        }
    }
    const auto same = find_short(current.frame_num);
    if (!current.long_index && same != kept_.end()) kept_.erase(same);
    kept_.push_back(current);
    if (kept_.size() > std::max<std::size_t>(most_kept, 1)) {
        fits = false;
        slide();
        if (kept_.size() > kMostKept) kept_.erase(kept_.begin());  // all are long-term pictures
    }
    return fits || !complete_;
}

}  // namespace tricodec
