// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence_reader.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <utility>

#include "common/arguments.h"
#include "common/errors.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec::plugin {
namespace {

/// The frames of a sequence, of which one exists. The file may have been replaced since its frames were counted.
std::vector<std::int64_t> expect_frames_there(const std::vector<std::int64_t>& frames, FrameReader& reader) {
    const auto num_frames = reader.num_frames();
    TRICODEC_EXPECT(std::ranges::max(frames) < num_frames, corrupt_data,
                    "it has " + std::to_string(num_frames) + " frames, fewer than when they were counted: frame " +
                        std::to_string(std::ranges::max(frames)) +
                        " does not exist any more; do not change files while they are read");
    return frames;
}

EpochOrder::Options order_options(const ::dali::OpSpec& spec) {
    const EpochOrder::Options options{.shard_id = int_argument(spec, "shard_id"),
                                      .num_shards = int_argument(spec, "num_shards"),
                                      .stick_to_shard = spec.GetArgument<bool>("stick_to_shard"),
                                      .random_shuffle = spec.GetArgument<bool>("random_shuffle"),
                                      .pad_last_batch = spec.GetArgument<bool>("pad_last_batch"),
                                      .seed = spec.GetArgument<std::int64_t>("seed")};
    TRICODEC_EXPECT(options.num_shards >= 1, invalid_argument,
                    "num_shards is " + std::to_string(options.num_shards) + "; it must be at least 1");
    TRICODEC_EXPECT(options.shard_id >= 0 && options.shard_id < options.num_shards, invalid_argument,
                    "shard_id is " + std::to_string(options.shard_id) + "; it must be from 0 to num_shards - 1, " +
                        std::to_string(options.num_shards - 1));
    return options;
}

}  // namespace

SequenceReader::FrameNumbers SequenceReader::parse_frame_numbers(const std::string& name) {
    if (name == "none" || name == "False") return FrameNumbers::none;  // Python's False comes as text
    if (name == "scalar" || name == "True") return FrameNumbers::first;
    if (name == "sequence") return FrameNumbers::all;
    fail(ErrorCode::invalid_argument, "enable_frame_num '" + name + "' is not one of none, scalar, sequence");
}

SequenceReader::SequenceReader(const ::dali::OpSpec& spec, const DecodingArguments& arguments, std::string device,
                               int num_threads)
    : selection_(spec),
      options_(translate_errors("", [&] { return SequenceOptions::from(spec, selection_); })),
      frame_numbers_(
          translate_errors("", [&] { return parse_frame_numbers(spec.GetArgument<std::string>("enable_frame_num")); })),
      order_options_(translate_errors("", [&] { return order_options(spec); })),
      gives_labels_(has_labels(spec)),
      empty_on_error_(arguments.empty_on_error()),
      num_threads_(num_threads) {
    int most_open = 0;
    translate_errors("", [&] {
        most_open = int_argument(spec, "max_open_files");
        TRICODEC_EXPECT(most_open >= 0, invalid_argument,
                        "max_open_files is " + std::to_string(most_open) + "; it must be at least 0");
        files_ = list_video_files(spec);
        for (const auto& file : files_) (void)to_int(file.label, "the label of a file");
    });
    std::vector<VideoLocation> locations;
    for (const auto& file : files_) locations.push_back(file.location);
    const FrameReaderOptions options{
        .device = std::move(device), .stream_index = arguments.stream_index(), .num_workers = num_threads};
    videos_ = std::make_unique<OpenVideos>(std::move(locations), options, static_cast<std::size_t>(most_open));
    if (!spec.GetArgument<bool>("lazy_init")) prepare();
}

std::vector<FileFrames> SequenceReader::frames_of_files() {
    std::vector<FileFrames> frames(files_.size());
    std::vector<std::exception_ptr> errors(files_.size());
    std::vector<std::function<void()>> tasks;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        tasks.emplace_back([&, i] {
            try {
                frames[i] = selection_.of(files_[i], videos_->open_to_count(i)->reader());
            } catch (...) {
                errors[i] = std::current_exception();
            }
        });
    }
    run_parallel(tasks, num_threads_);
    const auto num_failed = std::ranges::count_if(errors, [](const auto& error) { return error != nullptr; });
    for (std::size_t i = 0; i < files_.size(); ++i) {
        if (!errors[i]) continue;
        const auto failure = describe_failure(errors[i]);
        auto message = "File " + std::to_string(i) + " of " + std::to_string(files_.size()) + " (" +
                       files_[i].location.text() + "): " + failure.message;
        if (!empty_on_error_ || !is_fault_of_sample(failure.code)) {
            if (num_failed > 1) message += " [" + std::to_string(num_failed - 1) + " more files failed]";
            throw_dali(failure.code, message + "; on_error=\"empty\" leaves out files that cannot be opened");
        }
        log(LogLevel::warning, "read_video: " + message + "; it is left out");
    }
    return frames;
}

