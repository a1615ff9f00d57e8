// SPDX-License-Identifier: Apache-2.0
#include "common/decoding_arguments.h"

#include <dali/pipeline/operator/op_schema.h>

#include <string>

#include "common/arguments.h"
#include "common/errors.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"
#include "tricodec/tensor/raw_frames.h"

namespace tricodec::plugin {
namespace {

/// DALI's arguments for options of a Transform, which have no meaning for raw frames either.
constexpr const char* kDaliNames[] = {"image_type", "normalized",     "interp_type",  "resize_x",
                                      "resize_y",   "resize_shorter", "resize_longer"};

int read_stream_index(const ::dali::OpSpec& spec) {
    const int index = int_argument(spec, "stream_index");
    TRICODEC_EXPECT(index >= -1, invalid_argument,
                    "stream_index is " + std::to_string(index) +
                        "; it must be the number of a stream, from 0, or -1 for the best video stream");
    return index;
}

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

DecodingArguments::DecodingArguments(const ::dali::OpSpec& spec)
    : stream_index_(translate_errors("", [&] { return read_stream_index(spec); })),
      transform_(translate_errors("", [&] { return TransformArguments(spec, spec.GetArgument<bool>("rotate")); })),
      resize_(translate_errors("", [&] { return ResizeArguments(spec); })),
      gives_damage_(spec.GetArgument<bool>("num_damaged_packets")) {
    translate_errors("", [&] {
        if (spec.ArgumentDefined("enable_timestamps")) {
            times_ = spec.GetArgument<bool>("enable_timestamps") ? TimesOutput::last : TimesOutput::none;
        }
        const auto channels = int_argument(spec, "channels");
        TRICODEC_EXPECT(channels == 3, invalid_argument,
                        "channels is " + std::to_string(channels) +
                            "; it must be 3, as in DALI; image_type=types.GRAY gives one channel");
        empty_on_error_ = word_argument(spec, "on_error", {"raise", "empty"}) == "empty";
        damage_is_error_ = word_argument(spec, "on_damage", {"warn", "error"}) == "error";
        if (spec.HasArgument("format")) format_ = parse_pixel_format(spec.GetArgument<std::string>("format"));
        const auto expect_raw = [&](const std::string& name) {
            TRICODEC_EXPECT(!format_ || !spec.ArgumentDefined(name), invalid_argument,
                            "format gives frames as they are decoded, and " + name +
                                " transforms them; leave one out, or pass the frames to fn.tricodec.transform");
        };
        for (const auto& option : transform_options()) expect_raw(std::string(option.name));
        for (const char* name : kDaliNames) expect_raw(name);
    });
}

DType DecodingArguments::dtype() const {
    return format_ ? sample_dtype(*format_) : transform_.options().dtype;
}

std::string DecodingArguments::layout() const {
    return format_ ? raw_layout_name(*format_) : "F" + layout_name(transform_.options().layout);
}

int num_times_outputs(const ::dali::OpSpec& spec) {
    return spec.GetArgument<bool>("enable_timestamps") ? 1 : 0;  // True is the default
}

std::optional<::dali::TensorLayout> second_layout(const ::dali::OpSpec& spec) {
    return spec.ArgumentDefined("enable_timestamps") ? std::nullopt : std::optional(::dali::TensorLayout("F"));
}

std::optional<::dali::DALIDataType> second_dtype(const ::dali::OpSpec& spec) {
    return spec.ArgumentDefined("enable_timestamps") ? std::nullopt : std::optional(DALI_FLOAT64);
}

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
    .AddParent("tricodec__ResizeArguments")
    .AddParent("tricodec__UnusedArguments")
    .AddOptionalArg("rotate", "Turn the picture upright according to its metadata.", true)
    .AddOptionalArg<std::string>("format",
                                 "Give the frames as they are decoded, for ``fn.tricodec.transform``, instead of "
                                 "transforming them: raw planes in this layout, ``\"yuv420p\"``, ``\"nv12\"``, "
                                 "``\"p010le\"``, ... It must hold the stream's samples without resampling or loss of "
                                 "bits.",
                                 nullptr)
    .AddOptionalArg("enable_timestamps",
                    "DALI's outputs: if this is given, ``pts`` is not the second output. With ``True`` it comes after "
                    "labels and numbers of frames, -1 for a missing frame; with ``False`` there is none.",
                    true)
    .AddOptionalArg("image_type",
                    "Channels of the output: ``types.RGB``, ``BGR``, ``GRAY``, or ``YCbCr``, the stream's own samples; "
                    "DALI's name for ``color``.",
                    ::dali::DALI_RGB)
    .AddOptionalArg("normalized",
                    "DALI's name for the scale of floating-point frames: ``False`` gives 0 to 255, ``True`` 0 to 1.",
                    false)
    .AddOptionalArg("channels", "Number of channels as in DALI, which is 3.", 3)
    .AddOptionalArg("stream_index", "Number of the stream in the file; -1 is the best video stream.", -1)
    .AddOptionalArg("on_error",
                    "How a sample that cannot be decoded is handled. ``\"raise\"``: the batch fails with an error that "
                    "names the sample. ``\"empty\"``: the sample has 0 frames, and a warning is logged.",
                    "raise")
    .AddOptionalArg("on_damage",
                    "How a damaged or cut-off video is handled. ``\"warn\"``: the frames that can be decoded are "
                    "returned, and a warning is logged. ``\"error\"``: the sample counts as one that cannot be "
                    "decoded, and ``on_error`` applies.",
                    "warn")
    .AddOptionalArg("num_damaged_packets",
                    "Adds a last output: how many video packets of the sample could not be decoded whole, int64 of one "
                    "element. The missing end of a file that was cut off counts as one.",
                    false);

// Programs that come from DALI's operators may keep them.
DALI_SCHEMA(tricodec__UnusedArguments)
    .DocStr("Arguments of DALI's video operators that do not change what is read; they have no effect.")
    .AddOptionalArg("additional_decode_surfaces", "No effect.", 2)
    .AddOptionalArg("affine", "No effect.", true)
    .AddOptionalArg("build_index", "No effect: there always is an index.", true)
    .AddOptionalArg("dont_use_mmap", "No effect: files are read, not mapped.", false)
    .AddOptionalArg("initial_fill", "No effect: all sequences are shuffled.", 1024)
    .AddOptionalArg("minibatch_size", "No effect.", 32)
    .AddOptionalArg("prefetch_queue_depth", "No effect: that of the pipeline applies.", 1)
    .AddOptionalArg("read_ahead", "No effect.", false)
    .AddOptionalArg("skip_cached_images", "No effect: there is no cache of images.", false)
    .AddOptionalArg("skip_vfr_check", "No effect: every frame has its own time.", false)
    .AddOptionalArg("temp_buffer_hint", "No effect.", 0)
    .AddOptionalArg("tensor_init_bytes", "No effect.", 1048576);
