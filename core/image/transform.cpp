// SPDX-License-Identifier: Apache-2.0
#include "tricodec/image/transform.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/cuda/kernel_set.h"
#include "base/fork.h"
#include "base/stage_scope.h"
#include "image/color_matrix.h"
#include "image/cpu/engine.h"
#include "image/cuda/cuda_plan.h"
#include "image/options.h"
#include "image/plan.h"
#include "image/target.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/tensor/hdr.h"

namespace tricodec {
namespace {

/// What engines made of plans, the last few of them by geometry. `Prepared` has plan(). Thread safety: safe.
template <class Prepared>
class PlanCache {
public:
    /// The one for `key`, made by `make(key)` if there is none.
    template <class Make>
    [[nodiscard]] std::shared_ptr<Prepared> find_or_make(const image::FrameKey& key, const Make& make) {
        if (auto found = find(key)) return found;
        std::shared_ptr<Prepared> made = make(key);  // two threads may make the same; the older one ages out
        const std::lock_guard lock(mutex_);
        prepared_.push_front(made);
        if (prepared_.size() > kMost) prepared_.pop_back();
        return made;
    }

private:
    static constexpr std::size_t kMost = 8;  // a video has one; sizes that change in mid-stream have a few

    std::shared_ptr<Prepared> find(const image::FrameKey& key) {
        const std::lock_guard lock(mutex_);
        const auto found =
            std::find_if(prepared_.begin(), prepared_.end(), [&](const auto& each) { return each->plan().key == key; });
        if (found == prepared_.end()) return nullptr;
        prepared_.splice(prepared_.begin(), prepared_, found);
        return prepared_.front();
    }

    ForkSafeMutex mutex_;
    std::list<std::shared_ptr<Prepared>> prepared_;  // the last used first
};

void expect_frame(const Frame& frame) {
    const PixelFormatInfo& format = info(frame.format);
    for (int plane = 0; plane < format.num_planes; ++plane) {
        TRICODEC_EXPECT(frame.planes[static_cast<std::size_t>(plane)].data != nullptr, invalid_argument,
                        "transform: plane " + std::to_string(plane) + " of the " + std::string(format.name) +
                            " frame has no memory");
    }
}

void expect_output(const TensorView& out, const std::vector<std::int64_t>& shape, DType dtype, Device device) {
    TRICODEC_EXPECT(out.dtype == dtype && out.shape == shape && out.device == device, invalid_argument,
                    "transform: out is " + describe(out) + "; this frame needs " +
                        describe(TensorView{nullptr, dtype, device, shape, {}}));
    TRICODEC_EXPECT(out.strides_bytes.size() == shape.size(), invalid_argument,
                    "transform: out has " + std::to_string(out.strides_bytes.size()) + " strides for " +
                        std::to_string(shape.size()) + " axes");
    TRICODEC_EXPECT(out.data != nullptr, invalid_argument, "transform: out has no memory");
}

using CudaPlans = PlanCache<image::gpu::CudaPlan>;

std::shared_ptr<image::gpu::CudaPlan> cuda_plan(CudaPlans& plans, const image::FrameKey& key,
                                                const TransformOptions& options) {
    return plans.find_or_make(key, [&](const image::FrameKey& wanted) {
        auto made = std::make_shared<const image::Plan>(image::make_plan(wanted, options));
        return std::make_shared<image::gpu::CudaPlan>(std::move(made));
    });
}

/// The options of the first three channels of "rgba", or of the last.
TransformOptions part_of_rgba(TransformOptions options, bool alpha) {
    for (auto* values : {&options.mean, &options.std}) {
        if (values->size() == 4)
            *values = alpha ? std::vector{(*values)[3]} : std::vector(values->begin(), values->begin() + 3);
    }
    options.color = alpha ? OutputColor::gray : OutputColor::rgb;
    if (alpha) options.matrix.reset();
    if (alpha) options.range.reset();
    return options;
}

/// Channels [first, end) of an output of four.
TensorView channels_of(TensorView out, Layout layout, int first, int end) {
    const std::size_t axis = layout == Layout::hwc ? 2 : 0;
    out.data = static_cast<std::byte*>(out.data) + first * out.strides_bytes[axis];
    out.shape[axis] = end - first;
    return out;
}

}  // namespace

struct Transform::Cache {
    PlanCache<const image::PreparedPlan> cpu;
    CudaPlans cuda;
    std::optional<Transform> rgb;  // of "rgba"
    std::optional<Transform> alpha;
    std::mutex mutex;
    std::vector<Frame> opaque;  // the last one that was needed, on the host and where it is used

