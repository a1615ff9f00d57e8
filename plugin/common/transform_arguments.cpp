// SPDX-License-Identifier: Apache-2.0
#include "common/transform_arguments.h"

#include <dali/pipeline/operator/op_schema.h>

#include <cstddef>
#include <utility>

#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec::plugin {
namespace {

DType to_dtype(::dali::DALIDataType type) {
    switch (type) {
        case DALI_UINT8:
            return DType::uint8;
        case DALI_FLOAT16:
            return DType::float16;
        case DALI_FLOAT:
            return DType::float32;
        default:
            fail(ErrorCode::invalid_argument,
                 "dtype " + ::dali::make_string(type) + " is not one of types.UINT8, types.FLOAT16, types.FLOAT");
    }
}

/// `color`, or what DALI's word for it means.
OutputColor read_color(const ::dali::OpSpec& spec) {
    expect_one_word(spec, "color", "image_type");
    if (!spec.ArgumentDefined("image_type")) return parse_output_color(spec.GetArgument<std::string>("color"));
    switch (const auto type = spec.GetArgument<::dali::DALIImageType>("image_type")) {
        case ::dali::DALI_RGB:
            return OutputColor::rgb;
        case ::dali::DALI_BGR:
            return OutputColor::bgr;
        case ::dali::DALI_GRAY:
            return OutputColor::gray;
        case ::dali::DALI_YCbCr:
            return OutputColor::yuv;
        default:
            fail(ErrorCode::invalid_argument, "image_type " + ::dali::make_string(type) +
                                                  " is not one of types.RGB, types.BGR, types.GRAY, types.YCbCr");
    }
}

void read_filter(const ::dali::OpSpec& spec, TransformOptions& options) {
    expect_one_word(spec, "resize", "interp_type");
    options.antialias = spec.GetArgument<bool>("antialias");
    options.resize = parse_resize(spec.GetArgument<std::string>("resize"));
    if (!spec.ArgumentDefined("interp_type")) return;
    switch (spec.GetArgument<::dali::DALIInterpType>("interp_type")) {
        case ::dali::DALI_INTERP_NN:
            options.resize = Resize::nearest;
            break;
        case ::dali::DALI_INTERP_TRIANGULAR:
            options.antialias = true;
            options.resize = Resize::bilinear;
            break;
        case ::dali::DALI_INTERP_LINEAR:
            options.resize = Resize::bilinear;
            break;
        case ::dali::DALI_INTERP_CUBIC:
            options.resize = Resize::bicubic;
            break;
        default:
            fail(ErrorCode::invalid_argument,
                 "interp_type is not one of types.INTERP_NN, INTERP_LINEAR, INTERP_CUBIC, INTERP_TRIANGULAR");
    }
}

void read_scale(const ::dali::OpSpec& spec, TransformOptions& options) {
    if (spec.HasArgument("scale")) options.scale = spec.GetArgument<float>("scale");
    if (spec.HasArgument("mean")) options.mean = spec.GetRepeatedArgument<float>("mean");
    if (spec.HasArgument("std")) options.std = spec.GetRepeatedArgument<float>("std");
    if (!spec.ArgumentDefined("normalized")) return;
    for (const char* name : {"scale", "mean", "std"}) expect_one_word(spec, name, "normalized");
    const bool normalized = spec.GetArgument<bool>("normalized");
    if (options.dtype != DType::uint8) options.scale = normalized ? 1.0F / 255.0F : 1.0F;
    TRICODEC_EXPECT(options.dtype != DType::uint8 || !normalized, invalid_argument,
                    "normalized gives values from 0 to 1, which uint8 does not hold; pass dtype=types.FLOAT");
}

TransformOptions read_transform_options(const ::dali::OpSpec& spec) {
    TransformOptions options;
    read_filter(spec, options);
    options.chroma = parse_chroma_upsampling(spec.GetArgument<std::string>("chroma"));
    options.color = read_color(spec);
    if (spec.HasArgument("matrix")) options.matrix = parse_color_matrix(spec.GetArgument<std::string>("matrix"));
    if (spec.HasArgument("range")) {
        options.range = parse_color_range(spec.GetArgument<std::string>("range"));
    }
    options.unspecified = parse_unspecified_matrix(spec.GetArgument<std::string>("unspecified"));
    options.dtype = to_dtype(spec.GetArgument<::dali::DALIDataType>("dtype"));
    options.layout = parse_layout(spec.GetArgument<std::string>("layout"));
    read_scale(spec, options);
    return options;
}

void set_geometry(TransformOptions& options, const std::vector<std::int64_t>& crop,
                  const std::vector<std::int64_t>& size) {
    options.crop.reset();
    options.size.reset();
    if (!crop.empty()) {
        options.crop = Crop{.top = to_int(crop[0], "crop"),
                            .left = to_int(crop[1], "crop"),
                            .height = to_int(crop[2], "crop"),
                            .width = to_int(crop[3], "crop")};
    }
    if (!size.empty()) options.size = Size{.height = to_int(size[0], "size"), .width = to_int(size[1], "size")};
}

}  // namespace

