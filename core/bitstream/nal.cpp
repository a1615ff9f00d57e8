// SPDX-License-Identifier: Apache-2.0
#include "bitstream/nal.h"

#include "ffmpeg/stream_info.h"
#include "io/bit_reader.h"
#include "tricodec/io/packet.h"

namespace tricodec {
namespace {

bool for_each_prefixed(Bytes packet, std::size_t length_size, const std::function<void(Bytes)>& visit) {
    while (!packet.empty()) {
        if (packet.size() < length_size) return false;
        const auto length = static_cast<std::size_t>(big_endian(packet.first(length_size)));
        packet = packet.subspan(length_size);
        if (length == 0 || length > packet.size()) return false;  // decoders refuse the packet
        visit(packet.first(length));
        packet = packet.subspan(length);
    }
    return true;
}

/// Position of the next 00 00 01 at or after `from`, or the size.
std::size_t next_start_code(Bytes bytes, std::size_t from) {
    for (std::size_t i = from; i + 3 <= bytes.size(); ++i) {
        if (byte_at(bytes, i) == 0 && byte_at(bytes, i + 1) == 0 && byte_at(bytes, i + 2) == 1) return i;
    }
    return bytes.size();
}

bool for_each_annexb(Bytes packet, const std::function<void(Bytes)>& visit) {
    std::size_t start = next_start_code(packet, 0);
    if (start == packet.size()) return false;
    while (start < packet.size()) {
        const std::size_t begin = start + 3;
        const std::size_t next = next_start_code(packet, begin);
        std::size_t end = next;
        while (end > begin && byte_at(packet, end - 1) == 0) --end;  // trailing zeros belong to the next start code
        if (end > begin) visit(packet.subspan(begin, end - begin));
        start = next;
    }
    return true;
}

bool is_picture(CodecId codec, Bytes nal) {
    const unsigned first = byte_at(nal, 0);
    if (codec == CodecId::h264) return h264_nal::is_slice(h264_nal::type_of(first));
    if (codec == CodecId::hevc) return hevc_nal::is_slice(hevc_nal::type_of(first));
    return first == (codec == CodecId::mpeg4 ? kMpeg4Vop : kMpegPicture);
}

/// Bytes of a NAL unit's header if it is one of messages, else 0.
std::size_t sei_header_bytes(CodecId codec, Bytes nal) {
    if (codec == CodecId::h264) return h264_nal::type_of(nal) == h264_nal::kSei ? 1 : 0;
    const unsigned type = hevc_nal::type_of(nal);
    return type == hevc_nal::kPrefixSei || type == hevc_nal::kSuffixSei ? hevc_nal::kHeaderBytes : 0;
}

std::vector<SeiMessage> messages_of(CodecId codec, Bytes access_unit, int length_size) {
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

bool has_messages(CodecId codec) {
    return codec == CodecId::h264 || codec == CodecId::hevc;
}

}  // namespace

std::vector<Bytes> nals_to_picture(Bytes packet, int length_size, CodecId codec) {
    std::vector<Bytes> nals;
    if (length_size > 0) {
        bool found = false;
        // Units that are not cut properly after the picture do not matter here.
        (void)for_each_prefixed(packet, static_cast<std::size_t>(length_size), [&](Bytes nal) {
            if (!found) nals.push_back(nal);
            found = found || is_picture(codec, nal);
        });
        return nals;
    }
    for (std::size_t start = next_start_code(packet, 0); start + 3 < packet.size();) {
        const auto rest = packet.subspan(start + 3);
        if (is_picture(codec, rest)) {
            nals.push_back(rest);
            break;
        }
        const std::size_t end = next_start_code(rest, 0);
        nals.push_back(rest.first(end));
        start += 3 + end;
    }
    return nals;
}

bool is_parameter_set(CodecId codec, Bytes nal) {
    if (nal.empty()) return false;
    if (codec == CodecId::h264) return h264_nal::is_parameter_set(h264_nal::type_of(nal));
    return codec == CodecId::hevc && hevc_nal::is_parameter_set(hevc_nal::type_of(nal));
}

std::vector<std::uint8_t> nal_payload(Bytes nal) {
    std::vector<std::uint8_t> payload;
    payload.reserve(nal.size());
    int zeros = 0;
    for (std::size_t i = 0; i < nal.size(); ++i) {
        const auto value = byte_at(nal, i);
        if (zeros >= 2 && value == 3) {
            zeros = 0;
            continue;
        }
        zeros = value == 0 ? zeros + 1 : 0;
        payload.push_back(static_cast<std::uint8_t>(value));
    }
    return payload;
}

bool for_each_nal(Bytes packet, int length_size, const std::function<void(Bytes)>& visit) {
    return length_size > 0 ? for_each_prefixed(packet, static_cast<std::size_t>(length_size), visit)
                           : for_each_annexb(packet, visit);
}

int nal_length_size(CodecId codec, Bytes extradata) noexcept {
    if (codec == CodecId::h264) {
        const bool is_record = extradata.size() >= 7 && byte_at(extradata, 0) == 1;
        return is_record ? static_cast<int>(byte_at(extradata, 4) & 3) + 1 : 0;
    }
    if (codec != CodecId::hevc) return 0;
    const bool is_record = extradata.size() >= 23 &&
                           (byte_at(extradata, 0) != 0 || byte_at(extradata, 1) != 0 || byte_at(extradata, 2) > 1);
    return is_record ? static_cast<int>(byte_at(extradata, 21) & 3) + 1 : 0;
}

void for_each_sei(Bytes messages, const std::function<void(int, std::span<const std::uint8_t>)>& visit) {
    const auto bytes = nal_payload(messages);
    const std::span<const std::uint8_t> payload(bytes);
    std::size_t at = 0;
    const auto read_sum = [&](std::size_t& value) {  // 255 means "and more follows"
        value = 0;
        while (at < payload.size()) {
            value += payload[at];
            if (payload[at++] != 255) return true;
        }
        return false;
    };
    std::size_t type = 0;
    std::size_t size = 0;
    // What is left when one byte is: the bit that ends the unit.
    while (at + 1 < payload.size() && read_sum(type) && read_sum(size) && size <= payload.size() - at) {
        visit(static_cast<int>(type), payload.subspan(at, size));
        at += size;
    }
}

int h264_recovery_frame_count(Bytes sei_nal) {
    constexpr int kRecoveryPoint = 6;
    constexpr std::uint32_t kMostRecoveryFrames = 1U << 16;  // MaxFrameNum
    int found = -1;
    bool seen = false;
    for_each_sei(sei_nal.subspan(1), [&](int type, std::span<const std::uint8_t> payload) {
        if (type != kRecoveryPoint || seen) return;
        seen = true;
        BitReader bits(payload);
        const auto count = bits.exp_golomb();
        if (bits.ok() && count <= kMostRecoveryFrames) found = static_cast<int>(count);
    });
    return found;
}

std::vector<SeiMessage> sei_messages(const StreamInfo& stream, std::span<const std::byte> access_unit) {
    if (!has_messages(stream.codec)) return {};
    const auto length_size = nal_length_size(stream.codec, extradata_of(stream.parameters.get()));
    return messages_of(stream.codec, access_unit, length_size);
}

std::vector<SeiMessage> sei_messages(CodecId codec, std::span<const std::byte> access_unit) {
    return has_messages(codec) ? messages_of(codec, access_unit, 0) : std::vector<SeiMessage>{};
}

}  // namespace tricodec