    /// The opacity of a frame that has none of its own: one row on the CPU, which is every row.
    Frame opacity_of(const Frame& frame, StreamView stream) {
        if (frame.alpha) return *frame.alpha;
        const bool on_gpu = frame.device.kind == Device::Kind::cuda;
        const std::lock_guard lock(mutex);
        if (opaque.empty() || opaque.back().width != frame.width || opaque.back().height != frame.height ||
            opaque.back().device != frame.device) {
            Frame whole = alloc_frame(PixelFormat::gray, frame.width, on_gpu ? frame.height : 1);
            std::memset(whole.planes[0].data, 0xff, static_cast<std::size_t>(whole.size_bytes()));
            if (!on_gpu) whole.planes[0].stride_bytes = 0;
            whole.height = frame.height;
            whole.color.range = ColorRange::full;
            opaque.assign({whole});
            if (on_gpu) opaque.push_back(to_device(whole, frame.device, stream));
        }
        return opaque.back();
    }
};

Transform::Transform(TransformOptions options) : options_(std::move(options)), cache_(std::make_shared<Cache>()) {
    image::validate(options_);
    if (options_.color != OutputColor::rgba) return;
    cache_->rgb.emplace(part_of_rgba(options_, false));
    cache_->alpha.emplace(part_of_rgba(options_, true));
}

/// Calls `run` with each of the two transforms, its frame and its channels.
template <class Run>
void Transform::run_rgba(const Frame& frame, const TensorView& out, StreamView stream, const Run& run) const {
    expect_output(out, output_shape(frame.width, frame.height, frame.orientation), options_.dtype, frame.device);
    Frame alpha = cache_->opacity_of(frame, stream);
    alpha.orientation = frame.orientation;
    run(*cache_->rgb, frame, channels_of(out, options_.layout, 0, 3));
    run(*cache_->alpha, alpha, channels_of(out, options_.layout, 3, 4));
}

int Transform::num_channels() const noexcept {
    return image::num_channels(options_.color);
}

Size Transform::output_size(int width, int height, Orientation orientation) const {
    return image::upright_geometry(width, height, orientation, options_).output;
}

std::vector<std::int64_t> Transform::output_shape(int width, int height, Orientation orientation) const {
    return image::shape_of(output_size(width, height, orientation), num_channels(), options_.layout);
}

std::shared_ptr<const image::PreparedPlan> Transform::prepared(const Frame& frame) const {
    return cache_->cpu.find_or_make(image::frame_key(frame, options_), [this](const image::FrameKey& key) {
        auto plan = std::make_shared<const image::PreparedPlan>(image::make_plan(key, options_));
        if (log_level() == LogLevel::debug) {
            log(LogLevel::debug, "transform: " + image::explain(*plan, options_).to_string());
        }
        return plan;
    });
}

void Transform::operator()(const Frame& frame, const TensorView& out, StreamView stream) const {
    if (frame.device.kind == Device::Kind::cuda) return run_on_gpu({&frame, 1}, {&out, 1}, stream);
    run_part(frame, out, 0, 1);
}

void Transform::run_part(const Frame& frame, const TensorView& out, int part, int num_parts) const {
    TRICODEC_EXPECT(num_parts >= 1 && part >= 0 && part < num_parts, invalid_argument,
                    "transform: part " + std::to_string(part) + " of " + std::to_string(num_parts) +
                        " parts does not exist; parts are numbered from 0");
    TRICODEC_EXPECT(frame.device.kind == Device::Kind::cpu, unsupported,
                    "transform: the frame is on " + frame.device.to_string() +
                        ", where a picture is not made in parts; transform all of it");
    expect_frame(frame);
    if (options_.color == OutputColor::rgba) {
        return run_rgba(frame, out, {}, [&](const Transform& each, const Frame& from, const TensorView& to) {
            each.run_part(from, to, part, num_parts);
        });
    }
    if (part == 0 && options_.dtype == DType::uint8) warn_of_hdr(frame.color);
    const auto prepared_plan = prepared(frame);
    const image::Plan& plan = prepared_plan->plan();
    expect_output(out, image::shape_of(plan.output, num_channels(), options_.layout), options_.dtype, frame.device);
    const auto row = [&](int number) { return static_cast<int>(std::int64_t{plan.grid.height} * number / num_parts); };
    const StageScope scope(Stage::transform, part == 0 ? 1 : 0);
    prepared_plan->run(frame, out, row(part), row(part + 1));
}

Tensor Transform::operator()(const Frame& frame, StreamView stream) const {
    const auto shape = output_shape(frame.width, frame.height, frame.orientation);
    Tensor result = Tensor::empty(shape, options_.dtype, frame.device, stream);
    (*this)(frame, result.view, stream);
    if (result.buffer) result.buffer->written_on(stream);
    return result;
}

FusionReport Transform::explain(const Frame& geometry) const {
    if (options_.color == OutputColor::rgba) {
        auto report = cache_->rgb->explain(geometry);
        report.not_fused.emplace_back("alpha: the opacity is a picture of its own");
        return report;
    }
    const auto plan = prepared(geometry);
    if (geometry.device.kind == Device::Kind::cpu) return image::explain(*plan, options_);
    const auto shape = output_shape(geometry.width, geometry.height, geometry.orientation);
    const Tensor result = Tensor::empty(shape, options_.dtype, geometry.device);
    const auto kernel =
        cuda_plan(cache_->cuda, image::frame_key(geometry, options_), options_)->describe({&geometry, &result.view});
    auto report = image::explain(*plan, options_, kernel);
    report.engine = image_engine(geometry.device);
    return report;
}

void Transform::operator()(std::span<const Frame> frames, const TensorView& out, StreamView stream) const {
    TRICODEC_EXPECT(!out.shape.empty() && out.shape[0] == static_cast<std::int64_t>(frames.size()), invalid_argument,
                    "transform: out is " + tricodec::describe(out) + " for " + std::to_string(frames.size()) +
                        " frames; its first axis must be the number of frames");
    std::vector<TensorView> outs;
    outs.reserve(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) outs.push_back(out[static_cast<std::int64_t>(i)]);
    (*this)(frames, std::span<const TensorView>(outs), stream);
}

void Transform::operator()(std::span<const Frame> frames, std::span<const TensorView> outs, StreamView stream) const {
    TRICODEC_EXPECT(outs.size() == frames.size(), invalid_argument,
                    "transform: " + std::to_string(outs.size()) + " outputs for " + std::to_string(frames.size()) +
                        " frames; each needs one");
    for (std::size_t i = 0; i < frames.size(); ++i) {
        TRICODEC_EXPECT(frames[i].device == frames[0].device, invalid_argument,
                        "transform: frame " + std::to_string(i) + " is on " + frames[i].device.to_string() +
                            ", frame 0 on " + frames[0].device.to_string() + "; a batch must be on one device");
    }
    if (!frames.empty() && frames[0].device.kind == Device::Kind::cuda) return run_on_gpu(frames, outs, stream);
    for (std::size_t i = 0; i < frames.size(); ++i) (*this)(frames[i], outs[i]);
}

Tensor Transform::operator()(std::span<const Frame> frames, StreamView stream) const {
    TRICODEC_EXPECT(!frames.empty(), invalid_argument, "transform: a batch needs at least one frame");
    auto shape = output_shape(frames[0].width, frames[0].height, frames[0].orientation);
    shape.insert(shape.begin(), static_cast<std::int64_t>(frames.size()));
    Tensor result = Tensor::empty(shape, options_.dtype, frames[0].device, stream);
    (*this)(frames, result.view, stream);
    if (result.buffer) result.buffer->written_on(stream);
    return result;
}

void Transform::run_on_gpu(std::span<const Frame> frames, std::span<const TensorView> outs, StreamView stream) const {
    if (options_.color == OutputColor::rgba) {
        for (std::size_t i = 0; i < frames.size(); ++i) {
            run_rgba(frames[i], outs[i], stream, [&](const Transform& each, const Frame& from, const TensorView& to) {
                each.run_on_gpu({&from, 1}, {&to, 1}, stream);
            });
        }
        return;
    }
    const StageScope scope(Stage::transform, static_cast<std::int64_t>(frames.size()));
    std::vector<image::gpu::Job> jobs;  // of one geometry, one after the other
    jobs.reserve(frames.size());
    std::shared_ptr<image::gpu::CudaPlan> plan;
    std::vector<std::int64_t> shape;  // of the plan's outputs
    for (std::size_t i = 0; i < frames.size(); ++i) {
        expect_frame(frames[i]);
        if (options_.dtype == DType::uint8) warn_of_hdr(frames[i].color);
        const image::FrameKey key = image::frame_key(frames[i], options_);
        if (!plan || plan->plan().key != key) {
            if (plan) plan->run(jobs, stream);
            jobs.clear();
            plan = cuda_plan(cache_->cuda, key, options_);
            shape = image::shape_of(plan->plan().output, num_channels(), options_.layout);
        }
        expect_output(outs[i], shape, options_.dtype, frames[i].device);
        jobs.push_back({&frames[i], &outs[i]});
    }
    if (plan) plan->run(jobs, stream);
}

std::string Transform::describe() const {
    return image::describe(options_);
}

std::string image_engine(Device device) {
    if (device.kind == Device::Kind::cpu) return image_engine();
    const std::string reason = cuda::missing_kernels_reason();
    TRICODEC_EXPECT(reason.empty(), unsupported, "transform: frames on a GPU: " + reason);
    return "cuda";
}

}  // namespace tricodec
