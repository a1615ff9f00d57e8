// SPDX-License-Identifier: Apache-2.0
#include "media/sample_claims.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "media/mp4_boxes.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

/// Note [Boxes anywhere]
///
/// libavformat reads a box by its name wherever it meets one, in boxes of any kind and of wrong sizes. So this looks
/// for the names in all bytes but media data, and not for the boxes that ISO/IEC 14496-12 has in their places.
///
/// Media data are the `mdat` boxes at the top of the file. libavformat walks over the boxes there from the start of the
/// file, and from where a list of fragments (`sidx`, `tfra`) leads. If a list leads into a box, the walk from there may
/// take media data for boxes: from then on this looks at them, too. A list that leads back into what was passed over is
/// an error.

using mp4::number;

constexpr std::uint64_t kAlwaysAllowed = 1 << 20;     // 24 MB
constexpr std::uint64_t kEditsAllowed = 1 << 24;      // of a track: samples times edits
constexpr std::uint64_t kSamplesOfIndexEntry = 1024;  // of sound that is counted
constexpr std::size_t kMostKept = 1 << 21;            // libavformat looks at 1 MB to find the format
constexpr std::size_t kMostRoots = 1 << 20;
constexpr std::int64_t kLargestTable = std::int64_t{256} << 20;
constexpr std::size_t kNameBytes = 4;
constexpr std::size_t kMostHeader = 16;  // of a box
constexpr std::size_t kHeadBytes = 20;   // of a payload: the numbers at its start
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

constexpr std::array<std::string_view, 12> kNames = {"trun", "stsz", "stts", "stsc", "stco", "co64",
                                                     "ctts", "elst", "sbgp", "sidx", "tfra", "cmov"};
/// Of a segment of an index table: SMPTE 377-1, 11.1.
constexpr std::string_view kIndexKey("\x06\x0e\x2b\x34\x02\x53\x01\x01\x0d\x01\x02\x01\x01\x10\x01\x00", 16);
constexpr std::uint64_t kIndexDuration = 0x3f0d;

constexpr std::size_t kBlock = 64;

/// False if no name starts at the first bytes of so many: each letter and digit of the names has the bit 0x20, which
/// one of four bytes in a row lacks nearly always in a table of numbers.
bool may_have_names(const std::uint8_t* bytes) {
    std::uint8_t found = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
        found |= static_cast<std::uint8_t>(bytes[i] & bytes[i + 1] & bytes[i + 2] & bytes[i + 3]);
    }
    return (found & 0x20U) != 0;
}

std::string_view text(SampleClaims::Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The names as numbers, which compare faster.
constexpr auto kNameNumbers = [] {
    std::array<std::uint32_t, kNames.size()> numbers{};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        for (const char letter : kNames[i]) numbers[i] = numbers[i] << 8 | static_cast<unsigned char>(letter);
    }
    return numbers;
}();

/// True if the bytes start with the header of a box of one of the names.
bool is_box(SampleClaims::Bytes bytes) {
    const auto name = static_cast<std::uint32_t>(number(bytes, kNameBytes));
    std::uint32_t found = 0;
    for (const auto each : kNameNumbers) found |= static_cast<std::uint32_t>(each == name);
    return found != 0;
}

}  // namespace

bool SampleClaims::set_format(ByteReader* reader, std::string_view demuxer_name) {
    format_ = demuxer_name.starts_with("mov,") ? Format::mov : demuxer_name == "mxf" ? Format::mxf : Format::other;
    moved_ = false;
    if (format_ != Format::other) look(reader, 0, kept_);
    kept_ = {};
    return moved_;
}

bool SampleClaims::see(ByteReader* reader, std::int64_t position, Bytes bytes) {
    if (format_ == Format::other) return false;
    if (format_ == Format::unknown) {
        if (position == static_cast<std::int64_t>(kept_.size()) && kept_.size() < kMostKept) {
            kept_.insert(kept_.end(), bytes.begin(), bytes.end());
        }
        return false;
    }
    moved_ = false;
    look(reader, position, bytes);
    return moved_;
}

