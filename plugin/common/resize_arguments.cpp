// SPDX-License-Identifier: Apache-2.0
#include "common/resize_arguments.h"

#include <dali/pipeline/operator/op_schema.h>

#include <algorithm>
#include <string>

#include "common/arguments.h"
#include "tricodec/base/error.h"

namespace tricodec::plugin {
namespace {

constexpr std::size_t kMostTransforms = 256;  // each has the plan of its resize
constexpr const char* kExtents[] = {"resize_x", "resize_y", "resize_shorter", "resize_longer"};

void expect_nothing_beside(const ::dali::OpSpec& spec, const char* word) {
    if (!spec.ArgumentDefined(word)) return;
    for (const char* other : kExtents) {
        TRICODEC_EXPECT(std::string(word) == other || !spec.ArgumentDefined(other), invalid_argument,
                        std::string(word) + " and " + other + " are both given; " + word +
                            " determines both extents, so leave one out");
    }
    TRICODEC_EXPECT(!spec.ArgumentDefined("mode"), invalid_argument,
                    std::string(word) + " and mode are both given; " + word + " is a mode, so leave one out");
}

}  // namespace

ResizeArguments::ResizeArguments(const ::dali::OpSpec& spec)
    : spec_(spec),
      height_("resize_y", spec),
      width_("resize_x", spec),
      shorter_("resize_shorter", spec),
      longer_("resize_longer", spec) {
    given_ = std::ranges::any_of(kExtents, [&](const char* name) { return spec.ArgumentDefined(name); });
    for (const char* name : kExtents) expect_one_word(spec, "size", name);
    expect_nothing_beside(spec, "resize_shorter");
    expect_nothing_beside(spec, "resize_longer");
    for (const char* name : {"mode", "max_size"}) {
        TRICODEC_EXPECT(given_ || !spec.ArgumentDefined(name), invalid_argument,
                        std::string(name) +
                            " is for resize_x, resize_y, resize_shorter and resize_longer, and none "
                            "of them is given");
    }
    request_.mode = spec.ArgumentDefined("resize_shorter")  ? ResizeMode::not_smaller
                    : spec.ArgumentDefined("resize_longer") ? ResizeMode::not_larger
                                                            : parse_resize_mode(spec.GetArgument<std::string>("mode"));
    if (!spec.ArgumentDefined("max_size")) return;
    const auto most = spec.GetRepeatedArgument<float>("max_size");
    TRICODEC_EXPECT(most.size() == 1 || most.size() == 2, invalid_argument,
                    "max_size has " + std::to_string(most.size()) + " numbers; it takes one, or (height, width)");
    request_.max_height = most.front();
    request_.max_width = most.back();
}

std::vector<ResizeRequest> ResizeArguments::for_samples(const ::dali::ArgumentWorkspace& workspace, int num_samples) {
    if (!given_) return {};
    for (Extent* extent : {&height_, &width_, &shorter_, &longer_}) {
        if (extent->HasExplicitValue()) extent->Acquire(spec_, workspace, num_samples);
    }
    std::vector<ResizeRequest> requests(static_cast<std::size_t>(num_samples), request_);
    for (int i = 0; i < num_samples; ++i) {
        const auto value = [i](const Extent& extent) { return extent.HasExplicitValue() ? *extent[i].data : 0.0F; };
        auto& request = requests[static_cast<std::size_t>(i)];
        const float both = value(shorter_) + value(longer_);
        request.height = both + value(height_);
        request.width = both + value(width_);
    }
    return requests;
}

std::shared_ptr<const Transform> SizedTransforms::get(const std::shared_ptr<const Transform>& transform, Size size) {
    std::lock_guard lock(mutex_);
    auto& made = made_[{transform, {size.height, size.width}}];
    if (!made) {
        auto options = transform->options();
        options.size = size;
        made = std::make_shared<const Transform>(options);
    }
    auto result = made;
    if (made_.size() > kMostTransforms) made_.clear();
    return result;
}

}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__ResizeArguments)
    .DocStr("The size of frames with the arguments of DALI's resize.")
    .AddOptionalArg("resize_x", "Width in pixels. Without ``resize_y`` the proportions are kept.", 0.0f, true)
    .AddOptionalArg("resize_y", "Height in pixels. Without ``resize_x`` the proportions are kept.", 0.0f, true)
    .AddOptionalArg("resize_shorter", "Length of the shorter side; the proportions are kept.", 0.0f, true)
    .AddOptionalArg("resize_longer", "Length of the longer side; the proportions are kept.", 0.0f, true)
    .AddOptionalArg(
        "mode",
        "How ``resize_x`` and ``resize_y`` are reached: ``\"default\"`` and ``\"stretch\"`` exactly, where "
        "``\"stretch\"`` keeps an extent that is not given; ``\"not_larger\"`` and ``\"not_smaller\"`` keep "
        "the proportions.",
        "default")
    .AddOptionalArg<std::vector<float>>("max_size", "The largest size: one number, or ``(height, width)``.", nullptr)
    .AddOptionalArg("interp_type",
                    "Filter of the resize: ``INTERP_NN``, ``INTERP_LINEAR``, ``INTERP_CUBIC`` or "
                    "``INTERP_TRIANGULAR``; DALI's name for ``resize``.",
                    ::dali::DALI_INTERP_LINEAR);
