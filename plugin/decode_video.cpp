// SPDX-License-Identifier: Apache-2.0
#include "decode_video.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "errors.h"
#include "options.h"
#include "tricodec/error.h"
#include "tricodec/limits.h"
#include "tricodec/log.h"
#include "tricodec/media_source.h"

namespace tricodec::plugin {
namespace {

::dali::DALIDataType to_dali(DType dtype) {
    switch (dtype) {
        case DType::float16:
            return DALI_FLOAT16;
        case DType::float32:
            return DALI_FLOAT;
        default:
            return DALI_UINT8;
    }
}

/// Throws Error(refused) if a sample's frames are more bytes than the limits allow, before DALI allocates them.
void check_output_bytes(const std::vector<std::int64_t>& shape, DType dtype) {
    const std::int64_t allowed = limits().max_output_bytes;
    std::int64_t total = static_cast<std::int64_t>(size_of(dtype));
    bool fits = true;
    for (const std::int64_t extent : shape) fits = fits && !__builtin_mul_overflow(total, extent, &total);
    TRICODEC_EXPECT(
        fits && total <= allowed, refused,
        "the request gives " + std::to_string(shape[0]) + " frames of " + std::to_string(shape[1]) + "x" +
            std::to_string(shape[2]) + "x" + std::to_string(shape[3]) + " " + std::string(to_string(dtype)) +
            ", more than the limit max_output_bytes " + std::to_string(allowed) +
            "; ask for fewer or smaller frames (count, stride, size), or raise it with tricodec.set_limits");
}

/// How many samples of luma lie between the first and the last frame asked: what a decoder must go through.
double decoding_work(const std::vector<std::int64_t>& indices, const StreamInfo& stream) {
    if (indices.empty()) return 0;
    const auto [first, last] = std::minmax_element(indices.begin(), indices.end());
    return static_cast<double>(*last - *first + 1) * std::max(1, stream.width) * std::max(1, stream.height);
}

}  // namespace

DecodeVideo::DecodeVideo(const ::dali::OpSpec& spec)
    : StatelessOperator(spec),
      start_("start", spec),
      stride_("stride", spec),
      count_("count", spec),
      crop_("crop", spec, {"top", "left", "height", "width"}),
      size_("size", spec, {"height", "width"}),
      stream_index_(spec.GetArgument<int>("stream_index")) {
    translate_errors("", [&] {
        const auto on_error = spec.GetArgument<std::string>("on_error");
        TRICODEC_EXPECT(on_error == "raise" || on_error == "empty", invalid_argument,
                        "on_error '" + on_error + "' is not one of raise, empty");
        empty_on_error_ = on_error == "empty";
        base_options_ = read_transform_options(spec);
        set_geometry(base_options_, crop_.constant(), size_.constant());
        // Made also where samples will get their own, so that a word that is not accepted fails when the pipeline is
        // built.
        auto transform = std::make_shared<const Transform>(base_options_);
        if (!crop_.differs_by_sample() && !size_.differs_by_sample()) constant_transform_ = std::move(transform);
    });
}

void DecodeVideo::read_arguments(const ::dali::Workspace& workspace, int num_samples) {
    const auto start = start_.values(workspace, num_samples);
    const auto stride = stride_.values(workspace, num_samples);
    const auto count = count_.values(workspace, num_samples);
    selections_.clear();
    for (std::size_t i = 0; i < start.size(); ++i) {
        selections_.push_back({.start = start[i][0], .stride = stride[i][0], .count = count[i][0]});
    }
    if (constant_transform_) {
        for (Sample& sample : samples_) sample.transform = constant_transform_;
        return;
    }
    const auto crop = crop_.values(workspace, num_samples);
    const auto size = size_.values(workspace, num_samples);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        // Equal neighbours share a Transform, and with it the plan of its resize.
        if (i > 0 && samples_[i - 1].transform && crop[i] == crop[i - 1] && size[i] == size[i - 1]) {
            samples_[i].transform = samples_[i - 1].transform;
            continue;
        }
        try {
            TransformOptions options = base_options_;
            set_geometry(options, crop[i], size[i]);
            samples_[i].transform = std::make_shared<const Transform>(options);
        } catch (...) {
            samples_[i].error = std::current_exception();
        }
    }
}