/// Those bytes of a position, or more of the source from there on if they are too few and it can be read.
std::vector<std::uint8_t> SampleClaims::at_least(ByteReader* reader, std::int64_t position, Bytes bytes,
                                                 std::uint64_t count) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(count, kLargestTable));
    if (bytes.size() < wanted && reader != nullptr) {
        moved_ = true;
        return mp4::read_at(*reader, position, wanted);
    }
    bytes = bytes.first(std::min(wanted, bytes.size()));
    return {bytes.begin(), bytes.end()};
}

void SampleClaims::look(ByteReader* reader, std::int64_t position, Bytes bytes) {
    if (position != end_) {
        edge_.clear();
        header_.clear();
        const bool is_root = roots_.contains(position);
        has_gaps_ = has_gaps_ || (is_root && position > header_at_);
        if (is_root) header_at_ = position;
    }
    end_ = position + static_cast<std::int64_t>(bytes.size());
    if (format_ == Format::mxf) return scan(reader, position, bytes);
    while (!bytes.empty()) {
        auto count = bytes.size();
        if (const auto end = end_of_media(position)) {
            expect_no_hidden_list(reader, bytes);
            count = static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(count), *end - position));
            edge_.clear();
        } else {
            if (position == header_at_ + static_cast<std::int64_t>(header_.size())) {
                count = collect_header(bytes);
            } else if (position < header_at_) {
                count = static_cast<std::size_t>(
                    std::min<std::int64_t>(static_cast<std::int64_t>(count), header_at_ - position));
            }
            scan(reader, position, bytes.first(count));
        }
        bytes = bytes.subspan(count);
        position += static_cast<std::int64_t>(count);
    }
}

std::optional<std::int64_t> SampleClaims::end_of_media(std::int64_t position) const {
    auto found = media_.upper_bound(position);
    if (found == media_.begin()) return std::nullopt;
    --found;
    return position < found->second ? std::optional(found->second) : std::nullopt;
}

/// Takes the bytes of the header of a box at the top, and notes the box once they are there. Returns how many.
std::size_t SampleClaims::collect_header(Bytes bytes) {
    const auto before = header_.size();
    for (const auto byte : bytes) {
        header_.push_back(byte);
        const bool is_long = header_.size() >= kNameBytes && number(header_, 0) == 1;
        if (header_.size() < (is_long ? mp4::kLongHeaderBytes : mp4::kHeaderBytes)) continue;
        const auto start = header_at_;
        const auto box = mp4::read_header(header_, static_cast<std::uint64_t>(kEnd - start));
        // libavformat reads no more boxes after one of an impossible size.
        header_at_ = box ? start + static_cast<std::int64_t>(box->length) : kEnd;
        add_top_box(start, box ? box->name : "");
        const auto taken = header_.size() - before;
        header_.clear();
        return taken;
    }
    return bytes.size();
}

/// A box from `start` to `header_at_`.
void SampleClaims::add_top_box(std::int64_t start, std::string_view name) {
    tops_.insert(start);
    const auto root = roots_.upper_bound(start);
    if (root != roots_.end() && *root < header_at_ && header_at_ != kEnd) trusts_boxes_ = false;
    const auto begin = start + static_cast<std::int64_t>(header_.size());
    if (name == "mdat" && trusts_boxes_ && begin < header_at_) media_.insert_or_assign(begin, header_at_);
}

/// libavformat looks for the list of all fragments where the last number of the file says that it is.
void SampleClaims::expect_no_hidden_list(ByteReader* reader, Bytes bytes) {
    if (reader != nullptr && bytes.size() >= mp4::kHeaderBytes) {
        TRICODEC_EXPECT(text(bytes.subspan(kNameBytes, kNameBytes)) != "mfra", corrupt_data,
                        "'" + name_ + "' lists its fragments inside of its media data; copy or record it again");
    }
}

