// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "media/bit_reader.h"

namespace tricodec {

/// A short-term reference picture set of HEVC (7.4.8): pictures by their distance in the order of showing.
struct HevcReferenceSet {
    struct Reference {
        int distance = 0;
        bool used = false;  ///< by the picture that has the set; the others are kept for later ones
    };
    std::vector<Reference> before;  ///< the nearest first
    std::vector<Reference> after;

    /// The distance of the used reference that is shown first; 0 if all are shown later.
    [[nodiscard]] int earliest() const;
};

/// Reads st_ref_pic_set() (7.3.7) of the number `sets.size()`, in a slice or a sequence parameter set. Nothing if it is
/// damaged.
[[nodiscard]] std::optional<HevcReferenceSet> read_hevc_reference_set(BitReader& bits,
                                                                      const std::vector<HevcReferenceSet>& sets,
                                                                      bool in_slice);

/// Reads the sets of a sequence parameter set, from after the sizes of the picture buffer on (7.3.2.2). Nothing if they
/// are damaged.
[[nodiscard]] std::optional<std::vector<HevcReferenceSet>> read_hevc_reference_sets(BitReader& bits);

/// What a slice's header says after slice_pic_order_cnt_lsb: one of `sets`, or a set of its own.
[[nodiscard]] std::optional<HevcReferenceSet> read_hevc_slice_references(BitReader& bits,
                                                                         const std::vector<HevcReferenceSet>& sets);

}  // namespace tricodec
