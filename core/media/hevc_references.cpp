// SPDX-License-Identifier: Apache-2.0
#include "media/hevc_references.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tricodec {
namespace {

using References = std::vector<HevcReference>;

constexpr std::uint32_t kMostReferences = 16;
constexpr std::uint32_t kMostSets = 64;
constexpr std::uint32_t kMostLongTerm = 32;
constexpr std::uint32_t kLongestStep = 1 << 15;

/// scaling_list_data() (7.3.4).
void skip_scaling_lists(BitReader& bits) {
    for (int size = 0; size < 4; ++size) {
        for (int matrix = 0; matrix < 6 && bits.ok(); matrix += size == 3 ? 3 : 1) {
            if (!bits.flag()) {
                (void)bits.exp_golomb();
                continue;
            }
            const int numbers = std::min(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0);
            for (int i = 0; i < numbers && bits.ok(); ++i) (void)bits.signed_exp_golomb();
        }
    }
}

bool read_explicit(BitReader& bits, std::uint32_t count, int sign, References& references) {
    int distance = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto step = bits.exp_golomb();
        if (step >= kLongestStep) return false;
        distance += sign * (static_cast<int>(step) + 1);
        const bool used = bits.flag();
        references.push_back({distance, used});
    }
    return bits.ok();
}

/// (7-61) and (7-62): the pictures of another set, moved.
bool read_predicted(BitReader& bits, const std::vector<HevcReferenceSet>& sets, bool in_slice, HevcReferenceSet& set) {
    const auto back = in_slice ? bits.exp_golomb() : 0;
    const bool negative = bits.flag();
    const auto step = bits.exp_golomb();
    if (back >= sets.size() || step >= kLongestStep) return false;
    const auto& other = sets[sets.size() - 1 - back];
    const int moved = (negative ? -1 : 1) * (static_cast<int>(step) + 1);
    References all = other.before;
    all.insert(all.end(), other.after.begin(), other.after.end());
    all.push_back({0, false});
    for (auto& reference : all) {
        reference.distance += moved;
        reference.used = bits.flag();
        if (!reference.used && !bits.flag()) reference.distance = 0;  // not in this set
    }
    for (const auto& reference : all) {
        if (reference.distance < 0) set.before.push_back(reference);
        if (reference.distance > 0) set.after.push_back(reference);
    }
    std::ranges::sort(set.before, std::ranges::greater{}, &HevcReference::distance);
    std::ranges::sort(set.after, {}, &HevcReference::distance);
    return bits.ok() && set.before.size() + set.after.size() <= kMostReferences;
}

std::uint32_t read_index(BitReader& bits, std::size_t count) {
    return count > 1 ? bits.bits(static_cast<int>(std::bit_width(count - 1))) : 0;
}

/// The long-term pictures. False if they are damaged.
bool read_long_term(BitReader& bits, const HevcReferenceSets& sets, int order_bits, std::int64_t low,
                    std::vector<HevcReference>& all) {
    const auto range = std::int64_t{1} << order_bits;
    const auto num_listed = sets.long_term.empty() ? 0 : bits.exp_golomb();
    const auto num_named = bits.exp_golomb();
    if (!bits.ok() || num_listed > kMostLongTerm || num_named > kMostLongTerm) return false;
    std::int64_t cycles = 0;
    for (std::uint32_t i = 0; i < num_listed + num_named; ++i) {
        HevcReferenceSets::LongTerm picture;
        if (i < num_listed) {
            const auto index = read_index(bits, sets.long_term.size());
            if (index >= sets.long_term.size()) return false;
            picture = sets.long_term[index];
        } else {
            picture.low = bits.bits(order_bits);
            picture.used = bits.flag();
        }
        if (i == 0 || i == num_listed) cycles = 0;
        auto distance = std::int64_t{picture.low} - low;
        const bool by_low = !bits.flag();
        if (!by_low) {
            cycles += bits.exp_golomb();
            distance -= cycles * range;
        } else if (distance >= 0) {
            distance -= range;
        }
        all.push_back({distance, picture.used, by_low});
    }
    return bits.ok();
}

}  // namespace

std::optional<HevcReferenceSet> read_hevc_reference_set(BitReader& bits, const std::vector<HevcReferenceSet>& sets,
                                                        bool in_slice) {
    HevcReferenceSet set;
    if (!sets.empty() && bits.flag()) {
        return read_predicted(bits, sets, in_slice, set) ? std::optional(std::move(set)) : std::nullopt;
    }
    const auto num_before = bits.exp_golomb();
    const auto num_after = bits.exp_golomb();
    if (!bits.ok() || num_before > kMostReferences || num_after > kMostReferences - num_before) return std::nullopt;
    const bool whole = read_explicit(bits, num_before, -1, set.before) && read_explicit(bits, num_after, 1, set.after);
    return whole ? std::optional(std::move(set)) : std::nullopt;
}

std::optional<HevcReferenceSets> read_hevc_reference_sets(BitReader& bits, int order_bits) {
    for (int i = 0; i < 6; ++i) (void)bits.exp_golomb();  // sizes of blocks
    if (bits.flag() && bits.flag()) skip_scaling_lists(bits);
    bits.skip(2);  // asymmetric partitions, sample adaptive offset
    if (bits.flag()) {
        bits.skip(8);
        for (int i = 0; i < 2; ++i) (void)bits.exp_golomb();
        bits.skip(1);
    }
    const auto count = bits.exp_golomb();
    if (!bits.ok() || count > kMostSets) return std::nullopt;
    HevcReferenceSets sets;
    for (std::uint32_t i = 0; i < count; ++i) {
        auto set = read_hevc_reference_set(bits, sets.short_term, false);
        if (!set) return std::nullopt;
        sets.short_term.push_back(*std::move(set));
    }
    sets.has_long_term = bits.flag();
    const auto num_long_term = sets.has_long_term ? bits.exp_golomb() : 0;
    if (num_long_term > kMostLongTerm) return std::nullopt;
    for (std::uint32_t i = 0; i < num_long_term; ++i) {
        const auto low = bits.bits(order_bits);
        sets.long_term.push_back({low, bits.flag()});
    }
    return bits.ok() ? std::optional(std::move(sets)) : std::nullopt;
}

std::optional<std::vector<HevcReference>> read_hevc_references(BitReader& bits, const HevcReferenceSets& sets,
                                                               int order_bits, std::int64_t low) {
    std::vector<HevcReference> all;
    const auto add = [&](const HevcReferenceSet& set) {
        all.insert(all.end(), set.before.begin(), set.before.end());
        all.insert(all.end(), set.after.begin(), set.after.end());
    };
    if (bits.flag()) {
        const auto index = read_index(bits, sets.short_term.size());
        if (index >= sets.short_term.size()) return std::nullopt;
        add(sets.short_term[index]);
    } else {
        const auto set = read_hevc_reference_set(bits, sets.short_term, true);
        if (!set) return std::nullopt;
        add(*set);
    }
    if (sets.has_long_term && !read_long_term(bits, sets, order_bits, low, all)) return std::nullopt;
    return bits.ok() ? std::optional(std::move(all)) : std::nullopt;
}

}  // namespace tricodec
