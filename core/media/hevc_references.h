// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "media/bit_reader.h"

namespace tricodec {

/// A picture of a reference picture set of HEVC.
struct HevcReference {
    std::int64_t distance = 0;  ///< in the order of showing
    bool used = false;          ///< by the picture that has the set; the others are kept for later ones
    bool by_low = false;  ///< only the low bits of its number are known, and this is the nearest that is shown before
};

/// A short-term reference picture set of HEVC (7.4.8).
struct HevcReferenceSet {
    std::vector<HevcReference> before;  ///< the nearest first
    std::vector<HevcReference> after;
};

/// The reference sets of a sequence parameter set (7.3.2.2).
struct HevcReferenceSets {
    struct LongTerm {
        std::uint32_t low = 0;  ///< lt_ref_pic_poc_lsb_sps
        bool used = false;
    };
    std::vector<HevcReferenceSet> short_term;
    bool has_long_term = false;
    std::vector<LongTerm> long_term{};
};

/// Reads st_ref_pic_set() (7.3.7) of the number `sets.size()`, in a slice or a sequence parameter set. Nothing if it is
/// damaged.
[[nodiscard]] std::optional<HevcReferenceSet> read_hevc_reference_set(BitReader& bits,
                                                                      const std::vector<HevcReferenceSet>& sets,
                                                                      bool in_slice);

/// Reads the sets of a sequence parameter set, from after the sizes of the picture buffer on. Nothing if they are
/// damaged. `order_bits` is the length of slice_pic_order_cnt_lsb.
[[nodiscard]] std::optional<HevcReferenceSets> read_hevc_reference_sets(BitReader& bits, int order_bits);

/// What a slice's header says after slice_pic_order_cnt_lsb, which is `low` (7.3.6.1). Nothing if it is damaged.
[[nodiscard]] std::optional<std::vector<HevcReference>> read_hevc_references(BitReader& bits,
                                                                             const HevcReferenceSets& sets,
                                                                             int order_bits, std::int64_t low);

}  // namespace tricodec
