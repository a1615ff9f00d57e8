// SPDX-License-Identifier: Apache-2.0
#include "video_batch.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "errors.h"
#include "options.h"
#include "tricodec/engines.h"
#include "tricodec/error.h"
#include "tricodec/gpu_frames.h"
#include "tricodec/log.h"
#include "tricodec/media_source.h"
#include "tricodec/raw_frames.h"

namespace tricodec::plugin {
namespace {

/// What has no meaning where frames are not transformed.
constexpr const char* kTransformArguments[] = {"crop",   "size",  "resize",      "antialias", "color",
                                               "matrix", "range", "unspecified", "rotate",    "dtype",
                                               "layout", "scale", "mean",        "std"};

/// How many samples of luma lie between the first and the last frame asked: what a decoder must go through.
double decoding_work(const std::vector<std::int64_t>& indices, const StreamInfo& stream) {
    if (indices.empty()) return 0;
    const auto [first, last] = std::minmax_element(indices.begin(), indices.end());
    return static_cast<double>(*last - *first + 1) * std::max(1, stream.width) * std::max(1, stream.height);
}

}  // namespace

/// The decoding of one sample.
struct VideoBatch::Work {
    std::size_t sample = 0;
    FrameReader::Plan plan{};
    std::vector<std::exception_ptr> errors{};  // one a task: no lock, and the first one is the same in every run
    std::atomic<bool> failed{false};
};

VideoBatch::VideoBatch(const ::dali::OpSpec& spec, std::string device)
    : device_(std::move(device)),
      start_("start", spec),
      stride_("stride", spec),
      count_("count", spec),
      arguments_(translate_errors("", [&] { return TransformArguments(spec, spec.GetArgument<bool>("rotate")); })),
      stream_index_(spec.GetArgument<int>("stream_index")) {
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
    });
}

void VideoBatch::read_arguments(const ::dali::Workspace& workspace, int num_samples) {
    const auto start = start_.values(workspace, num_samples);
    const auto stride = stride_.values(workspace, num_samples);
    const auto count = count_.values(workspace, num_samples);
    selections_.clear();
    for (std::size_t i = 0; i < start.size(); ++i) {
        selections_.push_back({.start = start[i][0], .stride = stride[i][0], .count = count[i][0]});
    }
    if (format_) return;
    const auto arguments = arguments_.for_samples(workspace, num_samples);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        samples_[i].transform = arguments[i].transform;
        samples_[i].error = arguments[i].error;
    }
}

void VideoBatch::open_sample(int index, const ::dali::TensorList<::dali::CPUBackend>& encoded) {
    Sample& sample = samples_[static_cast<std::size_t>(index)];
    if (sample.error) return;
    try {
        const auto size = static_cast<std::size_t>(encoded.tensor_shape(index).num_elements());
        TRICODEC_EXPECT(size > 0, corrupt_data, "it holds 0 bytes; each sample must be a whole video file");
        // DALI keeps the input alive until Run returns, and the reader ends there: no owner is needed.
        const auto* data = reinterpret_cast<const std::byte*>(encoded.tensor<std::uint8_t>(index));
        const auto source = MediaSource::from_bytes(
            {data, size}, nullptr, sample.source.empty() ? "sample " + std::to_string(index) : sample.source);
        // One worker: it is the batch's tasks that run at the same time.
        sample.reader = FrameReader::open(source, {.device = device_, .stream_index = stream_index_, .num_workers = 1});
        sample.indices = sample.reader->select(selections_[static_cast<std::size_t>(index)]);
        const auto& pts = sample.reader->pts_seconds();
        for (const std::int64_t frame : sample.indices)
            sample.pts_seconds.push_back(pts.at(static_cast<std::size_t>(frame)));
        const Frame geometry = sample.reader->geometry();
        sample.width = geometry.width;
        sample.height = geometry.height;
        sample.shape = format_ ? picture_shape(*format_, geometry.width, geometry.height)
                               : sample.transform->output_shape(geometry.width, geometry.height, geometry.orientation);
        sample.shape.insert(sample.shape.begin(), static_cast<std::int64_t>(sample.indices.size()));
        check_output_bytes(sample.shape, dtype());
        sample.work = decoding_work(sample.indices, sample.reader->stream());
    } catch (...) {
        sample.error = std::current_exception();
    }
}

std::vector<VideoBatch::Task> VideoBatch::begin(const ::dali::Workspace& workspace) {
    const auto& encoded = workspace.Input<::dali::CPUBackend>(0);
    if (encoded.type() != DALI_UINT8) {
        throw ::dali::DaliTypeError(::dali::make_string("the input \"encoded\" holds ", encoded.type(),
                                                        "; it takes the bytes of whole video files as uint8"));
    }
    if (encoded.sample_dim() != 1) {
        throw ::dali::DaliValueError(
            ::dali::make_string("the input \"encoded\" has ", encoded.sample_dim(),
                                " dimensions a sample; it takes 1: the bytes of a whole file"));
    }
    const int num_samples = encoded.num_samples();
    samples_ = std::vector<Sample>(static_cast<std::size_t>(num_samples));
    for (int i = 0; i < num_samples; ++i) {
        samples_[static_cast<std::size_t>(i)].source = encoded.GetMeta(i).GetSourceInfo();
    }
    read_arguments(workspace, num_samples);

    std::vector<Task> tasks;
    for (int i = 0; i < num_samples; ++i) {
        // Indexing reads the whole file: the longest first.
        tasks.push_back({[this, i, &encoded] { open_sample(i, encoded); }, encoded.tensor_shape(i).num_elements()});
    }
    return tasks;
}

