// SPDX-License-Identifier: Apache-2.0
/// Which words of a selection go together: Note [Words of a selection].
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/never_destroyed.h"
#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec {
namespace {

constexpr std::array<std::pair<std::string_view, TimePolicy>, 3> kPolicies = {
    {{"nearest", TimePolicy::nearest}, {"on_screen", TimePolicy::on_screen}, {"exact", TimePolicy::exact}}};

struct SamplingRule {
    std::string_view name;
    Sampling sampling;
    std::vector<std::string_view> takes;  ///< words beside `sampling`; a "!" marks one that must be there
};

using Words = std::vector<std::string_view>;

const std::vector<SamplingRule>& rules() {
    static NeverDestroyed<std::vector<SamplingRule>> known([] {
        const Words counted = {"num_frames!", "start", "start_s", "end_s"};
        return std::vector<SamplingRule>{
            {"uniform", Sampling::uniform, counted},
            {"uniform_floor", Sampling::uniform_floor, counted},
            {"stride", Sampling::stride, counted},
            {"centers", Sampling::centers, counted},
            {"key_frames", Sampling::key_frames, {"num_frames", "max_frames", "start", "start_s", "end_s"}},
            {"around", Sampling::around, {"times!", "num_frames!", "stride", "policy", "tolerance_s"}},
        };
    }());
    return *known;
}

const SamplingRule& rule_of(Sampling sampling) {
    return *std::ranges::find(rules(), sampling, &SamplingRule::sampling);
}

std::string without_marks(const Words& words) {
    return listed(words, [](std::string_view word) { return word.substr(0, word.find('!')); });
}

/// The word that decides what a selection is, and those that go with it.
std::pair<std::string, Words> form_of(const FrameSelection& selection) {
    if (selection.sampling != Sampling::none) {
        const auto& rule = rule_of(selection.sampling);
        return {"sampling \"" + std::string(rule.name) + "\"", rule.takes};
    }
    if (selection.indices) return {"indices", {}};
    if (selection.times) return {"times", {"policy", "tolerance_s"}};
    if (selection.fps) {
        return {"fps", {"start", "start_s", "count", "end_s", "policy", "tolerance_s", "min_frames", "max_frames"}};
    }
    if (selection.num_frames) return {"num_frames", {"start", "start_s", "end_s"}};
    return {"", {"start", "start_s", "stride", "count", "end_s"}};
}

/// Names of the words that a selection sets, in the order of its fields.
std::vector<std::string> words_of(const FrameSelection& selection) {
    std::vector<std::string> words;
    const auto add = [&](bool given, const char* name) {
        if (given) words.emplace_back(name);
    };
    add(selection.start != 0, "start");
    add(selection.stride != 1, "stride");
    add(selection.count != -1, "count");
    add(selection.indices.has_value(), "indices");
    add(selection.times.has_value(), "times");
    add(selection.tolerance_s.has_value(), "tolerance_s");
    add(selection.policy.has_value(), "policy");
    add(selection.fps.has_value(), "fps");
    add(selection.num_frames.has_value(), "num_frames");
    add(selection.start_s.has_value(), "start_s");
    add(selection.end_s.has_value(), "end_s");
    add(selection.sampling != Sampling::none, "sampling");
    add(selection.min_frames.has_value(), "min_frames");
    add(selection.max_frames.has_value(), "max_frames");
    return words;
}

void expect_together(const FrameSelection& selection) {
    const auto [form, takes] = form_of(selection);
    const auto given = words_of(selection);
    const auto is_given = [&](std::string_view word) { return std::ranges::find(given, word) != given.end(); };
    for (const auto& word : given) {
        if (word == form || word == "sampling") continue;
        const bool taken = std::ranges::any_of(takes, [&](auto name) {
            return name == word || (name.ends_with('!') && name.substr(0, name.size() - 1) == word);
        });
        if (taken) continue;
        if (form.empty()) {
            fail(ErrorCode::invalid_argument,
                 word +
                     " is given without the word that it belongs to: policy and tolerance_s go with times or fps, "
                     "min_frames and max_frames with fps");
        }
        fail(ErrorCode::invalid_argument, word + " does not go with " + form + ", which takes " +
                                              (takes.empty() ? "no other word" : without_marks(takes)) +
                                              "; leave one out");
    }
    for (auto word : takes) {
        if (!word.ends_with('!')) continue;
        word.remove_suffix(1);
        TRICODEC_EXPECT(is_given(word), invalid_argument, form + " needs " + std::string(word));
    }
    constexpr std::pair<std::string_view, std::string_view> kOneOf[] = {{"start", "start_s"},
                                                                        {"count", "end_s"},
                                                                        {"count", "min_frames"},
                                                                        {"count", "max_frames"},
                                                                        {"fps", "num_frames"}};
    for (const auto& [one, other] : kOneOf) {
        TRICODEC_EXPECT(!is_given(one) || !is_given(other), invalid_argument,
                        std::string(one) + " and " + std::string(other) + " are both given; leave one out");
    }
}

void expect_finite(const std::optional<double>& value, const char* name) {
    TRICODEC_EXPECT(!value || std::isfinite(*value), invalid_argument,
                    std::string(name) + " is " + std::to_string(value.value_or(0)) + "; it must be a number");
}

void expect_at_least(const std::optional<std::int64_t>& value, std::int64_t least, const char* name) {
    TRICODEC_EXPECT(!value || *value >= least, invalid_argument,
                    std::string(name) + " is " + std::to_string(value.value_or(0)) + "; it must be at least " +
                        std::to_string(least));
}

}  // namespace