void DecodeVideo::open_sample(int index, const ::dali::TensorList<::dali::CPUBackend>& encoded) {
    Sample& sample = samples_[static_cast<std::size_t>(index)];
    if (sample.error) return;
    try {
        const auto size = static_cast<std::size_t>(encoded.tensor_shape(index).num_elements());
        TRICODEC_EXPECT(size > 0, corrupt_data, "it holds 0 bytes; each sample must be a whole video file");
        // DALI keeps the input alive until Run returns, and the reader ends there: no owner is needed.
        const auto* data = reinterpret_cast<const std::byte*>(encoded.tensor<std::uint8_t>(index));
        const auto source = MediaSource::from_bytes(
            {data, size}, nullptr, sample.source.empty() ? "sample " + std::to_string(index) : sample.source);
        // One worker: the parallelism is DALI's.
        sample.reader = FrameReader::open(source, {.device = "cpu", .stream_index = stream_index_, .num_workers = 1});
        sample.indices = sample.reader->select(selections_[static_cast<std::size_t>(index)]);
        const auto& pts = sample.reader->pts_seconds();
        for (const std::int64_t frame : sample.indices)
            sample.pts_seconds.push_back(pts.at(static_cast<std::size_t>(frame)));
        const Frame geometry = sample.reader->geometry();
        const auto shape = sample.transform->output_shape(geometry.width, geometry.height, geometry.orientation);
        sample.shape = {static_cast<std::int64_t>(sample.indices.size()), shape.at(0), shape.at(1), shape.at(2)};
        check_output_bytes(sample.shape, base_options_.dtype);
        sample.work = decoding_work(sample.indices, sample.reader->stream());
    } catch (...) {
        sample.error = std::current_exception();
    }
}

bool DecodeVideo::SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) {
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

    auto& pool = workspace.GetThreadPool();
    for (int i = 0; i < num_samples; ++i) {
        // Indexing reads the whole file: the longest first.
        pool.AddWork([this, i, &encoded](int /*thread*/) { open_sample(i, encoded); },
                     encoded.tensor_shape(i).num_elements());
    }
    pool.RunAll();
    settle_errors();

    if (empty_on_error_) return false;
    outputs.resize(2);
    outputs[0] = {frames_shape(), to_dali(base_options_.dtype)};
    outputs[1] = {pts_shape(), DALI_FLOAT64};
    return true;
}

void DecodeVideo::RunImpl(::dali::Workspace& workspace) {
    const auto& encoded = workspace.Input<::dali::CPUBackend>(0);
    auto& frames = workspace.Output<::dali::CPUBackend>(0);
    auto& pts = workspace.Output<::dali::CPUBackend>(1);
    if (empty_on_error_) {
        frames.Resize(frames_shape(), to_dali(base_options_.dtype));
        pts.Resize(pts_shape(), DALI_FLOAT64);
    }
    decode_samples(frames, workspace.GetThreadPool());
    settle_errors();
    for (int i = 0; i < encoded.num_samples(); ++i) {
        const Sample& sample = samples_[static_cast<std::size_t>(i)];
        if (frames.tensor_shape(i)[0] != sample.shape[0]) {  // emptied while it was decoded
            frames.ResizeSample(i, ::dali::TensorShape<>(sample.shape));
            pts.ResizeSample(i, ::dali::TensorShape<>{0});
        }
        if (!sample.pts_seconds.empty()) {
            std::memcpy(pts.mutable_tensor<double>(i), sample.pts_seconds.data(),
                        sample.pts_seconds.size() * sizeof(double));
        }
        frames.SetSourceInfo(i, sample.source);
        pts.SetSourceInfo(i, sample.source);
    }
    frames.SetLayout(base_options_.layout == Layout::chw ? "FCHW" : "FHWC");
    pts.SetLayout("F");
    samples_.clear();
}

