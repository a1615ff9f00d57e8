// SPDX-License-Identifier: Apache-2.0
#include "video_batch.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "errors.h"
#include "options.h"
#include "tricodec/engines.h"
#include "tricodec/error.h"
#include "tricodec/gpu_frames.h"
#include "tricodec/log.h"
#include "tricodec/raw_frames.h"

namespace tricodec::plugin {
namespace {

/// What has no meaning where frames are not transformed.
constexpr const char* kTransformArguments[] = {"crop",   "size",  "resize",      "antialias", "color",
                                               "matrix", "range", "unspecified", "rotate",    "dtype",
                                               "layout", "scale", "mean",        "std"};

/// Places that no frame fills, as bytes of the output.
template <typename T>
std::vector<std::byte> repeated(T value, std::size_t count) {
    const std::vector<T> values(count, value);
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

}  // namespace

/// The decoding of one video's samples.
struct VideoBatch::Work {
    std::vector<std::size_t> samples{};
    Destination destination{};
    double size = 0;  ///< samples of luma from the first to the last frame asked: what a decoder must go through
    std::int64_t num_frames = 0;
    FrameReader::Plan plan{};
    std::vector<std::exception_ptr> errors{};  // one a task: no lock, and the first one is the same in every run
    std::atomic<bool> failed{false};
};

VideoBatch::VideoBatch(const ::dali::OpSpec& spec, std::string operation, float fill_value)
    : operation_(std::move(operation)),
      fill_value_(fill_value),
      arguments_(translate_errors("", [&] { return TransformArguments(spec, spec.GetArgument<bool>("rotate")); })) {
    translate_errors("", [&] {
        const auto on_error = spec.GetArgument<std::string>("on_error");
        TRICODEC_EXPECT(on_error == "raise" || on_error == "empty", invalid_argument,
                        "on_error '" + on_error + "' is not one of raise, empty");
        empty_on_error_ = on_error == "empty";
        const auto on_damage = spec.GetArgument<std::string>("on_damage");
        TRICODEC_EXPECT(on_damage == "warn" || on_damage == "error", invalid_argument,
                        "on_damage '" + on_damage + "' is not one of warn, error");
        damage_is_error_ = on_damage == "error";
        gives_damage_ = spec.GetArgument<bool>("num_damaged_packets");
        if (spec.HasArgument("format")) format_ = parse_pixel_format(spec.GetArgument<std::string>("format"));
        for (const char* name : kTransformArguments) {
            TRICODEC_EXPECT(!format_ || !(spec.ArgumentDefined(name) || spec.HasTensorArgument(name)), invalid_argument,
                            "format gives frames as they are decoded, and " + std::string(name) +
                                " transforms them; leave one out, or pass the frames to fn.tricodec.transform");
        }
        const float most = dtype() == DType::uint8 ? 255.0F : dtype() == DType::uint16 ? 65535.0F : 0.0F;
        const bool fits =
            most == 0 || (fill_value_ >= 0 && fill_value_ <= most && std::trunc(fill_value_) == fill_value_);
        TRICODEC_EXPECT(fits, invalid_argument,
                        "fill_value is " + ::dali::make_string(fill_value_) + "; frames of " +
                            std::string(to_string(dtype())) + " hold integers from 0 to " +
                            std::to_string(static_cast<int>(most)));
    });
}

void VideoBatch::open_video(std::size_t number) {
    std::shared_ptr<OpenVideo> video;
    std::exception_ptr error;
    try {
        video = videos_[number].open(false);
    } catch (...) {
        error = std::current_exception();
    }
    for (Sample& sample : samples_) {
        if (sample.request.video != number || sample.error) continue;
        sample.error = error;
        sample.video = video;
        if (!error) open_sample(sample);
    }
}

void VideoBatch::open_sample(Sample& sample) const {
    try {
        auto& reader = sample.video->reader();
        sample.indices = sample.request.frames(reader);
        const auto& pts = reader.pts_seconds();
        for (const std::int64_t frame : sample.indices)
            sample.pts_seconds.push_back(pts.at(static_cast<std::size_t>(frame)));
        const auto num_frames = sample.indices.size() + static_cast<std::size_t>(sample.request.num_padded);
        sample.pts_seconds.resize(num_frames, std::numeric_limits<double>::quiet_NaN());
        const Frame geometry = reader.geometry();
        sample.width = geometry.width;
        sample.height = geometry.height;
        sample.shape = format_ ? picture_shape(*format_, geometry.width, geometry.height)
                               : sample.transform->output_shape(geometry.width, geometry.height, geometry.orientation);
        sample.shape.insert(sample.shape.begin(), static_cast<std::int64_t>(num_frames));
        check_output_bytes(sample.shape, dtype());
    } catch (...) {
        sample.error = std::current_exception();
    }
}

std::vector<VideoBatch::Task> VideoBatch::begin(const ::dali::ArgumentWorkspace& workspace, std::vector<Video> videos,
                                                std::vector<Request> requests, std::vector<Integers> integers) {
    videos_ = std::move(videos);
    integers_ = std::move(integers);
    samples_ = std::vector<Sample>(requests.size());
    for (std::size_t i = 0; i < samples_.size(); ++i) samples_[i].request = std::move(requests[i]);
    if (!format_) {
        const auto arguments = arguments_.for_samples(workspace, size());
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            samples_[i].transform = arguments[i].transform;
            samples_[i].error = arguments[i].error;
        }
    }
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < videos_.size(); ++i) tasks.push_back({[this, i] { open_video(i); }, videos_[i].cost});
    return tasks;
}

