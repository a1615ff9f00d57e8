// SPDX-License-Identifier: Apache-2.0
#include "transform_arguments.h"

#include <dali/pipeline/operator/op_schema.h>

#include <cstddef>
#include <utility>

#include "options.h"

namespace tricodec::plugin {

TransformArguments::TransformArguments(const ::dali::OpSpec& spec, bool rotate)
    : crop_("crop", spec, {"top", "left", "height", "width"}),
      size_("size", spec, {"height", "width"}),
      options_(read_transform_options(spec)) {
    options_.rotate = rotate;
    set_geometry(options_, crop_.constant(), size_.constant());
    // Made also where samples will get their own, so that a word that is not accepted fails when the pipeline is built.
    auto transform = std::make_shared<const Transform>(options_);
    if (!crop_.differs_by_sample() && !size_.differs_by_sample()) constant_ = std::move(transform);
}

std::vector<TransformArguments::Sample> TransformArguments::for_samples(const ::dali::ArgumentWorkspace& workspace,
                                                                        int num_samples) const {
    std::vector<Sample> samples(static_cast<std::size_t>(num_samples));
    if (constant_) {
        for (Sample& sample : samples) sample.transform = constant_;
        return samples;
    }
    const auto crop = crop_.values(workspace, num_samples);
    const auto size = size_.values(workspace, num_samples);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        // Equal neighbours share a Transform, and with it the plan of its resize.
        if (i > 0 && samples[i - 1].transform && crop[i] == crop[i - 1] && size[i] == size[i - 1]) {
            samples[i].transform = samples[i - 1].transform;
            continue;
        }
        try {
            TransformOptions options = options_;
            set_geometry(options, crop[i], size[i]);
            samples[i].transform = std::make_shared<const Transform>(options);
        } catch (...) {
            samples[i].error = std::current_exception();
        }
    }
    return samples;
}

}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__TransformArguments)
    .DocStr("Arguments of the operators that run a Transform.")
    .AddOptionalArg<std::vector<int>>("crop",
                                      "``(top, left, height, width)`` of the part to keep, in pixels of the upright "
                                      "picture. An empty tensor keeps all.",
                                      nullptr, true)
    .AddOptionalArg<std::vector<int>>(
        "size", "``(height, width)`` to resize to; default the size of the crop. An empty tensor resizes nothing.",
        nullptr, true)
    .AddOptionalArg("resize", "Filter of the resize: ``\"nearest\"``, ``\"bilinear\"`` or ``\"bicubic\"``.", "bilinear")
    .AddOptionalArg("antialias", "Widen the filter when shrinking, so that no source pixel is skipped.", true)
    .AddOptionalArg("color",
                    "Channels of the output: ``\"rgb\"``, ``\"bgr\"``, ``\"gray\"`` or ``\"yuv\"`` (the stream's own "
                    "samples at full resolution).",
                    "rgb")
    .AddOptionalArg<std::string>("matrix",
                                 "Color matrix to use in place of the stream's: ``\"bt601\"``, ``\"bt709\"``, "
                                 "``\"bt2020\"``, ...",
                                 nullptr)
    .AddOptionalArg<std::string>(
        "range", "Range of the samples to use in place of the stream's: ``\"limited\"`` or ``\"full\"``.", nullptr)
    .AddOptionalArg("unspecified",
                    "Matrix of streams that name none: ``\"bt601\"``, ``\"bt709\"`` or ``\"by_height\"`` (BT.709 from "
                    "720 lines on).",
                    "bt601")
    .AddOptionalTypeArg("dtype", "Type of the frames: ``UINT8``, ``FLOAT16`` or ``FLOAT``.", DALI_UINT8)
    .AddOptionalArg(
        "layout",
        "``\"HWC\"`` or ``\"CHW\"``, or TensorRT's ``\"CHW2\"`` (channels in pairs, ``[ceil(C / 2), H, W, 2]``) "
        "and ``\"HWC8\"`` (``[H, W, 8 * ceil(C / 8)]``), whose elements of no channel are zero. A leading F "
        "changes nothing.",
        "HWC")
    .AddOptionalArg<float>("scale",
                           "Floating-point frames are ``(value * scale - mean) / std`` with values in 0..255; default "
                           "1/255.",
                           nullptr)
    .AddOptionalArg<std::vector<float>>("mean", "One number, or one a channel; default 0. Only for float types.",
                                        nullptr)
    .AddOptionalArg<std::vector<float>>("std", "One number, or one a channel; default 1. Only for float types.",
                                        nullptr);
