// SPDX-License-Identifier: Apache-2.0
#include "common/frame_arguments.h"

#include <dali/pipeline/operator/op_schema.h>

#include <algorithm>
#include <string>
#include <utility>

#include "common/errors.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec::plugin {
namespace {

constexpr const char* kDaliWords[] = {"frames", "start_frame", "end_frame", "sequence_length"};

std::optional<IntArgument> if_given(const char* name, const ::dali::OpSpec& spec) {
    return spec.ArgumentDefined(name) ? std::optional(IntArgument(name, spec)) : std::nullopt;
}

/// A request for frames `stride` apart, of which some may not exist.
struct PaddedRange {
    const char* start_name = "start";
    std::int64_t start = 0;
    std::int64_t stride = 1;
    std::optional<std::int64_t> length{};
    std::optional<std::int64_t> end{};
    PadMode pad_mode = PadMode::none;

    [[nodiscard]] std::vector<std::int64_t> numbers(std::int64_t num_frames) const {
        TRICODEC_EXPECT(stride >= 1, invalid_argument,
                        "stride is " + std::to_string(stride) + "; it must be at least 1");
        const bool from_end = start < 0 && std::string(start_name) == "start";
        TRICODEC_EXPECT(start >= 0 || from_end, invalid_argument,
                        std::string(start_name) + " is " + std::to_string(start) +
                            "; it must be at least 0; start counts from the end");
        const auto first = from_end ? start + num_frames : start;
        TRICODEC_EXPECT(first >= 0 && first < num_frames, out_of_range,
                        std::string(start_name) + " is " + std::to_string(start) + ", and the video has " +
                            std::to_string(num_frames) + " frames");
        const auto wanted = num_wanted(first, num_frames);
        TRICODEC_EXPECT(wanted >= 0, invalid_argument,
                        "a sequence of " + std::to_string(wanted) + " frames is asked for; it must have at least 0");
        TRICODEC_EXPECT(wanted <= limits().max_packets, refused,
                        "a sequence of " + std::to_string(wanted) + " frames is asked for, past limits.max_packets = " +
                            std::to_string(limits().max_packets) + "; ask for shorter ones, or raise the limit");
        std::vector<std::int64_t> frames;
        for (std::int64_t i = 0; i < wanted; ++i) {
            const auto number = first + i * stride;
            if (number >= num_frames && pad_mode == PadMode::none) break;
            frames.push_back(padded_frame(pad_mode, number, num_frames));
        }
        return frames;
    }

    [[nodiscard]] std::int64_t num_wanted(std::int64_t first, std::int64_t num_frames) const {
        if (length && *length != -1) return *length;
        const auto last = end.value_or(num_frames);
        TRICODEC_EXPECT(last > first, invalid_argument,
                        "end_frame is " + std::to_string(last) + "; it must be larger than " + start_name + ", " +
                            std::to_string(first));
        return (std::min(last - first, std::int64_t{1} << 40) + stride - 1) / stride;
    }
};

/// Frames by their numbers.
std::vector<std::int64_t> listed_frames(const std::vector<std::int64_t>& frames, PadMode pad_mode,
                                        std::int64_t num_frames) {
    std::vector<std::int64_t> numbers;
    for (const auto frame : frames) {
        TRICODEC_EXPECT(frame >= 0, invalid_argument,
                        "frames has the number " + std::to_string(frame) + "; numbers are at least 0");
        TRICODEC_EXPECT(frame < num_frames || pad_mode != PadMode::none, out_of_range,
                        "frames has the number " + std::to_string(frame) + ", and the video has " +
                            std::to_string(num_frames) + " frames; pad_mode fills places without a frame");
        numbers.push_back(padded_frame(pad_mode, frame, num_frames));
    }
    return numbers;
}

}  // namespace

FrameArguments::FrameArguments(const ::dali::OpSpec& spec)
    : selection_(spec),
      start_("start", spec),
      stride_("stride", spec),
      count_("count", spec),
      start_frame_(if_given("start_frame", spec)),
      end_frame_(if_given("end_frame", spec)),
      sequence_length_(if_given("sequence_length", spec)) {
    translate_errors("", [&] {
        expect_one_word(spec, "start", "start_frame");
        expect_one_word(spec, "count", "sequence_length");
        expect_one_word(spec, "count", "end_frame");
        TRICODEC_EXPECT(!sequence_length_ || !end_frame_, invalid_argument,
                        "sequence_length and end_frame are both given; each determines the number of frames, so leave "
                        "one out");
        const bool listed = spec.ArgumentDefined("frames");
        for (const char* name : {"start", "stride", "count", "start_frame", "end_frame", "sequence_length"}) {
            TRICODEC_EXPECT(
                !listed || !spec.ArgumentDefined(name), invalid_argument,
                std::string("frames and ") + name + " are both given; frames names all frames, so leave one out");
        }
        for (const char* name : {"frames", "start_frame", "end_frame", "sequence_length", "pad_mode"}) {
            TRICODEC_EXPECT(!selection_.is_given() || !spec.ArgumentDefined(name), invalid_argument,
                            std::string(name) +
                                " does not go with indices, times, fps, num_frames, start_s, end_s and sampling; leave "
                                "one out");
        }
        if (listed) frames_ = IntArgument::list("frames", spec);
        dali_words_ = std::ranges::any_of(kDaliWords, [&](const char* name) { return spec.ArgumentDefined(name); });
        if (spec.ArgumentDefined("pad_mode")) {
            pad_mode_ = parse_pad_mode(spec.GetArgument<std::string>("pad_mode"));
        } else if (dali_words_) {
            pad_mode_ = PadMode::constant;
        }
    });
}

