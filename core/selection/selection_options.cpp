// SPDX-License-Identifier: Apache-2.0
/// The options of a selection, and which of them go together: Note [Options of a selection].
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/named_values.h"
#include "base/never_destroyed.h"
#include "base/option_fields.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec {
namespace {

constexpr NamedValues<TimePolicy, 3> kPolicies = {
    "policy", {{"nearest", TimePolicy::nearest}, {"on_screen", TimePolicy::on_screen}, {"exact", TimePolicy::exact}}};
constexpr NamedValues<Sampling, 6> kRules = {"sampling",
                                             {{"uniform", Sampling::uniform},
                                              {"uniform_floor", Sampling::uniform_floor},
                                              {"stride", Sampling::stride},
                                              {"centers", Sampling::centers},
                                              {"key_frames", Sampling::key_frames},
                                              {"around", Sampling::around}}};

std::vector<Option<FrameSelection>> make_options() {
    return {
        option<&FrameSelection::start>(
            "start", "number of the first frame in presentation order; a negative number counts from the end."),
        option<&FrameSelection::stride>("stride",
                                        "distance from one frame to the next, at least 1: every stride-th frame."),
        option<&FrameSelection::count>("count", "number of frames; -1 is all to the end."),
        option<&FrameSelection::indices>(
            "indices", "frame numbers instead, in any order, repeats allowed. Negative ones count from the end."),
        option<&FrameSelection::times>("times",
                                       "times in seconds instead, in any order, repeats allowed. A float32 of a "
                                       "frame's time means that frame."),
        option<&FrameSelection::tolerance_s>("tolerance_s",
                                             "greatest distance in seconds of a time from the time of its frame. "
                                             "Without it any time is taken at which the video shows a frame."),
        option<&FrameSelection::policy, OneOf<kPolicies>>(
            "policy",
            "which frame a time means. \"nearest\" (of two the earlier) is the default of ``times``. \"on_screen\", "
            "the last frame that begins at or before the time, is the default of ``fps``. \"exact\" takes only times "
            "of frames.",
            kPolicies.names()),
        option<&FrameSelection::fps>("fps",
                                     "frames a second: a frame for each instant, the start of the part + k / fps."),
        option<&FrameSelection::num_frames>("num_frames",
                                            "so many frames evenly from the first to the last of the part, rounded; "
                                            "repeats a frame if there are fewer."),
        option<&FrameSelection::start_s>("start_s",
                                         "start of the part in seconds, instead of ``start``: the frame on screen "
                                         "there is the first."),
        option<&FrameSelection::end_s>("end_s",
                                       "end of the part in seconds, instead of ``count``: frames that begin at or "
                                       "after it are left out."),
        option<&FrameSelection::sampling, OneOf<kRules>>(
            "sampling", "a rule that chooses frames; other options are its parameters.", kRules.names()),
        option<&FrameSelection::min_frames>(
            "min_frames", "the fewest frames for ``fps``: if there would be fewer, so many are taken evenly."),
        option<&FrameSelection::max_frames>(
            "max_frames", "the most frames for ``fps``: if there would be more, so many are taken evenly."),
    };
}

using Names = std::vector<std::string_view>;

/// The options that a rule takes beside `sampling`; a "!" marks one that must be there.
Names options_of(Sampling rule) {
    if (rule == Sampling::key_frames) return {"num_frames", "max_frames", "start", "start_s", "end_s"};
    if (rule == Sampling::around) return {"times!", "num_frames!", "stride", "policy", "tolerance_s"};
    return {"num_frames!", "start", "start_s", "end_s"};
}

std::string without_marks(const Names& names) {
    return listed(names, [](std::string_view name) { return name.substr(0, name.find('!')); });
}

/// The option that decides what a selection is, and those that go with it.
std::pair<std::string, Names> form_of(const FrameSelection& selection) {
    if (selection.sampling != Sampling::none) {
        return {"sampling \"" + std::string(kRules.name_of(selection.sampling)) + "\"", options_of(selection.sampling)};
    }
    if (selection.indices) return {"indices", {}};
    if (selection.times) return {"times", {"policy", "tolerance_s"}};
    if (selection.fps) {
        return {"fps", {"start", "start_s", "count", "end_s", "policy", "tolerance_s", "min_frames", "max_frames"}};
    }
    if (selection.num_frames) return {"num_frames", {"start", "start_s", "end_s"}};
    return {"", {"start", "start_s", "stride", "count", "end_s"}};
}

/// Names of the options that a selection sets, in the order of the table.
Names given_options(const FrameSelection& selection) {
    Names names;
    for (const auto& option : selection_options()) {
        if (option.is_changed(selection)) names.push_back(option.name);
    }
    return names;
}

void expect_together(const FrameSelection& selection) {
    const auto [form, takes] = form_of(selection);
    const auto given = given_options(selection);
    const auto is_given = [&](std::string_view name) { return std::ranges::find(given, name) != given.end(); };
    for (const auto name : given) {
        if (name == form || name == "sampling") continue;
        const bool taken = std::ranges::any_of(takes, [&](auto each) {
            return each == name || (each.ends_with('!') && each.substr(0, each.size() - 1) == name);
        });
        if (taken) continue;
        if (form.empty()) {
            fail(ErrorCode::invalid_argument,
                 std::string(name) +
                     " is given without the option that it belongs to: policy and tolerance_s go with times or fps, "
                     "min_frames and max_frames with fps");
        }
        fail(ErrorCode::invalid_argument, std::string(name) + " does not go with " + form + ", which takes " +
                                              (takes.empty() ? "no other option" : without_marks(takes)) +
                                              "; leave one out");
    }
    for (auto name : takes) {
        if (!name.ends_with('!')) continue;
        name.remove_suffix(1);
        TRICODEC_EXPECT(is_given(name), invalid_argument, form + " needs " + std::string(name));
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

Options<FrameSelection> selection_options() {
    static NeverDestroyed<std::vector<Option<FrameSelection>>> options(make_options());
    return *options;
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