void DecodeVideo::decode_samples(::dali::TensorList<::dali::CPUBackend>& frames, ::dali::ThreadPool& pool) {
    struct Work {
        FrameReader::Plan plan;
        std::vector<std::exception_ptr> errors;  // one a task: no lock, and the first one is the same in every run
        std::atomic<bool> failed{false};
    };
    double total_work = 0;
    for (const Sample& sample : samples_) total_work += sample.work;

    std::vector<Work> works(samples_.size());
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        Sample& sample = samples_[i];
        Work& work = works[i];
        if (sample.indices.empty()) continue;
        try {
            const DType dtype = base_options_.dtype;
            const TensorView out{.data = frames.raw_mutable_tensor(static_cast<int>(i)),
                                 .dtype = dtype,
                                 .device = {},
                                 .shape = sample.shape,
                                 .strides_bytes = contiguous_strides(sample.shape, dtype)};
            // A thread's worth of the batch is the largest task that keeps all threads at work to the end.
            const double share = std::ceil(pool.NumThreads() * sample.work / std::max(1.0, total_work));
            work.plan =
                sample.reader->plan_batch(sample.indices, *sample.transform, out, std::max(1, static_cast<int>(share)));
        } catch (...) {
            sample.error = std::current_exception();
            continue;
        }
        work.errors.resize(work.plan.tasks.size());
        const double frame_cost = std::max(1.0, sample.work / static_cast<double>(sample.indices.size()));
        for (std::size_t task = 0; task < work.plan.tasks.size(); ++task) {
            const auto run = [&work, task](int /*thread*/) {
                if (work.failed.load(std::memory_order_relaxed)) return;
                try {
                    work.plan.tasks[task]();
                } catch (...) {
                    work.errors[task] = std::current_exception();
                    work.failed.store(true, std::memory_order_relaxed);
                }
            };
            pool.AddWork(run, static_cast<std::int64_t>(work.plan.costs[task] * frame_cost));
        }
    }
    pool.RunAll();

    for (std::size_t i = 0; i < samples_.size(); ++i) {
        for (const auto& error : works[i].errors) {
            if (error && !samples_[i].error) samples_[i].error = error;
        }
        if (samples_[i].error || !works[i].plan.finish) continue;
        try {
            works[i].plan.finish();
        } catch (...) {
            samples_[i].error = std::current_exception();
        }
    }
}

void DecodeVideo::settle_errors() {
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
            samples_.clear();  // readers must not outlive the input's memory
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

std::vector<std::int64_t> DecodeVideo::empty_shape(const Sample& sample) const {
    if (sample.shape.size() == 4) return {0, sample.shape[1], sample.shape[2], sample.shape[3]};
    // Not even the picture's size is known: the one asked for, or 0.
    const Size size = sample.transform ? sample.transform->options().size.value_or(Size{}) : Size{};
    const int channels = base_options_.color == OutputColor::gray ? 1 : 3;
    if (base_options_.layout == Layout::chw) return {0, channels, size.height, size.width};
    return {0, size.height, size.width, channels};
}

::dali::TensorListShape<> DecodeVideo::frames_shape() const {
    ::dali::TensorListShape<> shape(static_cast<int>(samples_.size()), 4);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        shape.set_tensor_shape(static_cast<int>(i), ::dali::TensorShape<>(samples_[i].shape));
    }
    return shape;
}

::dali::TensorListShape<> DecodeVideo::pts_shape() const {
    ::dali::TensorListShape<> shape(static_cast<int>(samples_.size()), 1);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        shape.set_tensor_shape(static_cast<int>(i),
                               ::dali::TensorShape<>{static_cast<std::int64_t>(samples_[i].indices.size())});
    }
    return shape;
}

}  // namespace tricodec::plugin