TransformArguments::TransformArguments(const ::dali::OpSpec& spec, bool rotate)
    : crop_("crop", spec, {"top", "left", "height", "width"}),
      size_("size", spec, {"height", "width"}),
      options_(read_transform_options(spec)) {
    options_.rotate = rotate;
    set_geometry(options_, crop_.constant(), size_.constant());
    // Also made if samples get their own, so that a value that is not accepted fails when the pipeline is built.
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
        // Equal neighbors share a Transform and the plan of its resize.
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

::dali::DALIDataType to_dali(DType dtype) {
    switch (dtype) {
        case DType::float16:
            return DALI_FLOAT16;
        case DType::float32:
            return DALI_FLOAT;
        case DType::uint16:
            return DALI_UINT16;
        case DType::int16:
            return DALI_INT16;
        default:
            return DALI_UINT8;
    }
}

std::string layout_name(Layout layout) {
    switch (layout) {
        case Layout::chw:
            return "CHW";
        case Layout::chw2:
            return "CHWc";
        default:
            return "HWC";
    }
}

void check_output_bytes(const std::vector<std::int64_t>& shape, DType dtype) {
    const std::int64_t allowed = limits().max_output_bytes;
    std::int64_t total = static_cast<std::int64_t>(size_of(dtype));
    bool fits = true;
    for (const std::int64_t extent : shape) fits = fits && !__builtin_mul_overflow(total, extent, &total);
    if (fits && total <= allowed) return;
    std::string frame;
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
        frame += (axis == 1 ? "" : "x") + std::to_string(shape[axis]);
    }
    fail(ErrorCode::refused, "the request gives " + std::to_string(shape[0]) + " frames of " + frame + " " +
                                 std::string(to_string(dtype)) + ", more than the limit max_output_bytes " +
                                 std::to_string(allowed) +
                                 "; ask for fewer or smaller frames, or raise it with tricodec.set_limits");
}

void check_batch_bytes(const ::dali::TensorListShape<>& shape, DType dtype) {
    const std::int64_t allowed = limits().max_output_bytes;
    std::int64_t total = 0;
    for (int i = 0; i < shape.num_samples(); ++i) {
        const std::int64_t size = shape.tensor_size(i) * static_cast<std::int64_t>(size_of(dtype));
        TRICODEC_EXPECT(size <= allowed - total, refused,
                        "the frames of the batch's " + std::to_string(shape.num_samples()) + " samples, " +
                            std::to_string(total) + " bytes before sample " + std::to_string(i) + " of " +
                            std::to_string(size) + ", take more than the limit max_output_bytes " +
                            std::to_string(allowed) +
                            "; use a smaller batch, ask for fewer or smaller frames, or raise it with "
                            "tricodec.set_limits");
        total += size;
    }
}

}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__TransformArguments)
    .DocStr("Arguments of the operators that run a Transform.")
    .AddOptionalArg<std::vector<int>>("crop",
                                      "``(top, left, height, width)`` of the part to keep, in pixels of the upright "
                                      "picture. The default, or an empty tensor, keeps the whole picture.",
                                      nullptr, true)
    .AddOptionalArg<std::vector<int>>("size",
                                      "``(height, width)`` to resize to. The default, or an empty tensor, keeps the "
                                      "size of the crop.",
                                      nullptr, true)
    .AddOptionalArg("resize", "Filter of the resize: ``\"nearest\"``, ``\"bilinear\"`` or ``\"bicubic\"``.", "bilinear")
    .AddOptionalArg("antialias", "Widen the filter when the picture shrinks, so that every source pixel counts.", true)
    .AddOptionalArg("chroma",
                    "How subsampled chroma comes to full resolution: ``\"interpolated\"`` from the samples around a "
                    "pixel, or ``\"nearest\"``, the sample that covers it.",
                    "interpolated")
    .AddOptionalArg(
        "color",
        "Channels of the output: ``\"rgb\"``, ``\"bgr\"``, ``\"gray\"``, or ``\"yuv\"`` for the stream's own "
        "samples at full resolution.",
        "rgb")
    .AddOptionalArg<std::string>("matrix",
                                 "Color matrix to use instead of the stream's: ``\"bt601\"``, ``\"bt709\"``, "
                                 "``\"bt2020\"``, ...",
                                 nullptr)
    .AddOptionalArg<std::string>(
        "range", "Range of the samples to use instead of the stream's: ``\"limited\"`` or ``\"full\"``.", nullptr)
    .AddOptionalArg("unspecified",
                    "Matrix of a stream that does not name one: ``\"bt601\"``, ``\"bt709\"``, or ``\"by_height\"`` "
                    "(BT.709 from 720 lines on, else BT.601).",
                    "bt601")
    .AddOptionalTypeArg("dtype", "Type of the frames: ``UINT8``, ``FLOAT16`` or ``FLOAT``.", DALI_UINT8)
    .AddOptionalArg("layout",
                    "``\"HWC\"`` or ``\"CHW\"``, or TensorRT's ``\"CHW2\"`` (channels in pairs, ``[ceil(C / 2), H, W, "
                    "2]``) and ``\"HWC8\"`` (``[H, W, 8 * ceil(C / 8)]``), which are filled up with zeros. A leading F "
                    "is ignored.",
                    "HWC")
    .AddOptionalArg<float>("scale",
                           "Floating-point frames are ``(value * scale - mean) / std``, where ``value`` is 0 to 255; "
                           "default 1/255.",
                           nullptr)
    .AddOptionalArg<std::vector<float>>("mean", "One number, or one a channel; default 0. Only for float types.",
                                        nullptr)
    .AddOptionalArg<std::vector<float>>("std", "One number, or one a channel; default 1. Only for float types.",
                                        nullptr);
