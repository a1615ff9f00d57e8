// SPDX-License-Identifier: Apache-2.0
#include "tricodec/transform.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#include "image/color_matrix.h"
#include "image/cpu/engine.h"
#include "image/explain.h"
#include "image/options.h"
#include "image/plan.h"
#include "image/target.h"
#include "tricodec/error.h"
#include "tricodec/log.h"

namespace tricodec {
namespace {

constexpr std::size_t kMaxPlans = 8;  // a video has one; sizes that change in mid-stream have a few

void expect_frame(const Frame& frame) {
    TRICODEC_EXPECT(frame.device.kind == Device::Kind::cpu, unsupported,
                    "transform: the frame is on " + frame.device.to_string() + "; this engine takes frames on cpu");
    const PixelFormatInfo& format = info(frame.format);
    for (int plane = 0; plane < format.num_planes; ++plane) {
        TRICODEC_EXPECT(frame.planes[static_cast<std::size_t>(plane)].data != nullptr, invalid_argument,
                        "transform: plane " + std::to_string(plane) + " of the " + std::string(format.name) +
                            " frame has no memory");
    }
}

void expect_output(const TensorView& out, const std::vector<std::int64_t>& shape, DType dtype) {
    const TensorView wanted{nullptr, dtype, Device{}, shape, {}};
    TRICODEC_EXPECT(out.dtype == dtype && out.shape == shape && out.device == wanted.device, invalid_argument,
                    "transform: out is " + describe(out) + "; this frame needs " + describe(wanted));
    TRICODEC_EXPECT(out.strides_bytes.size() == shape.size(), invalid_argument,
                    "transform: out has " + std::to_string(out.strides_bytes.size()) + " strides for " +
                        std::to_string(shape.size()) + " axes");
    TRICODEC_EXPECT(out.data != nullptr, invalid_argument, "transform: out has no memory");
}

}  // namespace

/// The plans made last, most recent first.
struct Transform::Cache {
    std::shared_ptr<const image::PreparedPlan> find(const image::FrameKey& key) {
        const std::lock_guard lock(mutex_);
        const auto found =
            std::find_if(plans_.begin(), plans_.end(), [&](const auto& plan) { return plan->plan().key == key; });
        if (found == plans_.end()) return nullptr;
        plans_.splice(plans_.begin(), plans_, found);
        return plans_.front();
    }

    void add(std::shared_ptr<const image::PreparedPlan> plan) {
        const std::lock_guard lock(mutex_);
        plans_.push_front(std::move(plan));  // two threads may add the same plan; the older copy ages out
        if (plans_.size() > kMaxPlans) plans_.pop_back();
    }

private:
    std::mutex mutex_;
    std::list<std::shared_ptr<const image::PreparedPlan>> plans_;
};

Transform::Transform(TransformOptions options) : options_(std::move(options)), cache_(std::make_shared<Cache>()) {
    image::validate(options_);
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
    const image::FrameKey key = image::frame_key(frame, options_);
    auto plan = cache_->find(key);
    if (!plan) {
        plan = std::make_shared<const image::PreparedPlan>(image::make_plan(key, options_));
        if (log_level() == LogLevel::debug) {
            log(LogLevel::debug, "transform: " + image::explain(*plan, options_).to_string());
        }
        cache_->add(plan);
    }
    return plan;
}

void Transform::operator()(const Frame& frame, const TensorView& out) const {
    run_part(frame, out, 0, 1);
}

void Transform::run_part(const Frame& frame, const TensorView& out, int part, int num_parts) const {
    TRICODEC_EXPECT(num_parts >= 1 && part >= 0 && part < num_parts, invalid_argument,
                    "transform: part " + std::to_string(part) + " of " + std::to_string(num_parts) +
                        " parts does not exist; parts are numbered from 0");
    expect_frame(frame);
    const auto prepared_plan = prepared(frame);
    const image::Plan& plan = prepared_plan->plan();
    expect_output(out, image::shape_of(plan.output, num_channels(), options_.layout), options_.dtype);
    const auto row = [&](int number) { return static_cast<int>(std::int64_t{plan.grid.height} * number / num_parts); };
    prepared_plan->run(frame, out, row(part), row(part + 1));
}

Tensor Transform::operator()(const Frame& frame) const {
    Tensor result = Tensor::empty(output_shape(frame.width, frame.height, frame.orientation), options_.dtype);
    (*this)(frame, result.view);
    return result;
}

FusionReport Transform::explain(const Frame& geometry) const {
    return image::explain(*prepared(geometry), options_);
}

std::string Transform::describe() const {
    return image::describe(options_);
}

}  // namespace tricodec