int VideoBatch::num_threads(const Destination& destination) const {
    int engines = 0;
    bool on_cpu = false;
    for (const Sample& sample : samples_) {
        if (sample.indices.empty()) continue;
        engines = std::max(engines, num_engines(*sample.reader));
        on_cpu = on_cpu || num_engines(*sample.reader) == 0;
    }
    return std::max(1, 2 * engines + (on_cpu ? destination.num_cores : 0));
}

std::vector<VideoBatch::Task> VideoBatch::decode(const Destination& destination) {
    double total_work = 0;
    for (const Sample& sample : samples_) total_work += sample.work;

    std::vector<Task> tasks;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        Sample& sample = samples_[i];
        if (sample.indices.empty()) continue;
        const auto work = std::make_shared<Work>();
        work->sample = i;
        try {
            // A thread's worth of the batch is the largest task that keeps all threads at work to the end. An engine is
            // kept at work by two decoders.
            const int engines = num_engines(*sample.reader);
            const int threads = engines > 0 ? 2 * engines : destination.num_cores;
            const double share = std::ceil(threads * sample.work / std::max(1.0, total_work));
            work->plan = plan_sample(sample, destination.data(static_cast<int>(i)), destination,
                                     std::max(1, static_cast<int>(share)));
        } catch (...) {
            sample.error = std::current_exception();
            continue;
        }
        work->errors.resize(work->plan.tasks.size());
        const double frame_cost = std::max(1.0, sample.work / static_cast<double>(sample.indices.size()));
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
        works_.push_back(work);
    }
    return tasks;
}

void VideoBatch::finish() {
    for (const auto& work : std::exchange(works_, {})) {
        Sample& sample = samples_[work->sample];
        for (const auto& error : work->errors) {
            if (error && !sample.error) sample.error = error;
        }
        if (sample.error) continue;
        try {
            work->plan.finish();
        } catch (...) {
            sample.error = std::current_exception();
        }
    }
    for (Sample& sample : samples_) note_damage(sample);
}

void VideoBatch::note_damage(Sample& sample) const {
    if (!sample.reader) return;
    sample.num_damaged_packets = sample.reader->num_damaged_packets();
    if (sample.num_damaged_packets == 0 || !damage_is_error_ || sample.error) return;
    const auto issues = sample.reader->issues();
    const auto others = sample.num_damaged_packets - 1;
    const auto more = others == 0 ? "" : " (and " + std::to_string(others) + " more packets)";
    sample.error =
        std::make_exception_ptr(Error(ErrorCode::corrupt_data, "it is damaged: " + issues.front().message + more +
                                                                   "; on_damage=\"warn\" takes what can be decoded"));
}

void VideoBatch::clear() {
    works_.clear();
    samples_.clear();
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
        if (!sample.source.empty()) message += " (" + sample.source + ")";
        message += ": " + failure.message;
        if (!empty_on_error_ || !is_fault_of_sample(failure.code)) {
            if (num_failed > 1) message += " [" + std::to_string(num_failed - 1) + " more of this batch failed]";
            clear();
            throw_dali(failure.code, message);
        }
        log(LogLevel::warning, "decode_video: " + message + "; the sample is returned empty");
        sample.shape = empty_shape(sample);
        sample.indices.clear();
        sample.pts_seconds.clear();
        sample.reader.reset();
        sample.work = 0;
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
    outputs.resize(gives_damage_ ? 3 : 2);
    outputs[0] = {frames_shape(), to_dali(dtype())};
    outputs[1] = {pts_shape(), DALI_FLOAT64};
    if (gives_damage_) outputs[2] = {damage_shape(), DALI_INT64};
    return true;
}

FrameReader::Plan VideoBatch::plan_sample(Sample& sample, void* data, const Destination& destination,
                                          int max_tasks) const {
    if (!format_) {
        const TensorView out{.data = data,
                             .dtype = dtype(),
                             .device = destination.device,
                             .shape = sample.shape,
                             .strides_bytes = contiguous_strides(sample.shape, dtype())};
        return sample.reader->plan_batch(sample.indices, *sample.transform, out, max_tasks, destination.stream);
    }
    const std::int64_t size = info(*format_).packed_bytes(sample.width, sample.height);
    const auto write = [format = *format_, width = sample.width, height = sample.height, size,
                        first = static_cast<std::byte*>(data), device = destination.device,
                        stream = destination.stream.value_or(StreamView{})](std::int64_t slot, const Frame& frame) {
        TRICODEC_EXPECT(frame.width == width && frame.height == height, unsupported,
                        "frame " + std::to_string(frame.index) + " is " + std::to_string(frame.width) + "x" +
                            std::to_string(frame.height) + ", unlike the others, which are " + std::to_string(width) +
                            "x" + std::to_string(height) + "; leave format out and pass size=(height, width)");
        Frame place = frame_over(format, width, height, first + slot * size);
        place.device = device;
        convert_layout_into(frame, place, stream);
    };
    return sample.reader->plan_frames(sample.indices, write, max_tasks);
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
                               ::dali::TensorShape<>{static_cast<std::int64_t>(samples_[i].indices.size())});
    }
    return shape;
}

::dali::TensorListShape<> VideoBatch::damage_shape() const {
    return ::dali::uniform_list_shape(static_cast<int>(samples_.size()), {std::int64_t{1}});
}

}  // namespace tricodec::plugin
