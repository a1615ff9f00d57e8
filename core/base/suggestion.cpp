// SPDX-License-Identifier: Apache-2.0
#include "base/suggestion.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tricodec/base/text.h"

namespace tricodec {
namespace {

constexpr std::size_t kLongestWord = 256;

bool is_of_word(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '-' || letter == '.' || letter == ':';
}

/// The fewest letters to insert, remove, replace or exchange with their neighbor (optimal string alignment).
std::size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> before(other.size() + 1);
    std::vector<std::size_t> row(other.size() + 1);
    std::vector<std::size_t> next(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= one.size(); ++i) {
        next[0] = i;
        for (std::size_t j = 1; j <= other.size(); ++j) {
            const std::size_t replaced = row[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
            next[j] = std::min({replaced, row[j] + 1, next[j - 1] + 1});
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
                next[j] = std::min(next[j], before[j - 2] + 1);
            }
        }
        before.swap(row);
        row.swap(next);
    }
    return row[other.size()];
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string> accepted) {
    if (word.empty() || word.size() > kLongestWord) return {};
    const std::string wanted = lower(word);
    constexpr std::size_t kShortest = 4;
    const std::string* nearest = nullptr;
    for (const auto& name : accepted) {  // "uniform_f" is "uniform_floor", and not "uniform"
        if (wanted.size() >= kShortest && name.size() > wanted.size() && lower(name).starts_with(wanted) &&
            (nearest == nullptr || name.size() < nearest->size())) {
            nearest = &name;
        }
    }
    if (nearest != nullptr && std::ranges::find(accepted, word) == accepted.end()) return *nearest;
    nearest = nullptr;
    std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    for (const auto& name : accepted) {
        if (name == word) continue;  // a link that leads nowhere
        const auto [shorter, longer] = std::minmax(name.size(), wanted.size());
        if (longer - shorter >= least) continue;
        const std::size_t far = distance(wanted, lower(name));
        if (far < least) {
            least = far;
            nearest = &name;
        }
    }
    return nearest == nullptr ? std::string() : *nearest;
}

std::string did_you_mean(std::string_view word, std::string_view accepted) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin < accepted.size();) {
        std::size_t end = begin;
        while (end < accepted.size() && is_of_word(accepted[end])) ++end;
        if (end > begin) words.emplace_back(accepted.substr(begin, end - begin));
        begin = end + 1;
    }
    const std::string nearest = nearest_word(word, words);
    return nearest.empty() ? nearest : "; did you mean '" + nearest + "'?";
}

}  // namespace tricodec
