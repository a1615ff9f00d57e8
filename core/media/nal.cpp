// SPDX-License-Identifier: Apache-2.0
#include "media/nal.h"

#include "media/bit_reader.h"

namespace tricodec {
namespace {

bool for_each_prefixed(Bytes packet, std::size_t length_size, const std::function<void(Bytes)>& visit) {
    while (!packet.empty()) {
        if (packet.size() < length_size) return false;
        std::size_t length = 0;
        for (std::size_t i = 0; i < length_size; ++i) length = length << 8 | byte_at(packet, i);
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

bool is_picture(Codec codec, Bytes nal) {
    // NAL unit types of slices (table 7-1 of H.264 and of HEVC), start codes of pictures (MPEG).
    const unsigned first = byte_at(nal, 0);
    switch (codec) {
        case Codec::h264:
            return (first & 31) >= 1 && (first & 31) <= 5;
        case Codec::hevc:
            return (first >> 1 & 63) < 32;
        case Codec::mpeg4:
            return first == 0xb6;
        default:
            return first == 0;
    }
}

}  // namespace

std::vector<Bytes> nals_to_picture(Bytes packet, int length_size, Codec codec) {
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

int avc_length_size(Bytes extradata) noexcept {
    return extradata.size() >= 7 && byte_at(extradata, 0) == 1 ? static_cast<int>(byte_at(extradata, 4) & 3) + 1 : 0;
}

int hevc_length_size(Bytes extradata) noexcept {
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

}  // namespace tricodec
