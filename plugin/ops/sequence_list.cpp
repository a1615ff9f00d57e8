// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence_list.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "common/arguments.h"
#include "common/errors.h"
#include "ops/video_file.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec::plugin {
namespace {

namespace fs = std::filesystem;

bool is_given(const ::dali::OpSpec& spec, const char* name) {
    return spec.ArgumentDefined(name) && !spec.GetArgument<std::string>(name).empty();
}

std::vector<VideoFile> from_names(const ::dali::OpSpec& spec) {
    std::vector<VideoFile> files;
    for (const auto& path : spec.GetRepeatedArgument<std::string>("filenames")) files.push_back({.location = {path}});
    TRICODEC_EXPECT(!files.empty(), invalid_argument, "filenames is empty; name at least one file");
    std::vector<std::int64_t> labels;
    if (spec.ArgumentDefined("labels")) labels = spec.GetRepeatedArgument<std::int64_t>("labels");
    TRICODEC_EXPECT(labels.empty() || labels.size() == files.size(), invalid_argument,
                    "labels has " + std::to_string(labels.size()) + " numbers, filenames " +
                        std::to_string(files.size()) + "; pass one for each file, or [] to number the files");
    for (std::size_t i = 0; i < files.size(); ++i) {
        files[i].label = labels.empty() ? static_cast<std::int64_t>(i) : labels[i];
    }
    return files;
}

/// The entries of a directory, sorted, without hidden files.
std::vector<fs::path> entries_of(const fs::path& directory, bool directories) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        const bool wanted = directories ? it->is_directory() : it->is_regular_file();
        if (wanted && !it->path().filename().string().starts_with('.')) found.push_back(it->path());
    }
    TRICODEC_EXPECT(!error, io,
                    "the directory '" + directory.string() + "' of file_root cannot be read: " + error.message());
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<VideoFile> from_root(const fs::path& root) {
    std::vector<VideoFile> files;
    auto directories = entries_of(root, true);
    if (directories.empty()) directories.push_back(root);
    for (std::size_t label = 0; label < directories.size(); ++label) {
        for (const auto& path : entries_of(directories[label], false)) {
            files.push_back({.location = {path.string()}, .label = static_cast<std::int64_t>(label)});
        }
    }
    TRICODEC_EXPECT(!files.empty(), invalid_argument,
                    "file_root '" + root.string() + "' holds no files; its directories, or itself, must hold videos");
    return files;
}

std::optional<double> to_number(const std::string& word) {
    std::istringstream text(word);
    double value = 0;
    return (text >> value) && text.peek() == std::istringstream::traits_type::eof() ? std::optional(value)
                                                                                    : std::nullopt;
}

std::vector<VideoFile> from_list(const std::string& list) {
    std::ifstream lines(list);
    TRICODEC_EXPECT(lines, io, "file_list '" + list + "' cannot be read");
    std::vector<VideoFile> files;
    std::size_t num_labelled = 0;
    std::string line;
    constexpr double kMostLabel = 1e15;  // an integer holds it
    for (int number = 1; std::getline(lines, line); ++number) {
        std::istringstream text(line);
        std::vector<std::string> words;
        for (std::string word; text >> word;) words.push_back(word);
        if (words.empty()) continue;
        VideoFile file{.location = {words[0]}, .label = static_cast<std::int64_t>(files.size())};
        bool fits = words.size() <= 4;
        std::optional<double> numbers[3];
        for (std::size_t i = 1; i < words.size() && fits; ++i) {
            numbers[i - 1] = to_number(words[i]);
            fits = numbers[i - 1].has_value();
        }
        fits = fits && (!numbers[0] || (*numbers[0] == std::floor(*numbers[0]) && std::abs(*numbers[0]) <= kMostLabel));
        TRICODEC_EXPECT(fits, invalid_argument,
                        "line " + std::to_string(number) + " of file_list '" + list + "' is '" + line +
                            "'; a line is: file [label [start [end]]], separated by blanks; a file name has none");
        if (numbers[0]) {
            file.label = static_cast<std::int64_t>(*numbers[0]);
            ++num_labelled;
        }
        file.start = numbers[1];
        file.end = numbers[2];
        files.push_back(std::move(file));
    }
    TRICODEC_EXPECT(!files.empty(), invalid_argument, "file_list '" + list + "' names no files");
    TRICODEC_EXPECT(num_labelled == 0 || num_labelled == files.size(), invalid_argument,
                    "file_list '" + list + "' labels " + std::to_string(num_labelled) + " of its " +
                        std::to_string(files.size()) + " files; label all of them, or none to number them");
    return files;
}

