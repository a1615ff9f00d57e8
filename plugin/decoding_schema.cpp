// SPDX-License-Identifier: Apache-2.0
#include "decoding_schema.h"

#include <dali/pipeline/operator/op_schema.h>

#include <string>

#include "options.h"
#include "tricodec/error.h"
#include "tricodec/raw_frames.h"
#include "tricodec/transform.h"

namespace tricodec::plugin {
namespace {

std::optional<std::string> frames_layout_name(const ::dali::OpSpec& spec) {
    try {
        if (spec.HasArgument("format"))
            return raw_layout_name(parse_pixel_format(spec.GetArgument<std::string>("format")));
        return "F" + layout_name(parse_layout(spec.GetArgument<std::string>("layout")));
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace

std::optional<::dali::TensorLayout> frames_layout(const ::dali::OpSpec& spec) {
    const auto name = frames_layout_name(spec);
    return name ? std::optional(::dali::TensorLayout(*name)) : std::nullopt;
}

std::optional<int> frames_ndim(const ::dali::OpSpec& spec) {
    const auto name = frames_layout_name(spec);
    return name ? std::optional(static_cast<int>(name->size())) : std::nullopt;
}

std::optional<::dali::DALIDataType> frames_dtype(const ::dali::OpSpec& spec) {
    if (!spec.HasArgument("format")) return spec.GetArgument<::dali::DALIDataType>("dtype");
    try {
        return to_dali(sample_dtype(parse_pixel_format(spec.GetArgument<std::string>("format"))));
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__DecodingArguments)
    .DocStr("Arguments of the operators that decode videos.")
    .AddParent("tricodec__TransformArguments")
    .AddOptionalArg("rotate", "Turn the picture upright as its metadata say.", true)
    .AddOptionalArg<std::string>("format",
                                 "Gives the frames as they are decoded, instead of transforming them: their planes one "
                                 "after another in this layout, "
                                 "``\"yuv420p\"``, ``\"nv12\"``, ``\"p010le\"``, ..., for ``fn.tricodec.transform``. "
                                 "The stream's samples must fit "
                                 "it without being resampled or losing bits.",
                                 nullptr)
    .AddOptionalArg("stream_index", "Number of the video stream in the file; -1 is the best one.", -1)
    .AddOptionalArg("on_error",
                    "``\"raise\"``: a sample that cannot be decoded fails the batch, with an error that names it. "
                    "``\"empty\"``: it becomes 0 frames, and a warning is logged.",
                    "raise")
    .AddOptionalArg("on_damage",
                    "What a damaged or cut off video is, of which what can be decoded would be returned: "
                    "``\"warn\"``: a sample like others, and a warning is logged. ``\"error\"``: one that cannot be "
                    "decoded, of which ``on_error`` says what becomes.",
                    "warn")
    .AddOptionalArg(
        "num_damaged_packets",
        "Gives one more output, the last: how many video packets of the sample could not be decoded whole, int64 of "
        "one element. What is missing behind the end of a file that was cut off counts as one.",
        false);
