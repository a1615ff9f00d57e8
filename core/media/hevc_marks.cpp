// SPDX-License-Identifier: Apache-2.0
#include "media/hevc_marks.h"

#include <algorithm>

namespace tricodec {

bool HevcMarks::add(const Picture& picture, int order_bits) {
    judge_entries(picture);
    if (picture.is_open_entry && !picture.restarts) entries_.emplace_back(picture.packet, picture.place);
    const bool fits = mark(picture, std::int64_t{1} << order_bits);
    // Decoders may find a picture that is not kept any more, but still waits to be shown.
    for (; !fits && !entries_.empty(); entries_.pop_back()) false_entries_.push_back(entries_.back().first);
    return fits;
}

void HevcMarks::judge_entries(const Picture& picture) {
    if (picture.restarts) entries_.clear();
    const auto follows = [&] { return !entries_.empty() && picture.place > entries_.back().second; };
    const auto pop = [&] {
        false_entries_.push_back(entries_.back().first);
        entries_.pop_back();
    };
    // Decoders that begin at a key frame leave out its leading pictures, even those that claim to be shown after it.
    if (picture.is_leading && follows()) pop();
    if (picture.is_leading || picture.is_irap) return;
    const auto reaches = [&](const HevcReference& named) {
        return named.used && picture.place + named.distance < entries_.back().second;
    };
    while (follows() && (!picture.references || std::ranges::any_of(*picture.references, reaches))) pop();
}

bool HevcMarks::mark(const Picture& picture, std::int64_t range) {
    const bool is_first = state_ == State::unknown || !picture.references;
    if (picture.restarts || (picture.is_irap && is_first)) {
        state_ = picture.is_idr ? State::known : State::broken;
        kept_.assign(1, picture.place);
        return true;
    }
    if (is_first) {
        lose();
        return true;
    }
    if (picture.is_rasl && state_ == State::broken) return true;
    if (picture.is_irap) state_ = State::known;
    bool has_all = true;
    std::vector<std::int64_t> kept{picture.place};
    for (const auto& named : *picture.references) {
        const auto place = picture.place + named.distance;
        const auto found = std::ranges::find_if(
            kept_, [&](std::int64_t other) { return named.by_low ? (other - place) % range == 0 : other == place; });
        has_all = has_all && found != kept_.end();
        kept.push_back(found == kept_.end() ? place : *found);  // decoders make up what is missing
    }
    kept_ = std::move(kept);
    // A key frame names what its leading pictures refer to. Decoders do not complain before those do.
    return has_all || picture.is_irap || (picture.is_leading && state_ == State::broken);
}

void HevcMarks::lose() {
    kept_.clear();
    state_ = State::unknown;
}

}  // namespace tricodec
