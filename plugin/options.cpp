// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <limits>
#include <string>

#include "tricodec/error.h"
#include "tricodec/limits.h"

namespace tricodec::plugin {
int to_int(std::int64_t value, const char* argument) {
    TRICODEC_EXPECT(value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max(),
                    invalid_argument,
                    std::string(argument) + " is " + std::to_string(value) +
                        ", which is out of range; it must be from -2147483648 to 2147483647");
    return static_cast<int>(value);
}

int int_argument(const ::dali::OpSpec& spec, const char* name) {
    return to_int(spec.GetArgument<std::int64_t>(name), name);
}

int stream_index_argument(const ::dali::OpSpec& spec) {
    const int index = int_argument(spec, "stream_index");
    TRICODEC_EXPECT(index >= -1, invalid_argument,
                    "stream_index is " + std::to_string(index) +
                        "; it must be the number of a stream, from 0, or -1 for the best video stream");
    return index;
}

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

::dali::DALIDataType to_dali(DType dtype) {
    switch (dtype) {
        case DType::float16:
            return DALI_FLOAT16;
        case DType::float32:
            return DALI_FLOAT;
        case DType::uint16:
            return DALI_UINT16;
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

int layout_ndim(Layout layout) {
    return static_cast<int>(layout_name(layout).size());
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

TransformOptions read_transform_options(const ::dali::OpSpec& spec) {
    TransformOptions options;
    options.resize = parse_resize(spec.GetArgument<std::string>("resize"));
    options.antialias = spec.GetArgument<bool>("antialias");
    options.color = parse_output_color(spec.GetArgument<std::string>("color"));
    if (spec.HasArgument("matrix")) options.matrix = parse_color_matrix(spec.GetArgument<std::string>("matrix"));
    if (spec.HasArgument("range")) {
        options.range = parse_color_range(spec.GetArgument<std::string>("range"));
    }
    options.unspecified = parse_unspecified_matrix(spec.GetArgument<std::string>("unspecified"));
    options.dtype = to_dtype(spec.GetArgument<::dali::DALIDataType>("dtype"));
    options.layout = parse_layout(spec.GetArgument<std::string>("layout"));
    if (spec.HasArgument("scale")) options.scale = spec.GetArgument<float>("scale");
    if (spec.HasArgument("mean")) options.mean = spec.GetRepeatedArgument<float>("mean");
    if (spec.HasArgument("std")) options.std = spec.GetRepeatedArgument<float>("std");
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

}  // namespace tricodec::plugin