std::vector<FrameArguments::Select> FrameArguments::for_samples(const ::dali::ArgumentWorkspace& workspace,
                                                                int num_samples) const {
    const auto values = [&](const IntArgument& argument) { return argument.values(workspace, num_samples); };
    std::vector<Select> result;
    if (frames_) {
        for (auto& frames : values(*frames_)) {
            result.emplace_back([frames = std::move(frames), pad_mode = *pad_mode_](FrameReader& reader) {
                if (frames.empty()) return frames;
                reader.expect_frames();
                return listed_frames(frames, pad_mode, reader.num_frames());
            });
        }
        return result;
    }
    auto selections = selection_.values(workspace, num_samples);
    const auto start = values(start_frame_ ? *start_frame_ : start_);
    const auto stride = values(stride_);
    const auto count = values(sequence_length_ ? *sequence_length_ : count_);
    const auto end = end_frame_ ? values(*end_frame_) : std::vector<std::vector<std::int64_t>>{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(num_samples); ++i) {
        if (!pad_mode_ || (*pad_mode_ == PadMode::none && !dali_words_)) {
            auto selection = std::move(selections[i]);
            selection.start = start[i][0];
            selection.stride = stride[i][0];
            selection.count = count[i][0];
            result.emplace_back(
                [selection = std::move(selection)](FrameReader& reader) { return reader.select(selection); });
            continue;
        }
        PaddedRange range{.start_name = start_frame_ ? "start_frame" : "start",
                          .start = start[i][0],
                          .stride = stride[i][0],
                          .pad_mode = *pad_mode_};
        if (end_frame_) {
            range.end = end[i][0];
        } else {
            range.length = count[i][0];
        }
        result.emplace_back([range](FrameReader& reader) {
            reader.expect_frames();
            return range.numbers(reader.num_frames());
        });
    }
    return result;
}

}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__FrameArguments)
    .DocStr("Arguments that say which frames of a video are decoded.")
    .AddOptionalArg("start", "Number of the first frame; a negative one counts from the end.", std::int64_t{0}, true)
    .AddOptionalArg("stride", "Every ``stride``-th frame is taken; at least 1.", std::int64_t{1}, true)
    .AddOptionalArg("count", "Number of frames; -1 is to the end of the video.", std::int64_t{-1}, true)
    .AddOptionalArg<std::int64_t>("start_frame", "DALI's name for ``start``; at least 0.", nullptr, true)
    .AddOptionalArg<std::int64_t>("end_frame",
                                  "The frame after the last one, in place of ``count``: DALI's name. Places past the "
                                  "end of the video are filled as ``pad_mode`` says.",
                                  nullptr, true)
    .AddOptionalArg<std::int64_t>("sequence_length",
                                  "DALI's name for ``count``. Places past the end of the video are filled as "
                                  "``pad_mode`` says.",
                                  nullptr, true)
    .AddOptionalArg<std::vector<std::int64_t>>("frames",
                                               "Numbers of the frames, in any order, each as often as it is named.",
                                               nullptr, true)
    .AddOptionalArg<std::string>(
        "pad_mode",
        "What fills places past the end of the video: ``\"constant\"`` ``fill_value``, "
        "``\"edge\"`` (``\"repeat\"``) the last frame, ``\"reflect_1001\"`` "
        "(``\"symmetric\"``) and ``\"reflect_101\"`` (``\"reflect\"``) the frames backwards, "
        "with the last frame again or without it. ``\"none\"``: the sequence is shorter, and a "
        "number in ``frames`` or a ``count`` past the end is an error. The default is "
        "``\"constant\"`` with DALI's arguments ``frames``, ``end_frame`` and "
        "``sequence_length``, else ``\"none\"``.",
        nullptr)
    .AddOptionalArg("fill_value", "The value of the output in places without a frame: one number, or one a channel.",
                    std::vector<float>{0.0f});
