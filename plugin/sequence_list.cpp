// SPDX-License-Identifier: Apache-2.0
#include "sequence_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "options.h"
#include "tricodec/error.h"
#include "tricodec/limits.h"

namespace tricodec::plugin {
namespace {

PadMode parse_pad_mode(const std::string& word) {
    if (word == "none") return PadMode::none;
    if (word == "constant") return PadMode::constant;
    if (word == "edge" || word == "repeat") return PadMode::edge;
    if (word == "reflect_1001" || word == "symmetric") return PadMode::reflect_1001;
    if (word == "reflect_101" || word == "reflect") return PadMode::reflect_101;
    fail(ErrorCode::invalid_argument,
         "pad_mode '" + word +
             "' is not one of none, constant, edge (repeat), reflect_1001 (symmetric), reflect_101 (reflect)");
}

/// The place, of `count` that are there, that fills the one at `i`.
std::int64_t padded_place(PadMode mode, std::int64_t i, std::int64_t count) {
    if (i < count || count == 1) return std::min(i, count - 1);
    if (mode == PadMode::edge) return count - 1;
    const auto period = mode == PadMode::reflect_1001 ? 2 * count : 2 * count - 2;
    const auto phase = i % period;
    return phase < count ? phase : (mode == PadMode::reflect_1001 ? period - 1 : period) - phase;
}

std::int64_t num_sequences(const SequenceWords& words, const FileRanges::Range& range) {
    const auto num_frames = range.end - range.begin;
    if (num_frames <= 0) return 0;
    const auto num_whole = num_frames < words.span() ? 0 : (num_frames - words.span()) / words.step + 1;
    if (words.pad_mode == PadMode::none) return num_whole;
    // One more where frames are left behind those of the last whole one: it is padded.
    const auto end_of_whole = num_whole == 0 ? 0 : (num_whole - 1) * words.step + words.span();
    return num_whole + (end_of_whole < num_frames && num_whole * words.step < num_frames ? 1 : 0);
}

}  // namespace

SequenceWords SequenceWords::from(const ::dali::OpSpec& spec) {
    SequenceWords words;
    words.length = int_argument(spec, "sequence_length");
    TRICODEC_EXPECT(words.length >= 1, invalid_argument,
                    "sequence_length is " + std::to_string(words.length) + "; it is how many frames, at least 1");
    // Else padding alone would take the machine's memory.
    TRICODEC_EXPECT(words.length <= limits().max_packets, refused,
                    "sequence_length is " + std::to_string(words.length) + ", past limits.max_packets = " +
                        std::to_string(limits().max_packets) + "; ask for shorter sequences, or raise the limit");
    words.stride = int_argument(spec, "stride");
    TRICODEC_EXPECT(words.stride >= 1, invalid_argument,
                    "stride is " + std::to_string(words.stride) + "; it must be at least 1");
    const auto step = int_argument(spec, "step");
    TRICODEC_EXPECT(step == -1 || step >= 1, invalid_argument,
                    "step is " + std::to_string(step) +
                        "; it is how many frames a sequence begins after the one before, at least 1, or -1 for the "
                        "frames from a sequence's first to its last");
    words.step = step == -1 ? words.span() : step;
    words.pad_mode = parse_pad_mode(spec.GetArgument<std::string>("pad_mode"));
    if (spec.GetArgument<bool>("pad_sequences")) {
        TRICODEC_EXPECT(words.pad_mode == PadMode::none || words.pad_mode == PadMode::constant, invalid_argument,
                        "pad_sequences=True is pad_mode=\"constant\"; leave it out, or the other pad_mode");
        words.pad_mode = PadMode::constant;
    }
    return words;
}

SequenceList::SequenceList(const SequenceWords& words, std::vector<FileRanges::Range> files)
    : words_(words), files_(std::move(files)) {
    first_.push_back(0);
    for (const auto& range : files_) first_.push_back(first_.back() + num_sequences(words_, range));
}

Sequence SequenceList::at(std::int64_t number) const {
    const auto file = std::upper_bound(first_.begin(), first_.end(), number) - first_.begin() - 1;
    Sequence sequence{.file = static_cast<std::size_t>(file)};
    const auto& range = files_[sequence.file];
    const auto begin = range.begin + (number - first_[sequence.file]) * words_.step;
    const auto there = std::min(words_.length, (range.end - begin + words_.stride - 1) / words_.stride);
    for (std::int64_t i = 0; i < words_.length; ++i) {
        if (i >= there && words_.pad_mode == PadMode::constant) break;
        sequence.frames.push_back(begin + padded_place(words_.pad_mode, i, there) * words_.stride);
    }
    sequence.num_padded = words_.length - static_cast<std::int64_t>(sequence.frames.size());
    return sequence;
}

}  // namespace tricodec::plugin
