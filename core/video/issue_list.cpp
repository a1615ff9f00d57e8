// SPDX-License-Identifier: Apache-2.0
#include "video/issue_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tricodec {

void RecentIssues::add(DecodeIssue issue) {
    ++num_met_;
    if (kept_.size() == kMostIssues) kept_.pop_front();
    kept_.push_back(std::move(issue));
}

std::vector<DecodeIssue> new_issues(const Decoder& decoder, std::int64_t& num_known) {
    const auto total = decoder.num_issues();
    const auto& kept = decoder.issues();
    const auto num_new = std::min(std::max<std::int64_t>(0, total - num_known), static_cast<std::int64_t>(kept.size()));
    num_known = total;
    return {std::prev(kept.end(), static_cast<std::ptrdiff_t>(num_new)), kept.end()};
}

bool StreamIssues::add(DecodeIssue issue) {
    if (issue.tag >= 0) {
        const auto packet = static_cast<std::size_t>(issue.tag);
        if (packet >= damaged_.size()) damaged_.resize(packet + 1);
        if (damaged_[packet]) return false;
        damaged_[packet] = true;
        issue.packet_number = issue.tag;
    }
    ++num_packets_;
    if (kept_.size() < kMostIssues) kept_.push_back(std::move(issue));
    return true;
}

void StreamIssues::clear() {
    kept_.clear();
    damaged_.clear();
    num_packets_ = 0;
}

std::vector<DecodeIssue> StreamIssues::sorted() const {
    auto sorted = kept_;
    std::ranges::stable_sort(sorted, {}, &DecodeIssue::packet_number);
    return sorted;
}

}  // namespace tricodec