/// In short pieces, too: what may begin at the end of one is looked at again with the next.
void SampleClaims::scan(ByteReader* reader, std::int64_t position, Bytes bytes) {
    const bool is_mxf = format_ == Format::mxf;
    const std::size_t least = is_mxf ? kIndexKey.size() : mp4::kHeaderBytes;
    const auto is_found = [&](Bytes at) { return is_mxf ? text(at).starts_with(kIndexKey) : is_box(at); };
    constexpr std::size_t kJoint = kMostHeader + kHeadBytes;

    auto at = position - static_cast<std::int64_t>(edge_.size());
    const auto num_before = edge_.size();
    edge_.insert(edge_.end(), bytes.begin(),
                 bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), kJoint)));
    const bool is_short = bytes.size() < kJoint;
    const auto num_starts = is_short ? edge_.size() : num_before;
    auto rest = edge_.size() < least ? 0 : edge_.size() - least + 1;
    for (std::size_t i = 0; i < num_starts && i + least <= edge_.size(); ++i) {
        const auto found = Bytes(edge_).subspan(i);
        if (is_found(found) && !examine(reader, at + static_cast<std::int64_t>(i), found)) rest = std::min(rest, i);
    }
    if (is_short) {
        edge_.erase(edge_.begin(), edge_.begin() + static_cast<std::ptrdiff_t>(rest));
        return;
    }
    rest = bytes.size() - least + 1;
    at = position;
    if (is_mxf) {
        for (auto i = text(bytes).find(kIndexKey); i != std::string_view::npos;
             i = text(bytes).find(kIndexKey, i + 1)) {
            if (!examine(reader, at + static_cast<std::int64_t>(i), bytes.subspan(i))) rest = std::min(rest, i);
        }
    } else {
        const auto num_starts_here = bytes.size() - least + 1;
        for (std::size_t block = 0; block < num_starts_here; block += kBlock) {
            const bool is_whole = block + kBlock + least <= bytes.size();
            if (is_whole && !may_have_names(bytes.data() + block + kNameBytes)) continue;
            for (auto i = block; i < std::min(block + kBlock, num_starts_here); ++i) {
                const auto found = bytes.subspan(i);
                const bool may_be = (found[4] & found[5] & found[6] & found[7] & 0x20U) != 0;
                if (may_be && is_found(found) && !examine(reader, at + static_cast<std::int64_t>(i), found)) {
                    rest = std::min(rest, i);
                }
            }
        }
    }
    edge_.assign(bytes.begin() + static_cast<std::ptrdiff_t>(rest), bytes.end());
}

bool SampleClaims::examine(ByteReader* reader, std::int64_t position, Bytes bytes) {
    if (format_ == Format::mxf) {
        examine_mxf_index(reader, position, bytes);
        return true;
    }
    const auto name = text(bytes.subspan(kNameBytes, kNameBytes));
    const std::size_t header_bytes = number(bytes, 0) == 1 ? mp4::kLongHeaderBytes : mp4::kHeaderBytes;
    const std::size_t needed = header_bytes + (name == "trun"      ? 8
                                               : name == "stsz"    ? 12
                                               : reader == nullptr ? kHeadBytes
                                                                   : 0);
    if (bytes.size() < needed) return false;
    if (name == "sidx" && !tops_.contains(position)) trusts_boxes_ = false;  // it counts from the end of its parent
    examine_box(reader, position + static_cast<std::int64_t>(header_bytes), name, bytes.subspan(header_bytes));
    return true;
}

/// `payload`: as much of it as is at hand, from `position` on.
void SampleClaims::examine_box(ByteReader* reader, std::int64_t position, std::string_view name, Bytes payload) {
    if (name == "trun") return add_fragment_run(position, payload);
    if (name == "stsz") {
        const auto count = number(payload, 8);
        most_samples_ = std::max(most_samples_, count);
        if (number(payload, 4) != 0) claim(position, count);
        return expect_few_edits();
    }
    TRICODEC_EXPECT(
        name != "cmov", refused,
        "'" + name_ +
            "' has a compressed index ('cmov', of QuickTime before 2005), which is not read, because it may "
            "be of any size; pass a copy: ffmpeg -i IN -c copy OUT.mov");
    if (name == "sidx") return add_roots_of_sidx(reader, position, payload);
    if (name == "tfra") return add_roots_of_tfra(reader, position, payload);
    const auto head = at_least(reader, position, payload, kHeadBytes);
    const auto count = number(head, 4);
    if (name == "elst") {
        most_edits_ = std::max(most_edits_, count);
        expect_few_edits();
    } else if (name == "ctts") {
        composition_offsets_ = position;
        if (has_sync_groups_) expect_short_runs(reader, position, false);
    } else if (name == "sbgp") {
        if (text(head).substr(4, kNameBytes) != "sync") return;
        has_sync_groups_ = true;
        expect_short_runs(reader, position, true);
        if (composition_offsets_) expect_short_runs(reader, *composition_offsets_, false);
    } else {
        if (name == "stts") counts_sound_ = counts_sound_ || (count == 1 && number(head, 12) == 1);
        if (name == "stsc") chunk_runs_ = position;
        if (name == "stco" || name == "co64") num_chunks_ = std::max(num_chunks_, count);
        expect_few_chunks(reader);
    }
}

