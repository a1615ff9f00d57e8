// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "media/hevc_references.h"

namespace tricodec {

/// Which pictures a decoder of HEVC keeps for reference (8.3.2), by the headers of slices.
///
/// A picture names all pictures that stay. One that names a picture which is not there is damaged. A decoder that
/// began at an open key frame cannot tell it from a picture that it did not get.
class HevcMarks {
public:
    struct Picture {
        std::int64_t packet = 0;
        std::int64_t place = 0;  ///< in the order of showing
        bool is_irap = false;    ///< a key frame of any kind
        bool is_idr = false;
        bool restarts = false;       ///< an IDR picture or a broken link: nothing from before stays
        bool is_leading = false;     ///< by its type
        bool is_rasl = false;        ///< a leading picture that decoders leave out after a broken link
        bool is_open_entry = false;  ///< in doubt
        /// What it names, as a distance from its place. Nothing if its header cannot be read.
        std::optional<std::vector<HevcReference>> references{};
    };
    /// Of all pictures in their order, from the first or a key frame on. False if one is missing that a picture names.
    [[nodiscard]] bool add(const Picture& picture, int order_bits);
    /// A picture is not known: neither is what is kept, until the next key frame.
    void lose();
    /// Packets of open entries from which decoding gives other pictures: one that is shown after the key frame refers
    /// to one that is shown before it (7.4.8).
    [[nodiscard]] const std::vector<std::int64_t>& false_entries() const noexcept { return false_entries_; }

private:
    enum class State : std::uint8_t {
        unknown,
        broken,  // since a key frame before which nothing is known: its leading pictures may name what is missing
        known,
    };
    void judge_entries(const Picture& picture);
    [[nodiscard]] bool mark(const Picture& picture, std::int64_t range);

    State state_ = State::unknown;
    std::vector<std::int64_t> kept_;                              // places
    std::vector<std::pair<std::int64_t, std::int64_t>> entries_;  // in doubt: packets and places
    std::vector<std::int64_t> false_entries_;
};

}  // namespace tricodec