std::vector<std::vector<std::size_t>> VideoBatch::samples_by_video() const {
    std::vector<std::vector<std::size_t>> numbers(videos_.size());
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        if (!samples_[i].indices.empty()) numbers[samples_[i].request.video].push_back(i);
    }
    std::erase_if(numbers, [](const auto& list) { return list.empty(); });
    return numbers;
}

int VideoBatch::num_threads(const Destination& destination) const {
    int engines = 0;
    bool on_cpu = false;
    for (const Sample& sample : samples_) {
        if (sample.indices.empty()) continue;
        const int engines_of_it = num_engines(sample.video->reader());
        engines = std::max(engines, engines_of_it);
        on_cpu = on_cpu || engines_of_it == 0;
    }
    return std::max(1, 2 * engines + (on_cpu ? destination.num_cores : 0));
}

std::vector<VideoBatch::Task> VideoBatch::decode(const Destination& destination) {
    double total_size = 0;
    for (auto& numbers : samples_by_video()) {
        const auto work = std::make_shared<Work>();
        work->destination = destination;
        std::set<std::int64_t> frames;
        for (const std::size_t i : numbers) frames.insert(samples_[i].indices.begin(), samples_[i].indices.end());
        work->num_frames = static_cast<std::int64_t>(frames.size());
        const auto& stream = samples_[numbers.front()].video->reader().stream();
        work->size = static_cast<double>(*frames.rbegin() - *frames.begin() + 1) * std::max(1, stream.width) *
                     std::max(1, stream.height);
        work->samples = std::move(numbers);
        total_size += work->size;
        works_.push_back(work);
    }
    std::vector<Task> tasks;
    for (const auto& work : works_) {
        const Sample& first = samples_[work->samples.front()];
        try {
            // A thread's worth of the batch is the largest task that keeps all threads at work to the end. An engine is
            // kept at work by two decoders.
            const int engines = num_engines(first.video->reader());
            const int threads = engines > 0 ? 2 * engines : destination.num_cores;
            const int share =
                std::max(1, static_cast<int>(std::ceil(threads * work->size / std::max(1.0, total_size))));
            work->plan = plan_samples(work->samples, destination,
                                      {.max_tasks = share,
                                       .num_cores = share,
                                       .stream = destination.stream,
                                       .goes_on = videos_[first.request.video].goes_on});
        } catch (...) {
            for (const std::size_t i : work->samples) samples_[i].error = std::current_exception();
            continue;
        }
        work->errors.resize(work->plan.tasks.size());
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

void VideoBatch::finish() {
    for (const auto& work : std::exchange(works_, {})) finish_work(*work);
    for (Sample& sample : samples_) note_damage(sample);
}

void VideoBatch::finish_work(Work& work) {
    const Sample& first = samples_[work.samples.front()];
    if (first.error) return;  // it was not planned
    std::exception_ptr failure;
    for (const auto& error : work.errors) {
        if (error && !failure) failure = error;
    }
    try {
        if (!failure) work.plan.finish();
    } catch (...) {
        failure = std::current_exception();
    }
    const bool alone = !videos_[first.request.video].kept;
    if (alone) {
        for (const std::size_t i : work.samples) samples_[i].error = failure;
        if (!first.video->renumbered()) return;
        work.plan = {};  // a GPU has written all that it was going to write
        for (const std::size_t i : work.samples) decode_renumbered(i, work.destination);
    } else if (failure || first.video->depends_on_reads()) {
        // What the samples are, and what is said of them, must not depend on which others were read before.
        work.plan = {};  // a GPU has written all that it was going to write
        for (const std::size_t i : work.samples) decode_alone(i, work.destination);
    }
}

void VideoBatch::decode_renumbered(std::size_t number, const Destination& destination) {
    Sample& sample = samples_[number];
    const auto failure = std::exchange(sample.error, nullptr);
    const auto planned = std::exchange(sample.indices, {});
    sample.pts_seconds.clear();
    open_sample(sample);
    if (sample.error) return;
    if (sample.indices == planned) {
        sample.error = failure;
        return;
    }
    try {
        // The output has room for those that were planned.
        TRICODEC_EXPECT(sample.indices.size() <= planned.size(), corrupt_data,
                        "it is damaged: decoding gives " + std::to_string(sample.indices.size()) +
                            " of the frames asked for, and its packets promise " + std::to_string(planned.size()) +
                            "; ask for them with count=" + std::to_string(planned.size()));
        if (sample.indices.empty()) return;
        const auto plan = plan_samples({number}, destination, {.stream = destination.stream});
        for (const auto& task : plan.tasks) task();
        plan.finish();
    } catch (...) {
        sample.error = std::current_exception();
    }
}

void VideoBatch::decode_alone(std::size_t number, const Destination& destination) {
    Sample& sample = samples_[number];
    try {
        sample.video = videos_[sample.request.video].open(true);
        const auto plan = plan_samples({number}, destination, {.stream = destination.stream});
        for (const auto& task : plan.tasks) task();
        plan.finish();
    } catch (...) {
        sample.error = std::current_exception();
    }
}

void VideoBatch::note_damage(Sample& sample) const {
    if (!sample.video) return;
    const FrameReader& reader = sample.video->reader();
    sample.num_damaged_packets = reader.num_damaged_packets();
    if (sample.num_damaged_packets == 0 || !damage_is_error_ || sample.error) return;
    const auto issues = reader.issues();
    const auto others = sample.num_damaged_packets - 1;
    const auto more = others == 0 ? "" : " (and " + std::to_string(others) + " more packets)";
    sample.error =
        std::make_exception_ptr(Error(ErrorCode::corrupt_data, "it is damaged: " + issues.front().message + more +
                                                                   "; on_damage=\"warn\" takes what can be decoded"));
}

void VideoBatch::clear() {
    works_.clear();
    samples_.clear();
    videos_.clear();
    integers_.clear();
}

void VideoBatch::settle_errors() {
    std::size_t num_failed = 0;
    for (const Sample& sample : samples_) num_failed += sample.error ? 1 : 0;
    if (num_failed == 0) return;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        Sample& sample = samples_[i];
        if (!sample.error) continue;
        const Failure failure = describe_failure(sample.error);
        std::string message = "Sample " + std::to_string(i) + " of the batch of " + std::to_string(samples_.size());
        if (!source(static_cast<int>(i)).empty()) message += " (" + source(static_cast<int>(i)) + ")";
        message += ": " + failure.message;
        if (!empty_on_error_ || !is_fault_of_sample(failure.code)) {
            if (num_failed > 1) message += " [" + std::to_string(num_failed - 1) + " more of this batch failed]";
            clear();
            throw_dali(failure.code, message);
        }
        log(LogLevel::warning, operation_ + ": " + message + "; the sample is returned empty");
        sample.shape = empty_shape(sample);
        sample.indices.clear();
        sample.pts_seconds.clear();
        sample.request.num_padded = 0;
        for (Integers& output : integers_) {
            if (output.one_a_frame) output.samples[i].clear();
        }
        sample.error = nullptr;
    }
}

bool VideoBatch::settle_shapes(std::vector<::dali::OutputDesc>& outputs) {
    settle_errors();
    try {
        check_batch_bytes(frames_shape(), dtype());
    } catch (const Error& error) {
        clear();
        throw_dali(error.code(), error.what());
    }
    if (empty_on_error_) return false;
    outputs.clear();
    outputs.push_back({frames_shape(), to_dali(dtype())});
    outputs.push_back({pts_shape(), DALI_FLOAT64});
    for (const Integers& output : integers()) outputs.push_back({shape_of(output), output.type});
    return true;
}

FrameReader::Plan VideoBatch::plan_samples(const std::vector<std::size_t>& numbers, const Destination& destination,
                                           const FrameReader::PlanOptions& options) const {
    if (format_) return plan_raw(numbers, destination, options);
    std::vector<FrameReader::Part> parts;
    for (const std::size_t i : numbers) {
        const Sample& sample = samples_[i];
        auto shape = sample.shape;
        shape[0] = static_cast<std::int64_t>(sample.indices.size());
        const auto strides = contiguous_strides(shape, dtype());
        parts.push_back({sample.indices, *sample.transform,
                         TensorView{.data = destination.data(static_cast<int>(i)),
                                    .dtype = dtype(),
                                    .device = destination.device,
                                    .shape = std::move(shape),
                                    .strides_bytes = strides}});
    }
    return samples_[numbers.front()].video->reader().plan_parts(std::move(parts), options);
}

FrameReader::Plan VideoBatch::plan_raw(const std::vector<std::size_t>& numbers, const Destination& destination,
                                       const FrameReader::PlanOptions& options) const {
    const Sample& first = samples_[numbers.front()];
    const std::int64_t size = info(*format_).packed_bytes(first.width, first.height);
    std::vector<std::int64_t> indices;
    std::vector<std::byte*> places;
    for (const std::size_t i : numbers) {
        auto* place = static_cast<std::byte*>(destination.data(static_cast<int>(i)));
        for (const std::int64_t frame : samples_[i].indices) {
            indices.push_back(frame);
            places.push_back(std::exchange(place, place + size));
        }
    }
    auto write = [format = *format_, width = first.width, height = first.height, places = std::move(places),
                  device = destination.device,
                  stream = destination.stream.value_or(StreamView{})](std::int64_t slot, const Frame& frame) {
        TRICODEC_EXPECT(frame.width == width && frame.height == height, unsupported,
                        "frame " + std::to_string(frame.index) + " is " + std::to_string(frame.width) + "x" +
                            std::to_string(frame.height) + ", unlike the others, which are " + std::to_string(width) +
                            "x" + std::to_string(height) + "; leave format out and pass size=(height, width)");
        Frame place = frame_over(format, width, height, places[static_cast<std::size_t>(slot)]);
        place.device = device;
        convert_layout_into(frame, place, stream);
    };
    return first.video->reader().plan_frames(indices, std::move(write), options);
}

VideoBatch::Padding VideoBatch::padding(int number) const {
    const Sample& sample = at(number);
    if (sample.request.num_padded == 0) return {};
    std::size_t frame_elements = 1;
    for (std::size_t axis = 1; axis < sample.shape.size(); ++axis) {
        frame_elements *= static_cast<std::size_t>(sample.shape[axis]);
    }
    const auto count = static_cast<std::size_t>(sample.request.num_padded) * frame_elements;
    Padding padding{.offset = sample.indices.size() * frame_elements * size_of(dtype())};
    switch (dtype()) {
        case DType::float32:
            padding.bytes = repeated(fill_value_, count);
            break;
        case DType::float16:
            padding.bytes = repeated(::dali::float16(fill_value_), count);
            break;
        case DType::uint16:
            padding.bytes = repeated(static_cast<std::uint16_t>(fill_value_), count);
            break;
        default:
            padding.bytes = repeated(static_cast<std::uint8_t>(fill_value_), count);
    }
    return padding;
}

DType VideoBatch::dtype() const {
    return format_ ? sample_dtype(*format_) : arguments_.options().dtype;
}

std::string VideoBatch::layout() const {
    return format_ ? raw_layout_name(*format_) : "F" + layout_name(arguments_.options().layout);
}

std::vector<std::int64_t> VideoBatch::empty_shape(const Sample& sample) const {
    auto shape = sample.shape;
    if (shape.empty() && !format_) {
        // Not even the picture's size is known: the one asked for, or 0.
        const bool known = sample.transform && sample.transform->options().size;
        const Size size = known ? *sample.transform->options().size : Size{1, 1};
        TransformOptions whole;
        whole.color = arguments_.options().color;
        whole.layout = arguments_.options().layout;
        shape = Transform(whole).output_shape(size.width, size.height, {});
        shape.insert(shape.begin(), 0);
        const std::string letters = layout();
        for (std::size_t axis = 0; axis < letters.size() && !known; ++axis) {
            if (letters[axis] == 'H' || letters[axis] == 'W') shape[axis] = 0;
        }
    }
    shape.resize(layout().size());
    shape[0] = 0;
    return shape;
}

::dali::TensorListShape<> VideoBatch::frames_shape() const {
    ::dali::TensorListShape<> shape(static_cast<int>(samples_.size()), static_cast<int>(layout().size()));
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        shape.set_tensor_shape(static_cast<int>(i), ::dali::TensorShape<>(samples_[i].shape));
    }
    return shape;
}

::dali::TensorListShape<> VideoBatch::pts_shape() const {
    ::dali::TensorListShape<> shape(static_cast<int>(samples_.size()), 1);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        shape.set_tensor_shape(static_cast<int>(i),
                               ::dali::TensorShape<>{static_cast<std::int64_t>(samples_[i].pts_seconds.size())});
    }
    return shape;
}

std::vector<VideoBatch::Integers> VideoBatch::integers() const {
    auto outputs = integers_;
    if (!gives_damage_) return outputs;
    outputs.push_back({.type = DALI_INT64});
    for (const Sample& sample : samples_) outputs.back().samples.push_back({sample.num_damaged_packets});
    return outputs;
}

::dali::TensorListShape<> VideoBatch::shape_of(const Integers& integers) {
    ::dali::TensorListShape<> shape(static_cast<int>(integers.samples.size()), 1);
    for (std::size_t i = 0; i < integers.samples.size(); ++i) {
        shape.set_tensor_shape(static_cast<int>(i),
                               ::dali::TensorShape<>{static_cast<std::int64_t>(integers.samples[i].size())});
    }
    return shape;
}

}  // namespace tricodec::plugin
