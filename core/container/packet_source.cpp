// SPDX-License-Identifier: Apache-2.0
#include "tricodec/container/packet_source.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

// Note [Packets as IVF]: IVF is the one container that keeps packets as they are, each with its size and time, for any
// codec. Its demuxer leaves the size of pictures and key frames to the codec's own headers. The four letters name the
// codec as in AVI; InputContext knows those of HEVC.
namespace tricodec {
namespace {

constexpr std::uint32_t kTicksPerSecond = 1'000'000'000;
constexpr std::size_t kHeaderBytes = 32;

constexpr std::pair<CodecId, std::string_view> kLetters[] = {
    {CodecId::h264, "H264"}, {CodecId::hevc, "HEVC"},  {CodecId::vp8, "VP80"},   {CodecId::vp9, "VP90"},
    {CodecId::av1, "AV01"},  {CodecId::mpeg4, "mp4v"}, {CodecId::mpeg2, "mpg2"}, {CodecId::mjpeg, "MJPG"}};

std::string_view letters_of(CodecId codec) {
    for (const auto& [known, letters] : kLetters) {
        if (known == codec) return letters;
    }
    fail(ErrorCode::unsupported, "packets of " + std::string(to_string(codec)) +
                                     " need a container; accepted are h264, hevc, vp8, vp9, av1, mpeg4, mpeg2video "
                                     "and mjpeg");
}

std::uint64_t ticks_of(double seconds) {
    if (std::isnan(seconds)) return std::uint64_t{1} << 63;  // "unknown" for libavformat
    constexpr double kMost = 9.2e9;
    TRICODEC_EXPECT(std::abs(seconds) <= kMost, invalid_argument,
                    "a packet's time is " + std::to_string(seconds) + " s; times are at most 9.2e9 s from 0");
    return static_cast<std::uint64_t>(std::llround(seconds * kTicksPerSecond));
}

template <typename Number>
void put(std::vector<std::byte>& out, Number number) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
        out.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i)));
    }
}

void put_text(std::vector<std::byte>& out, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

MediaSource source_of_packets(CodecId codec, std::span<const PacketBytes> packets, std::string name) {
    TRICODEC_EXPECT(static_cast<std::int64_t>(packets.size()) <= limits().max_packets, refused,
                    "there are " + std::to_string(packets.size()) +
                        " packets, more than limits.max_packets = " + std::to_string(limits().max_packets));
    auto file = std::make_shared<std::vector<std::byte>>();
    std::size_t size = kHeaderBytes;
    for (const auto& packet : packets) size += packet.data.size() + 12;
    file->reserve(size);
    put_text(*file, "DKIF");
    put<std::uint16_t>(*file, 0);
    put<std::uint16_t>(*file, kHeaderBytes);
    put_text(*file, letters_of(codec));
    put<std::uint32_t>(*file, 0);  // width and height: the codec's headers have them
    put<std::uint32_t>(*file, kTicksPerSecond);
    put<std::uint32_t>(*file, 1);
    put<std::uint32_t>(*file, static_cast<std::uint32_t>(packets.size()));
    put<std::uint32_t>(*file, 0);
    for (const auto& packet : packets) {
        TRICODEC_EXPECT(
            static_cast<std::int64_t>(packet.data.size()) <= limits().max_packet_bytes, refused,
            "a packet of " + std::to_string(packet.data.size()) +
                " bytes is larger than limits.max_packet_bytes = " + std::to_string(limits().max_packet_bytes));
        put(*file, static_cast<std::uint32_t>(packet.data.size()));
        put(*file, ticks_of(packet.pts_seconds));
        file->insert(file->end(), packet.data.begin(), packet.data.end());
    }
    const std::span<const std::byte> bytes(*file);
    return MediaSource::from_bytes(bytes, std::move(file), std::move(name));
}

}  // namespace tricodec
