// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder_records.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace tricodec {
namespace {

/// True if all of a report is what libavcodec's H.264 and HEVC say of references that are missing.
bool is_about_references(std::string_view message) {
    constexpr std::string_view kLines[] = {
        "mmco: unref short failure",      "Missing reference picture",  "reference picture missing during reorder",
        "First slice in a frame missing", "number of reference frames", "decode_slice_header error",
        "Could not find ref with POC",
    };
    while (!message.empty()) {
        const auto line = message.substr(0, message.find("; "));
        const auto is_part = [&](auto words) { return line.find(words) != std::string_view::npos; };
        if (std::ranges::none_of(kLines, is_part)) return false;
        message.remove_prefix(std::min(message.size(), line.size() + 2));
    }
    return true;
}

}  // namespace

void RecentIssues::add(DecodeIssue issue) {
    ++num_met_;
    if (kept_.size() == kMostIssues) kept_.pop_front();
    kept_.push_back(std::move(issue));
}

std::vector<DecodeIssue> new_damage(const Decoder& decoder, bool begins_open, std::int64_t& num_known) {
    const auto total = decoder.num_issues();
    if (total == num_known) return {};
    const auto& kept = decoder.issues();
    const auto num_new = std::min(std::max<std::int64_t>(0, total - num_known), static_cast<std::int64_t>(kept.size()));
    num_known = total;
    if (begins_open && decoder.device().kind == Device::Kind::cuda) return {};  // NVDEC does not say what is missing
    std::vector<DecodeIssue> damage(std::prev(kept.end(), static_cast<std::ptrdiff_t>(num_new)), kept.end());
    if (begins_open) std::erase_if(damage, [](const auto& issue) { return is_about_references(issue.message); });
    return damage;
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