void SampleClaims::add_fragment_run(std::int64_t position, Bytes run) {
    const auto count = number(run, 4);
    const auto bytes_each = 4 * static_cast<std::uint64_t>(std::popcount(number(run, 0) & 0xf00U));
    std::uint64_t listed = 0;
    if (bytes_each > 0) {
        const auto size = size_();
        listed = size ? static_cast<std::uint64_t>(std::max<std::int64_t>(*size - position, 0)) / bytes_each
                      : kAlwaysAllowed;
    }
    if (count > listed) claim(position, count - listed);
}

void SampleClaims::claim(std::int64_t position, std::uint64_t num_samples) {
    if (!claims_.emplace(position, num_samples).second) return;  // read again
    num_claimed_ += num_samples;
    if (num_claimed_ > most(position)) refuse(num_claimed_, "samples of one size", most(position));
}

std::uint64_t SampleClaims::most(std::int64_t position) const {
    const auto size = size_();
    if (size) return kAlwaysAllowed + static_cast<std::uint64_t>(*size);
    return std::max(kAlwaysAllowed + static_cast<std::uint64_t>(position),
                    static_cast<std::uint64_t>(limits().max_packets));
}

void SampleClaims::refuse(std::uint64_t count, const std::string& what, std::uint64_t most) const {
    const auto size = size_();
    if (!size) {
        fail(ErrorCode::refused, "'" + name_ + "' claims " + std::to_string(count) + " " + what +
                                     ", more than limits.max_packets = " + std::to_string(limits().max_packets) +
                                     "; pass a file that can seek, or raise the limit");
    }
    fail(ErrorCode::corrupt_data, "'" + name_ + "' claims " + std::to_string(count) + " " + what + ", but its " +
                                      std::to_string(*size) + " bytes hold at most " + std::to_string(most) +
                                      "; its headers are damaged: copy or record it again");
}

/// libavformat lists a sample for each edit that shows it.
void SampleClaims::expect_few_edits() {
    const auto most = kEditsAllowed + 8 * static_cast<std::uint64_t>(std::max<std::int64_t>(size_().value_or(0), 0));
    if (most_edits_ < 2 || most_samples_ <= most / most_edits_) return;
    refuse(most_samples_ * most_edits_, "samples in edit lists", most);
}

/// libavformat lists sound that is counted in ticks by parts of its chunks, as `stsc` states them.
void SampleClaims::expect_few_chunks(ByteReader* reader) {
    if (!counts_sound_ || !chunk_runs_ || num_chunks_ == 0 || reader == nullptr) return;
    const auto count = number(at_least(reader, *chunk_runs_, {}, kHeadBytes), 4);
    const auto table = at_least(reader, *chunk_runs_ + 8, {}, 12 * count);
    std::uint64_t total = 0;
    for (std::size_t at = 0; at + 12 <= table.size(); at += 12) {
        const auto first = number(table, at);
        const auto next = at + 24 <= table.size() ? number(table, at + 12) : num_chunks_ + 1;
        const auto entries = (number(table, at + 4) + kSamplesOfIndexEntry - 1) / kSamplesOfIndexEntry;
        if (next > first) total += (next - first) * entries;
    }
    if (total > most(*chunk_runs_)) refuse(total, "pieces of sound", most(*chunk_runs_));
}