TimePolicy parse_time_policy(std::string_view word) {
    for (const auto& [name, policy] : kPolicies) {
        if (same_word(name, word)) return policy;
    }
    constexpr std::string_view accepted = "nearest, on_screen, exact";
    fail(ErrorCode::invalid_argument,
         "policy '" + std::string(word) + "' is not one of " + std::string(accepted) + did_you_mean(word, accepted));
}

Sampling parse_sampling(std::string_view word) {
    for (const auto& rule : rules()) {
        if (same_word(rule.name, word)) return rule.sampling;
    }
    const std::string accepted = listed(rules(), &SamplingRule::name);
    fail(ErrorCode::invalid_argument,
         "sampling '" + std::string(word) + "' is not one of " + accepted + did_you_mean(word, accepted));
}

bool is_range(const FrameSelection& selection) noexcept {
    return selection == FrameSelection{.start = selection.start, .stride = selection.stride, .count = selection.count};
}

bool is_part(const FrameSelection& selection) {
    return form_of(selection).first.empty();
}

void expect_valid(const FrameSelection& selection) {
    TRICODEC_EXPECT(selection.stride >= 1, invalid_argument,
                    "stride is " + std::to_string(selection.stride) + "; it must be at least 1");
    TRICODEC_EXPECT(selection.count >= -1, invalid_argument,
                    "count is " + std::to_string(selection.count) + "; use -1 for all frames, or a number from 0");
    expect_finite(selection.start_s, "start_s");
    expect_finite(selection.end_s, "end_s");
    expect_finite(selection.fps, "fps");
    expect_finite(selection.tolerance_s, "tolerance_s");
    TRICODEC_EXPECT(!selection.fps || *selection.fps > 0, invalid_argument,
                    "fps is " + number_text(selection.fps.value_or(0)) + "; it must be above 0");
    TRICODEC_EXPECT(!selection.tolerance_s || *selection.tolerance_s >= 0, invalid_argument,
                    "tolerance_s is " + number_text(selection.tolerance_s.value_or(0)) + "; it must be 0 or more");
    if (selection.times) {
        for (std::size_t i = 0; i < selection.times->size(); ++i) {
            TRICODEC_EXPECT(std::isfinite((*selection.times)[i]), invalid_argument,
                            "time " + std::to_string(i) + " is " + std::to_string((*selection.times)[i]) +
                                "; it must be a number of seconds");
        }
    }
    expect_at_least(selection.num_frames, 1, "num_frames");
    expect_at_least(selection.min_frames, 1, "min_frames");
    expect_at_least(selection.max_frames, 1, "max_frames");
    TRICODEC_EXPECT(!selection.min_frames || !selection.max_frames || *selection.min_frames <= *selection.max_frames,
                    invalid_argument,
                    "min_frames is " + std::to_string(selection.min_frames.value_or(0)) + " and max_frames " +
                        std::to_string(selection.max_frames.value_or(0)) + "; min_frames must not be more");
    TRICODEC_EXPECT(selection.policy != TimePolicy::exact || !selection.tolerance_s, invalid_argument,
                    "policy \"exact\" has no tolerance; leave tolerance_s out, or take policy \"nearest\"");
    expect_together(selection);
}

}  // namespace tricodec