void SequenceReader::prepare() {
    std::lock_guard lock(preparing_);
    if (prepared_) return;
    auto frames = frames_of_files();
    std::int64_t longest = 0;
    for (const auto& each : frames) longest = std::max(longest, each.size());
    sequences_ = SequenceList(options_, std::move(frames));
    translate_errors("", [&] {
        TRICODEC_EXPECT(sequences_.size() > 0, invalid_argument,
                        "no file holds a sequence of " + std::to_string(options_.length) + " frames with stride " +
                            std::to_string(options_.stride) + ": the longest of " + std::to_string(files_.size()) +
                            " has " + std::to_string(longest) +
                            " frames to read; use a smaller sequence_length or stride, or a pad_mode");
        order_ = EpochOrder(order_options_, sequences_.size());
    });
    prepared_ = true;
}

std::vector<IntegerOutput> SequenceReader::integers_of(const std::vector<Sequence>& sequences) const {
    std::vector<IntegerOutput> outputs;
    if (gives_labels_) {
        outputs.emplace_back();
        for (const auto& sequence : sequences) outputs.back().samples.push_back({files_[sequence.file].label});
    }
    if (frame_numbers_ == FrameNumbers::none) return outputs;
    outputs.push_back({.one_a_frame = frame_numbers_ == FrameNumbers::all});
    for (const auto& sequence : sequences) {
        auto numbers = sequence.frames;
        if (frame_numbers_ == FrameNumbers::first) numbers.resize(1);
        outputs.back().samples.push_back(std::move(numbers));
    }
    return outputs;
}

VideoSource SequenceReader::video_of(std::size_t file, std::int64_t last_frame) const {
    bool continues = false;
    if (const auto number = order_.upcoming(); number >= 0) {
        const auto next = sequences_.at(number);
        const auto distance = next.frames.front() - last_frame;
        continues = next.file == file && distance > 0 && distance <= sequences_.reach(file);
    }
    return {.name = files_[file].location.text(),
            .open = [this, file](bool fresh) { return fresh ? videos_->open_fresh(file) : videos_->open(file); },
            .kept = true,
            .continues = continues};
}

std::vector<Task> SequenceReader::begin(VideoBatch& batch, const ::dali::ArgumentWorkspace& workspace, int batch_size) {
    prepare();
    videos_->end_batch();
    std::vector<Sequence> sequences;
    for (const auto number : order_.next(batch_size)) sequences.push_back(sequences_.at(number));
    std::map<std::size_t, std::int64_t> last_frames;  // of the files of the batch
    for (const auto& sequence : sequences) {
        const auto last = std::ranges::max(sequence.frames);
        last_frames[sequence.file] = std::max(last_frames[sequence.file], last);
    }
    std::map<std::size_t, std::size_t> places;
    std::vector<VideoSource> videos;
    for (const auto& [file, last_frame] : last_frames) {
        places[file] = videos.size();
        videos.push_back(video_of(file, last_frame));
    }
    std::vector<SampleRequest> requests;
    for (const auto& sequence : sequences) {
        requests.push_back({.video = places[sequence.file], .select = [frames = sequence.frames](FrameReader& reader) {
                                return expect_frames_there(frames, reader);
                            }});
    }
    return batch.begin(workspace, std::move(videos), std::move(requests), integers_of(sequences));
}

::dali::ReaderMeta SequenceReader::meta() {
    prepare();
    return {.epoch_size = order_.num_items(),
            .epoch_size_padded = order_.num_padded_items(),
            .number_of_shards = order_options_.num_shards,
            .shard_id = order_options_.shard_id,
            .pad_last_batch = order_options_.pad_last_batch,
            .stick_to_shard = order_options_.stick_to_shard};
}

EpochOrder::State SequenceReader::state() {
    prepare();
    return order_.state();
}

void SequenceReader::restore(const EpochOrder::State& state) {
    prepare();
    order_.restore(state);
}

}  // namespace tricodec::plugin
