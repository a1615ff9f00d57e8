// SPDX-License-Identifier: Apache-2.0
#include "common/batch_decoder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "common/errors.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "tricodec/image/transform.h"
#include "tricodec/read/frame_reader.h"
#include "tricodec/tensor/raw_frames.h"

namespace tricodec::plugin {

/// The decoding of one video's samples.
struct BatchDecoder::VideoWork {
    std::vector<std::size_t> samples{};
    double size = 0;  ///< luma samples from the first to the last frame: what a decoder must go through
    std::int64_t num_frames = 0;
    FrameReader::Plan plan{};
    std::vector<std::exception_ptr> errors{};  // one a task: no lock, and the first one is the same in every run
    std::atomic<bool> failed{false};
};

BatchDecoder::BatchDecoder(VideoBatch& batch, Destination destination)
    : batch_(batch), destination_(std::move(destination)) {}

BatchDecoder::~BatchDecoder() = default;

int BatchDecoder::num_decoders(const VideoSample& sample) const {
    const int engines = num_engines(sample.video->reader());
    return engines > 0 ? 2 * engines : destination_.num_cores;  // two decoders keep an engine at work
}

int BatchDecoder::num_threads() const {
    int on_gpu = 0;
    int on_cpu = 0;
    for (const VideoSample& sample : batch_.samples()) {
        if (!sample.has_frames()) continue;
        int& most = num_engines(sample.video->reader()) > 0 ? on_gpu : on_cpu;
        most = std::max(most, num_decoders(sample));
    }
    return std::max(1, on_gpu + on_cpu);
}

std::vector<Task> BatchDecoder::tasks() {
    std::vector<std::vector<std::size_t>> samples_of(batch_.videos().size());
    for (std::size_t i = 0; i < batch_.samples().size(); ++i) {
        const VideoSample& sample = batch_.samples()[i];
        if (sample.has_frames()) samples_of[sample.request.video].push_back(i);
    }
    for (auto& samples : samples_of) {
        if (!samples.empty()) add_work(std::move(samples));
    }
    double total_size = 0;
    for (const auto& work : works_) total_size += work->size;
    std::vector<Task> tasks;
    for (const auto& work : works_) {
        try {
            plan(*work, total_size);
        } catch (...) {
            for (const std::size_t i : work->samples) batch_.samples()[i].error = std::current_exception();
            continue;
        }
        const double frame_cost = std::max(1.0, work->size / static_cast<double>(work->num_frames));
        for (std::size_t task = 0; task < work->plan.tasks.size(); ++task) {
            const auto run = [work, task] {
                if (work->failed.load(std::memory_order_relaxed)) return;
                try {
                    work->plan.tasks[task]();
                } catch (...) {
                    work->errors[task] = std::current_exception();
                    work->failed.store(true, std::memory_order_relaxed);
                }
            };
            tasks.push_back({run, static_cast<std::int64_t>(work->plan.costs[task] * frame_cost)});
        }
    }
    return tasks;
}

void BatchDecoder::add_work(std::vector<std::size_t> samples) {
    std::set<std::int64_t> frames;
    for (const std::size_t i : samples) {
        const auto& indices = batch_.samples()[i].indices;
        frames.insert(indices.begin(), indices.end());
    }
    frames.erase(kNoFrame);
    const auto& stream = batch_.samples()[samples.front()].video->reader().stream();
    const auto work = std::make_shared<VideoWork>();
    work->samples = std::move(samples);
    work->num_frames = static_cast<std::int64_t>(frames.size());
    work->size = static_cast<double>(*frames.rbegin() - *frames.begin() + 1) * std::max(1, stream.width) *
                 std::max(1, stream.height);
    works_.push_back(work);
}

void BatchDecoder::plan(VideoWork& work, double total_size) const {
    // The largest task that keeps all threads at work to the end is a thread's share of the batch.
    const VideoSample& first = batch_.samples()[work.samples.front()];
    const double decoders = num_decoders(first) * work.size / std::max(1.0, total_size);
    const int share = std::max(1, static_cast<int>(std::ceil(decoders)));
    work.plan = plan_samples(work.samples, {.max_tasks = share,
                                            .num_cores = share,
                                            .stream = destination_.stream,
                                            .resumable = batch_.video_of(first).continues});
    work.errors.resize(work.plan.tasks.size());
}

FrameReader::Plan BatchDecoder::plan_samples(const std::vector<std::size_t>& numbers,
                                             const FrameReader::PlanOptions& options) const {
    if (batch_.arguments().format()) return plan_raw(numbers, options);
    std::vector<FrameReader::Part> parts;
    for (const std::size_t i : numbers) {
        const VideoSample& sample = batch_.samples()[i];
        parts.push_back({request_of(sample), *sample.transform, [this, i](const std::vector<std::int64_t>& shape) {
                             auto* const data = place_of(i, static_cast<std::size_t>(shape[0]));
                             auto room = batch_.samples()[i].shape;
                             room[0] = shape[0];
                             const DType dtype = batch_.arguments().dtype();
                             return TensorView{.data = data,
                                               .dtype = dtype,
                                               .device = destination_.device,
                                               .shape = room,
                                               .strides_bytes = contiguous_strides(room, dtype)};
                         }});
    }
    return batch_.samples()[numbers.front()].video->reader().plan_parts(std::move(parts), options);
}

FrameRequest BatchDecoder::request_of(const VideoSample& sample) const {
    if (!batch_.video_of(sample).kept) return sample.request.select;
    // A part of a sequence, which was counted before, must be there.
    return FrameRequest::Numbers([indices = sample.indices](FrameReader&) { return indices; });
}

std::byte* BatchDecoder::place_of(std::size_t number, std::size_t num_frames) const {
    const auto planned = batch_.samples()[number].indices.size();
    TRICODEC_EXPECT(num_frames <= planned, corrupt_data,
                    "it is damaged: decoding gives " + std::to_string(num_frames) +
                        " of the frames asked for, and its packets promise " + std::to_string(planned) +
                        "; ask for them with count=" + std::to_string(planned));
    return static_cast<std::byte*>(destination_.data(static_cast<int>(number)));
}

FrameReader::Plan BatchDecoder::plan_raw(const std::vector<std::size_t>& numbers,
                                         const FrameReader::PlanOptions& options) const {
    const PixelFormat format = *batch_.arguments().format();
    const VideoSample& first = batch_.samples()[numbers.front()];
    const auto places = std::make_shared<std::vector<std::byte*>>();
    auto start = [this, numbers, places,
                  size = info(format).packed_bytes(first.width, first.height)](std::span<const SelectedFrames> frames) {
        places->clear();
        for (std::size_t k = 0; k < numbers.size(); ++k) {
            const auto count = frames[k].numbers.size();
            auto* place = place_of(numbers[k], count);
            for (std::size_t i = 0; i < count; ++i) places->push_back(std::exchange(place, place + size));
        }
    };
    auto write = [format, width = first.width, height = first.height, places, device = destination_.device,
                  stream = destination_.stream.value_or(StreamView{})](std::int64_t slot, const Frame& frame) {
        TRICODEC_EXPECT(frame.width == width && frame.height == height, unsupported,
                        "frame " + std::to_string(frame.index) + " is " + size_text(frame.width, frame.height) +
                            ", unlike the others, which are " + size_text(width, height) +
                            "; leave format out and pass size=(height, width)");
        Frame place = frame_over(format, width, height, (*places)[static_cast<std::size_t>(slot)]);
        place.device = device;
        convert_layout_into(frame, place, stream);
    };
    std::vector<FrameRequest> requests;
    for (const std::size_t i : numbers) requests.push_back(request_of(batch_.samples()[i]));
    return first.video->reader().plan_frames(std::move(requests), {std::move(start), std::move(write)}, options);
}

void BatchDecoder::finish() {
    for (const auto& work : std::exchange(works_, {})) finish_video(*work);
    for (VideoSample& sample : batch_.samples()) note_damage(sample);
}

void BatchDecoder::finish_video(VideoWork& work) {
    const VideoSample& first = batch_.samples()[work.samples.front()];
    if (first.error) return;  // it was not planned
    std::exception_ptr failure;
    for (const auto& error : work.errors) {
        if (error && !failure) failure = error;
    }
    std::vector<SelectedFrames> read;
    try {
        if (!failure) read = work.plan.finish();
    } catch (...) {
        failure = std::current_exception();
    }
    if (batch_.video_of(first).kept && (failure || first.video->depends_on_reads())) {
        // A sample's content and its damage must not depend on the samples that were read before.
        work.plan = {};  // waits until the GPU has written all that it was going to write
        for (const std::size_t i : work.samples) decode_fresh(i);
        return;
    }
    for (std::size_t k = 0; k < work.samples.size(); ++k) {
        VideoSample& sample = batch_.samples()[work.samples[k]];
        sample.error = failure;
        if (!failure) batch_.set_frames(sample, std::move(read[k].numbers));
    }
}

void BatchDecoder::decode_fresh(std::size_t number) {
    VideoSample& sample = batch_.samples()[number];
    try {
        sample.video = batch_.video_of(sample).open(true);
        const auto plan = plan_samples({number}, {.stream = destination_.stream});
        for (const auto& task : plan.tasks) task();
        batch_.set_frames(sample, std::move(plan.finish().front().numbers));
    } catch (...) {
        sample.error = std::current_exception();
    }
}

void BatchDecoder::note_damage(VideoSample& sample) const {
    if (!sample.video) return;
    const FrameReader& reader = sample.video->reader();
    sample.num_damaged_packets = reader.num_damaged_packets();
    if (sample.num_damaged_packets == 0 || !batch_.arguments().damage_is_error() || sample.error) return;
    const auto issues = reader.issues();
    const auto others = sample.num_damaged_packets - 1;
    const auto more = others == 0 ? "" : " (and " + std::to_string(others) + " more packets)";
    sample.error =
        std::make_exception_ptr(Error(ErrorCode::corrupt_data, "it is damaged: " + issues.front().message + more +
                                                                   "; on_damage=\"warn\" takes what can be decoded"));
}

}  // namespace tricodec::plugin
