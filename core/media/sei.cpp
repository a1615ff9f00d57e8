// SPDX-License-Identifier: Apache-2.0
#include "tricodec/sei.h"

#include "media/ffmpeg.h"
#include "media/nal.h"

namespace tricodec {
namespace {

constexpr unsigned kH264Sei = 6;
constexpr unsigned kHevcPrefixSei = 39;
constexpr unsigned kHevcSuffixSei = 40;

/// Bytes of a NAL unit's header if it is one of messages, else 0.
std::size_t sei_header_bytes(Codec codec, Bytes nal) {
    const unsigned first = byte_at(nal, 0);
    if (codec == Codec::h264) return (first & 31) == kH264Sei ? 1 : 0;
    const unsigned type = first >> 1 & 63;
    return type == kHevcPrefixSei || type == kHevcSuffixSei ? 2 : 0;
}

std::vector<SeiMessage> messages_of(Codec codec, Bytes access_unit, int length_size) {
    std::vector<SeiMessage> messages;
    for_each_nal(access_unit, length_size, [&](Bytes nal) {
        const std::size_t header = nal.empty() ? 0 : sei_header_bytes(codec, nal);
        if (header == 0 || nal.size() <= header) return;
        for_each_sei(nal.subspan(header), [&](int type, std::span<const std::uint8_t> payload) {
            messages.push_back({type, {payload.begin(), payload.end()}});
        });
    });
    return messages;
}

bool has_messages(Codec codec) {
    return codec == Codec::h264 || codec == Codec::hevc;
}

}  // namespace

std::vector<SeiMessage> sei_messages(const StreamInfo& stream, std::span<const std::byte> access_unit) {
    if (!has_messages(stream.codec)) return {};
    Bytes extradata;
    if (stream.parameters != nullptr && stream.parameters->extradata_size > 0) {
        extradata = std::as_bytes(
            std::span(stream.parameters->extradata, static_cast<std::size_t>(stream.parameters->extradata_size)));
    }
    const bool is_h264 = stream.codec == Codec::h264;
    return messages_of(stream.codec, access_unit, is_h264 ? avc_length_size(extradata) : hevc_length_size(extradata));
}

std::vector<SeiMessage> sei_messages(Codec codec, std::span<const std::byte> access_unit) {
    return has_messages(codec) ? messages_of(codec, access_unit, 0) : std::vector<SeiMessage>{};
}

}  // namespace tricodec
