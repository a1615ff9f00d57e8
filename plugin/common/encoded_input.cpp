// SPDX-License-Identifier: Apache-2.0
#include "common/encoded_input.h"

#include <dali/pipeline/operator/error_reporting.h>
#include <dali/pipeline/operator/op_schema.h>

#include <limits>
#include <span>

#include "common/errors.h"
#include "tricodec/base/error.h"
#include "tricodec/container/packet_source.h"

namespace tricodec::plugin {
namespace {

MediaSource source_of(CodecId codec, std::span<const std::byte> bytes, const std::vector<std::int64_t>& sizes,
                      const std::vector<double>& pts, std::string name) {
    TRICODEC_EXPECT(pts.empty() || pts.size() == sizes.size(), invalid_argument,
                    "packet_pts has " + std::to_string(pts.size()) + " times, and packet_sizes " +
                        std::to_string(sizes.size()) + " sizes; pass one time a packet");
    std::vector<PacketBytes> packets;
    std::size_t at = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto left = static_cast<std::int64_t>(bytes.size() - at);
        TRICODEC_EXPECT(sizes[i] >= 0 && sizes[i] <= left, invalid_argument,
                        "packet " + std::to_string(i) + " has " + std::to_string(sizes[i]) +
                            " bytes by packet_sizes, and the input has " + std::to_string(left) + " left");
        const auto size = static_cast<std::size_t>(sizes[i]);
        packets.push_back({bytes.subspan(at, size), pts.empty() ? std::numeric_limits<double>::quiet_NaN() : pts[i]});
        at += size;
    }
    TRICODEC_EXPECT(
        at == bytes.size(), invalid_argument,
        "packet_sizes add up to " + std::to_string(at) + " bytes, and the input has " + std::to_string(bytes.size()));
    return source_of_packets(codec, packets, std::move(name));
}

std::span<const std::byte> bytes_of_sample(const ::dali::TensorList<::dali::CPUBackend>& encoded, int sample) {
    const auto size = static_cast<std::size_t>(encoded.tensor_shape(sample).num_elements());
    TRICODEC_EXPECT(size > 0, corrupt_data, "it holds 0 bytes; each sample must be a whole video file");
    return {reinterpret_cast<const std::byte*>(encoded.tensor<std::uint8_t>(sample)), size};
}

std::string name_of(const ::dali::TensorList<::dali::CPUBackend>& encoded, int sample) {
    const auto& name = encoded.GetMeta(sample).GetSourceInfo();
    return name.empty() ? "sample " + std::to_string(sample) : name;
}

}  // namespace

EncodedInput::EncodedInput(const ::dali::OpSpec& spec) {
    translate_errors("", [&] {
        const bool packets = spec.ArgumentDefined("packet_sizes");
        TRICODEC_EXPECT(packets == spec.HasArgument("codec"), invalid_argument,
                        packets ? "packet_sizes need codec, the name of the packets' codec: \"h264\", \"hevc\", ..."
                                : "codec is for packets, and packet_sizes are not given; files name their codec");
        TRICODEC_EXPECT(packets || !spec.ArgumentDefined("packet_pts"), invalid_argument,
                        "packet_pts are for packets, and packet_sizes are not given; files have their times");
        if (!packets) return;
        codec_ = parse_codec(spec.GetArgument<std::string>("codec"));
        (void)source_of_packets(*codec_, {}, "");  // refuses a codec that needs a container
        sizes_ = IntArgument::list("packet_sizes", spec);
        if (spec.ArgumentDefined("packet_pts")) pts_.emplace("packet_pts", spec);
    });
}

void EncodedInput::expect_files(const ::dali::TensorList<::dali::CPUBackend>& encoded) {
    expect_bytes(encoded.type(), encoded.sample_dim(), "encoded", "the bytes of whole video files",
                 "the bytes of a whole file");
}

void EncodedInput::acquire(const ::dali::ArgumentWorkspace& workspace,
                           const ::dali::TensorList<::dali::CPUBackend>& encoded) {
    expect_files(encoded);
    if (sizes_) sizes_of_ = sizes_->values(workspace, encoded.num_samples());
    if (pts_) pts_of_ = pts_->values(workspace, encoded.num_samples());
}

MediaSource EncodedInput::whole_file(const ::dali::TensorList<::dali::CPUBackend>& encoded, int sample) {
    return MediaSource::from_bytes(bytes_of_sample(encoded, sample), nullptr, name_of(encoded, sample));
}

MediaSource EncodedInput::source(const ::dali::TensorList<::dali::CPUBackend>& encoded, int sample) const {
    if (!sizes_) return whole_file(encoded, sample);
    const auto number = static_cast<std::size_t>(sample);
    return source_of(*codec_, bytes_of_sample(encoded, sample), sizes_of_[number],
                     pts_ ? pts_of_[number] : std::vector<double>{}, name_of(encoded, sample));
}

}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__PacketArguments)
    .DocStr("Arguments of the operators that take packets of a stream.")
    .AddOptionalArg<std::vector<std::int64_t>>("packet_sizes",
                                               "The input is the packets of a stream, one after another in decoding "
                                               "order, and these are their sizes in bytes. H.264 and HEVC come as "
                                               "Annex B, with parameter sets before the first key frame.",
                                               nullptr, true)
    .AddOptionalArg<std::string>("codec",
                                 "Codec of the packets: ``\"h264\"``, ``\"hevc\"``, ``\"vp8\"``, ``\"vp9\"``, "
                                 "``\"av1\"``, ``\"mpeg4\"``, ``\"mpeg2video\"`` or ``\"mjpeg\"``.",
                                 nullptr)
    .AddOptionalArg<std::vector<float>>("packet_pts",
                                        "The packets' presentation times in seconds, float64. Without them the frames "
                                        "are 1/25 s apart, or as far as the stream says.",
                                        nullptr, true);
