// SPDX-License-Identifier: Apache-2.0
#include "ops/encode_arguments.h"

#include <map>

#include "common/arguments.h"
#include "common/errors.h"
#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"
#include "tricodec/tensor/color.h"

namespace tricodec::plugin {
namespace {

/// {"preset=veryfast", "tune=film"} by name.
std::map<std::string, std::string> read_options(const std::vector<std::string>& entries) {
    std::map<std::string, std::string> options;
    for (const std::string& entry : entries) {
        const auto equals = entry.find('=');
        TRICODEC_EXPECT(equals != std::string::npos && equals > 0, invalid_argument,
                        "options has \"" + entry + "\"; entries are \"name=value\", such as \"tune=film\"");
        options[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    return options;
}

PictureLayout read_pictures(const ::dali::OpSpec& spec) {
    PictureLayout pictures;
    pictures.color = parse_output_color(spec.GetArgument<std::string>("color"));
    if (spec.HasArgument("layout")) pictures.layout = parse_layout(spec.GetArgument<std::string>("layout"));
    if (!spec.HasArgument("format")) return pictures;
    pictures.format = parse_pixel_format(spec.GetArgument<std::string>("format"));
    for (const char* name : {"color", "layout"}) {
        TRICODEC_EXPECT(!spec.ArgumentDefined(name), invalid_argument,
                        std::string("format is the layout of raw planes, and ") + name +
                            " that of transformed frames; leave one of them out");
    }
    return pictures;
}

EncodeVideoOptions read_constants(const ::dali::OpSpec& spec, const std::string& device) {
    EncodeVideoOptions options;
    EncoderOptions& encoder = options.encoder;
    encoder.codec = spec.GetArgument<std::string>("codec");
    encoder.device = device;
    if (spec.HasArgument("pixel_format")) {
        encoder.format = parse_pixel_format(spec.GetArgument<std::string>("pixel_format"));
    }
    encoder.num_b_frames = int_argument(spec, "num_b_frames");
    encoder.num_threads = int_argument(spec, "encoder_threads");
    if (spec.HasArgument("matrix")) encoder.color.matrix = parse_color_matrix(spec.GetArgument<std::string>("matrix"));
    if (spec.HasArgument("range")) encoder.color.range = parse_color_range(spec.GetArgument<std::string>("range"));
    if (spec.HasArgument("options")) {
        encoder.options = read_options(spec.GetRepeatedArgument<std::string>("options"));
    }
    if (spec.HasArgument("preset")) encoder.options["preset"] = spec.GetArgument<std::string>("preset");
    options.muxer.format = spec.GetArgument<std::string>("container");
    options.muxer.fast_start = spec.GetArgument<bool>("fast_start");
    options.muxer.fragmented = spec.GetArgument<bool>("fragmented");
    // Values that are not accepted fail when the pipeline is built.
    (void)encoder_for(encoder.codec, encoder.device);
    if (options.muxer.format != "raw") (void)wants_global_headers(options.muxer.format);
    return options;
}

}  // namespace

EncodeArguments::EncodeArguments(const ::dali::OpSpec& spec, const std::string& device)
    : pictures_(translate_errors("", [&] { return read_pictures(spec); })),
      layout_given_(spec.HasArgument("layout")),
      options_(translate_errors("", [&] { return read_constants(spec, device); })),
      bit_rate_("bit_rate", spec),
      gop_size_("gop_size", spec),
      rotation_("rotation", spec),
      spec_(spec),
      frame_rate_("frame_rate", spec),
      crf_("crf", spec) {}

PictureLayout EncodeArguments::pictures(const std::string& layout) const {
    PictureLayout pictures = pictures_;
    if (layout_given_ || pictures.format) return pictures;
    // The names that Transform's outputs have; any other input has the default layout.
    if (layout == "FCHW" || layout == "CHW") pictures.layout = Layout::chw;
    return pictures;
}

std::vector<EncodeVideoOptions> EncodeArguments::for_samples(const ::dali::Workspace& workspace, int num_samples) {
    const auto bit_rate = bit_rate_.values(workspace, num_samples);
    const auto gop_size = gop_size_.values(workspace, num_samples);
    const auto rotation = rotation_.values(workspace, num_samples);
    if (frame_rate_.HasExplicitValue()) frame_rate_.Acquire(spec_, workspace, num_samples);
    if (crf_.HasExplicitValue()) crf_.Acquire(spec_, workspace, num_samples);
    std::vector<EncodeVideoOptions> samples(static_cast<std::size_t>(num_samples), options_);
    for (int i = 0; i < num_samples; ++i) {
        const auto n = static_cast<std::size_t>(i);
        EncodeVideoOptions& sample = samples[n];
        translate_errors(context_of(i, num_samples), [&] {
            sample.encoder.bit_rate = bit_rate[n][0];
            sample.encoder.gop_size = to_int(gop_size[n][0], "gop_size");
            sample.encoder.orientation.rotation_degrees = to_int(rotation[n][0], "rotation");
            if (frame_rate_.HasExplicitValue()) {
                sample.encoder.frame_rate = frame_rate_of(static_cast<double>(*frame_rate_[i].data));
            }
            if (crf_.HasExplicitValue()) sample.encoder.crf = static_cast<double>(*crf_[i].data);
        });
    }
    return samples;
}

}  // namespace tricodec::plugin