/// Whole sequences, as DALI's readers.video counts them. With padding, as experimental.readers.video does: a sequence
/// begins wherever `length * stride` frames are left, and one more that is padded.
std::int64_t num_sequences(const SequenceOptions& options, const FileFrames& frames) {
    const auto num_frames = frames.size();
    const auto fitting = [&](std::int64_t size) {
        return num_frames < size ? 0 : (num_frames - size) / options.step + 1;
    };
    const auto num_whole = fitting(options.span());
    if (options.pad_mode == PadMode::none) return num_whole;
    const auto num_with_gap = fitting(options.length * options.stride);
    return std::max(num_whole, num_with_gap + (num_with_gap * options.step < num_frames ? 1 : 0));
}

/// file_list_format, or what DALI's older name for it means.
std::string list_format(const ::dali::OpSpec& spec) {
    expect_one_word(spec, "file_list_format", "file_list_frame_num");
    return spec.GetArgument<bool>("file_list_frame_num") ? "frames" : spec.GetArgument<std::string>("file_list_format");
}

std::string list_rounding(const ::dali::OpSpec& spec) {
    expect_one_word(spec, "file_list_rounding", "file_list_include_preceding_frame");
    if (spec.GetArgument<bool>("file_list_frame_num")) return "start_up_end_down";
    if (!spec.ArgumentDefined("file_list_include_preceding_frame")) {
        return spec.GetArgument<std::string>("file_list_rounding");
    }
    return spec.GetArgument<bool>("file_list_include_preceding_frame") ? "start_down_end_up" : "start_up_end_down";
}

}  // namespace

bool has_labels(const ::dali::OpSpec& spec) {
    return is_given(spec, "file_root") || is_given(spec, "file_list") || is_given(spec, "label_ext") ||
           spec.ArgumentDefined("labels");
}

std::vector<VideoFile> list_video_files(const ::dali::OpSpec& spec) {
    const bool names = spec.ArgumentDefined("filenames");
    const bool root = is_given(spec, "file_root");
    const bool list = is_given(spec, "file_list");
    const bool archives = spec.ArgumentDefined("paths");
    const int num_given = names + root + list + archives;
    TRICODEC_EXPECT(num_given == 1, invalid_argument,
                    "exactly one of filenames, file_root, file_list and paths must be given; " +
                        std::to_string(num_given) + " are given");
    TRICODEC_EXPECT(names || !spec.ArgumentDefined("labels"), invalid_argument,
                    "labels are for filenames; file_root, file_list and paths have their own");
    for (const char* name : {"index_paths", "ext", "label_ext", "missing_component_behavior"}) {
        TRICODEC_EXPECT(archives || !spec.ArgumentDefined(name), invalid_argument,
                        std::string(name) + " is for the archives of paths, which are not given");
    }
    if (names) return from_names(spec);
    if (archives) return list_archive_videos(spec);
    return root ? from_root(spec.GetArgument<std::string>("file_root"))
                : from_list(spec.GetArgument<std::string>("file_list"));
}

std::int64_t FileFrames::size() const noexcept {
    return chosen ? static_cast<std::int64_t>(chosen->size()) : end - begin;
}

std::int64_t FileFrames::at(std::int64_t place, PadMode mode) const {
    if (!chosen) return padded_frame(mode, begin + place, end);
    const auto index = padded_frame(mode, place, size());
    return index == kNoFrame ? kNoFrame : (*chosen)[static_cast<std::size_t>(index)];
}

FileSelection::FileSelection(const ::dali::OpSpec& spec) : words_(spec, true) {
    translate_errors("", [&] {
        if (spec.GetArgument<bool>("uniform_sample")) uniform_length_ = int_argument(spec, "sequence_length");
        TRICODEC_EXPECT(!uniform_length_ || !words_.is_given(), invalid_argument,
                        "uniform_sample does not go with indices, times, fps, num_frames, start_s, end_s and sampling; "
                        "leave one out");
        parse_list(spec);
    });
}

bool FileSelection::has_stride() const {
    return words_.is_given() && !is_part(words_.constants());
}

void FileSelection::parse_list(const ::dali::OpSpec& spec) {
    include_end_ = spec.GetArgument<bool>("file_list_include_end");
    const auto format = list_format(spec);
    expect_one_of("file_list_format", format, {"frames", "timestamps"});
    seconds_ = format == "timestamps";
    const auto rounding = list_rounding(spec);
    expect_one_of("file_list_rounding", rounding, {"start_down_end_up", "start_up_end_down", "all_up", "all_down"});
    start_ = rounding == "start_up_end_down" || rounding == "all_up" ? Rounding::up : Rounding::down;
    end_ = rounding == "start_down_end_up" || rounding == "all_up" ? Rounding::up : Rounding::down;
}

std::int64_t FileSelection::frame_at(double value, Rounding rounding, FrameReader& reader) const {
    if (!seconds_) {
        constexpr double kMost = 1e15;  // an integer holds it
        const double whole = rounding == Rounding::down ? std::floor(value) : std::ceil(value);
        const auto number = static_cast<std::int64_t>(std::clamp(whole, -kMost, kMost));
        return number < 0 ? number + reader.num_frames() : number;
    }
    const auto pts = reader.video_times().clock();
    // The last frame that is not after this time, or the first one that is not before it.
    return rounding == Rounding::down ? std::upper_bound(pts.begin(), pts.end(), value) - pts.begin() - 1
                                      : std::lower_bound(pts.begin(), pts.end(), value) - pts.begin();
}