/// If groups of samples are marked as open groups of pictures, libavformat lists the samples of `ctts` and `sbgp`.
void SampleClaims::expect_short_runs(ByteReader* reader, std::int64_t position, bool is_group) {
    if (reader == nullptr) return;
    const auto head = at_least(reader, position, {}, kHeadBytes);
    const std::size_t at_count = !is_group ? 4 : number(head, 0, 1) == 1 ? 12 : 8;
    const auto begin = position + static_cast<std::int64_t>(at_count) + 4;
    const auto table = at_least(reader, begin, {}, 8 * number(head, at_count));
    std::uint64_t total = 0;
    for (std::size_t at = 0; at + 8 <= table.size(); at += 8) total += number(table, at);
    if (total > most(position)) refuse(total, "samples in runs", most(position));
}

/// The places count from the end of the box, which is the end of its list.
void SampleClaims::add_roots_of_sidx(ByteReader* reader, std::int64_t position, Bytes payload) {
    constexpr std::size_t kLongest = 32 + 12 * std::size_t{0xffff};
    const bool is_long = number(payload, 0, 1) == 1;
    const std::size_t begin = is_long ? 32 : 24;
    const auto head = at_least(reader, position, payload, begin);
    const auto count = static_cast<std::size_t>(number(head, begin - 2, 2));
    const auto box = at_least(reader, position, payload, std::min(kLongest, begin + 12 * count));
    const auto end = position + static_cast<std::int64_t>(begin + 12 * count);
    if (header_at_ != end) trusts_boxes_ = false;
    auto place = static_cast<std::uint64_t>(end) + (is_long ? number(box, 20, 8) : number(box, 16));
    for (std::size_t i = 0; i < count; ++i) {
        add_root(place);
        place += number(box, begin + 12 * i) & 0x7fffffffU;
    }
}

void SampleClaims::add_roots_of_tfra(ByteReader* reader, std::int64_t position, Bytes payload) {
    constexpr std::size_t kBegin = 16;
    const auto head = at_least(reader, position, payload, kBegin);
    const bool is_long = number(head, 0, 1) == 1;
    const auto sizes = number(head, 8);
    const std::size_t entry = (is_long ? 16 : 8) + (sizes >> 4 & 3) + (sizes >> 2 & 3) + (sizes & 3) + 3;
    const auto box = at_least(reader, position, payload, kBegin + entry * number(head, 12));
    for (auto at = kBegin; at + entry <= box.size(); at += entry) {
        add_root(is_long ? number(box, at + 8, 8) : number(box, at + 4));
    }
}

void SampleClaims::add_root(std::uint64_t place) {
    if (place >= static_cast<std::uint64_t>(kEnd)) return;
    const auto root = static_cast<std::int64_t>(place);
    const bool was_passed = !has_gaps_ && header_at_ != kEnd && root < header_at_ && !tops_.contains(root);
    TRICODEC_EXPECT(!was_passed && !end_of_media(root) && roots_.size() < kMostRoots, corrupt_data,
                    "'" + name_ + "' lists a fragment at byte " + std::to_string(root) +
                        ", where none can begin; copy or record it again");
    roots_.insert(root);
}

void SampleClaims::examine_mxf_index(ByteReader* reader, std::int64_t position, Bytes bytes) {
    constexpr std::uint64_t kLargestSegment = 1 << 24;
    const auto head = at_least(reader, position, bytes, kIndexKey.size() + 9);
    const auto form = number(head, kIndexKey.size(), 1);
    const auto num_length = form >= 0x80 ? std::min<std::uint64_t>(form & 0x7f, 8) : 0;  // bytes of the length
    const auto length = num_length == 0 ? form : number(head, kIndexKey.size() + 1, num_length);
    const auto begin = kIndexKey.size() + 1 + num_length;
    const auto set = at_least(reader, position, bytes, begin + std::min(length, kLargestSegment));
    for (std::size_t at = begin; at + 4 <= set.size(); at += 4 + number(set, at + 2, 2)) {
        if (number(set, at, 2) == kIndexDuration)
            claim(position + static_cast<std::int64_t>(at), number(set, at + 4, 8));
    }
}

}  // namespace tricodec
