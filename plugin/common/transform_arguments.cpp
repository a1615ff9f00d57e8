// SPDX-License-Identifier: Apache-2.0
#include "common/transform_arguments.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

#include "common/arguments.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/text.h"

namespace tricodec::plugin {
namespace {

constexpr std::pair<::dali::DALIDataType, DType> kDTypes[] = {{DALI_UINT8, DType::uint8},
                                                              {DALI_FLOAT16, DType::float16},
                                                              {DALI_FLOAT, DType::float32},
                                                              {DALI_UINT16, DType::uint16},
                                                              {DALI_INT16, DType::int16}};

DType to_dtype(::dali::DALIDataType type) {
    for (const auto& [known, dtype] : std::span(kDTypes).first<3>()) {
        if (type == known) return dtype;
    }
    fail(ErrorCode::invalid_argument,
         "dtype " + ::dali::make_string(type) + " is not one of types.UINT8, types.FLOAT16, types.FLOAT");
}

/// DALI's name for `color`.
void read_color(const ::dali::OpSpec& spec, TransformOptions& options) {
    expect_one_word(spec, "color", "image_type");
    if (!spec.ArgumentDefined("image_type")) return;
    const std::map<::dali::DALIImageType, OutputColor> colors = {{::dali::DALI_RGB, OutputColor::rgb},
                                                                 {::dali::DALI_BGR, OutputColor::bgr},
                                                                 {::dali::DALI_GRAY, OutputColor::gray},
                                                                 {::dali::DALI_YCbCr, OutputColor::yuv}};
    const auto type = spec.GetArgument<::dali::DALIImageType>("image_type");
    TRICODEC_EXPECT(
        colors.contains(type), invalid_argument,
        "image_type " + ::dali::make_string(type) + " is not one of types.RGB, types.BGR, types.GRAY, types.YCbCr");
    options.color = colors.at(type);
}

/// DALI's name for `resize` and `antialias`.
void read_filter(const ::dali::OpSpec& spec, TransformOptions& options) {
    expect_one_word(spec, "resize", "interp_type");
    if (!spec.ArgumentDefined("interp_type")) return;
    const std::map<::dali::DALIInterpType, Resize> filters = {{::dali::DALI_INTERP_NN, Resize::nearest},
                                                              {::dali::DALI_INTERP_LINEAR, Resize::bilinear},
                                                              {::dali::DALI_INTERP_TRIANGULAR, Resize::bilinear},
                                                              {::dali::DALI_INTERP_CUBIC, Resize::bicubic}};
    const auto type = spec.GetArgument<::dali::DALIInterpType>("interp_type");
    TRICODEC_EXPECT(filters.contains(type), invalid_argument,
                    "interp_type is not one of types.INTERP_NN, INTERP_LINEAR, INTERP_CUBIC, INTERP_TRIANGULAR");
    options.resize = filters.at(type);
    if (type == ::dali::DALI_INTERP_TRIANGULAR) options.antialias = true;
}

/// DALI's name for `scale`, `mean` and `std`.
void read_scale(const ::dali::OpSpec& spec, TransformOptions& options) {
    if (!spec.ArgumentDefined("normalized")) return;
    for (const char* name : {"scale", "mean", "std"}) expect_one_word(spec, name, "normalized");
    const bool normalized = spec.GetArgument<bool>("normalized");
    if (options.dtype != DType::uint8) options.scale = normalized ? 1.0F / 255.0F : 1.0F;
    TRICODEC_EXPECT(options.dtype != DType::uint8 || !normalized, invalid_argument,
                    "normalized gives values from 0 to 1, which uint8 does not hold; pass dtype=types.FLOAT");
}

}  // namespace

TransformArguments::TransformArguments(const ::dali::OpSpec& spec, bool rotate)
    : arguments_(spec, transform_options(), {"dtype", "rotate"}) {
    auto& options = arguments_.constants();
    options.dtype = to_dtype(spec.GetArgument<::dali::DALIDataType>("dtype"));
    options.rotate = rotate;
    read_color(spec, options);
    read_filter(spec, options);
    read_scale(spec, options);
    // Also made if samples get their own, so that a value that is not accepted fails when the pipeline is built.
    auto transform = std::make_shared<const Transform>(options);
    if (!arguments_.differs_by_sample()) constant_ = std::move(transform);
}

std::vector<TransformArguments::Sample> TransformArguments::for_samples(const ::dali::ArgumentWorkspace& workspace,
                                                                        int num_samples) const {
    std::vector<Sample> samples(static_cast<std::size_t>(num_samples));
    if (constant_) {
        for (Sample& sample : samples) sample.transform = constant_;
        return samples;
    }
    const auto options = arguments_.values(workspace, num_samples);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        // Equal neighbors share a Transform and the plan of its resize.
        if (i > 0 && samples[i - 1].transform && options[i].crop == options[i - 1].crop &&
            options[i].size == options[i - 1].size) {
            samples[i].transform = samples[i - 1].transform;
            continue;
        }
        try {
            samples[i].transform = std::make_shared<const Transform>(options[i]);
        } catch (...) {
            samples[i].error = std::current_exception();
        }
    }
    return samples;
}

::dali::DALIDataType to_dali(DType dtype) {
    return std::ranges::find(kDTypes, dtype, [](const auto& known) { return known.second; })->first;
}

std::string layout_name(Layout layout) {
    return layout == Layout::chw ? "CHW" : layout == Layout::chw2 ? "CHWc" : "HWC";
}

void check_output_bytes(const std::vector<std::int64_t>& shape, DType dtype) {
    const std::int64_t allowed = limits().max_output_bytes;
    std::int64_t total = static_cast<std::int64_t>(size_of(dtype));
    bool fits = true;
    for (const std::int64_t extent : shape) fits = fits && !__builtin_mul_overflow(total, extent, &total);
    if (fits && total <= allowed) return;
    const auto frame =
        listed(std::span(shape).subspan(1), [](std::int64_t extent) { return std::to_string(extent); }, "x");
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

static const ::dali::OpSchema& tricodec_transform_arguments =
    tricodec::plugin::options_schema("tricodec__TransformArguments", "The options of a Transform.",
                                     tricodec::transform_options(), {tricodec::OptionType::wholes}, {"dtype", "rotate"})
        .AddOptionalTypeArg("dtype", "Type of the frames: ``UINT8``, ``FLOAT16`` or ``FLOAT``.", DALI_UINT8);