FileFrames FileSelection::of(const VideoFile& file, FrameReader& reader) const {
    reader.expect_frames();
    const auto num_frames = reader.num_frames();
    FileFrames frames{0, num_frames};
    if (file.start) frames.begin = frame_at(*file.start, start_, reader);
    if (file.end) frames.end = frame_at(*file.end, end_, reader) + (include_end_ ? 1 : 0);
    frames.end = std::clamp<std::int64_t>(frames.end, 0, num_frames);
    frames.begin = std::clamp<std::int64_t>(frames.begin, 0, frames.end);
    if (frames.size() > 0 && (words_.is_given() || uniform_length_)) frames.chosen = choose(file, frames, reader);
    return frames;
}

std::vector<std::int64_t> FileSelection::choose(const VideoFile& file, const FileFrames& part,
                                                FrameReader& reader) const {
    if (uniform_length_) return evenly_half_up(part.begin, part.end - 1, *uniform_length_);
    auto selection = words_.constants();
    if (!has_stride()) selection.stride = 1;  // that of the sequences
    const auto pts = reader.video_times().clock();
    const auto bound = [&](std::optional<double>& word, const char* name, std::int64_t frame) {
        TRICODEC_EXPECT(!word, invalid_argument,
                        std::string(name) + " is given, and file_list bounds the part to read too; leave one out");
        word = pts[static_cast<std::size_t>(frame)];
    };
    if (file.start) bound(selection.start_s, "start_s", part.begin);
    if (file.end && part.end < reader.num_frames()) bound(selection.end_s, "end_s", part.end);
    return reader.select(selection);
}

SequenceOptions SequenceOptions::from(const ::dali::OpSpec& spec, const FileSelection& selection) {
    SequenceOptions options;
    options.length = int_argument(spec, "sequence_length");
    TRICODEC_EXPECT(options.length >= 1, invalid_argument,
                    "sequence_length is " + std::to_string(options.length) + "; it must be at least 1 frame");
    // Without a limit padding alone could take the machine's memory.
    TRICODEC_EXPECT(options.length <= limits().max_packets, refused,
                    "sequence_length is " + std::to_string(options.length) + ", past limits.max_packets = " +
                        std::to_string(limits().max_packets) + "; ask for shorter sequences, or raise the limit");
    options.stride = int_argument(spec, "stride");
    TRICODEC_EXPECT(options.stride >= 1, invalid_argument,
                    "stride is " + std::to_string(options.stride) + "; it must be at least 1");
    const auto step = int_argument(spec, "step");
    TRICODEC_EXPECT(
        step == -1 || step >= 1, invalid_argument,
        "step is " + std::to_string(step) +
            "; pass the number of frames from the start of a sequence to the next start, at least 1, or -1 for "
            "sequence_length * stride");
    if (selection.has_stride() || selection.uniform_length()) options.stride = 1;
    options.step = step == -1 || selection.uniform_length() ? options.length * options.stride : step;
    if (selection.uniform_length()) return options;  // without pad_mode, as in DALI
    options.pad_mode = parse_pad_mode(spec.GetArgument<std::string>("pad_mode"));
    if (spec.GetArgument<bool>("pad_sequences")) {
        TRICODEC_EXPECT(options.pad_mode == PadMode::none || options.pad_mode == PadMode::constant, invalid_argument,
                        "pad_sequences=True is pad_mode=\"constant\"; leave it out, or the other pad_mode");
        options.pad_mode = PadMode::constant;
    }
    return options;
}

SequenceList::SequenceList(const SequenceOptions& options, std::vector<FileFrames> files)
    : options_(options), files_(std::move(files)) {
    first_.push_back(0);
    for (const auto& frames : files_) first_.push_back(first_.back() + num_sequences(options_, frames));
}

std::int64_t SequenceList::reach(std::size_t file) const {
    const auto places = options_.span() + options_.step;
    const auto& chosen = files_[file].chosen;
    if (!chosen || chosen->size() < 2) return places;
    const auto [first, last] = std::ranges::minmax(*chosen);
    const auto gaps = static_cast<std::int64_t>(chosen->size()) - 1;
    return places * std::max<std::int64_t>(1, (last - first + gaps - 1) / gaps);
}

Sequence SequenceList::at(std::int64_t number) const {
    const auto file = std::upper_bound(first_.begin(), first_.end(), number) - first_.begin() - 1;
    Sequence sequence{.file = static_cast<std::size_t>(file)};
    const auto begin = (number - first_[sequence.file]) * options_.step;
    for (std::int64_t i = 0; i < options_.length; ++i) {
        sequence.frames.push_back(files_[sequence.file].at(begin + i * options_.stride, options_.pad_mode));
    }
    return sequence;
}

}  // namespace tricodec::plugin
