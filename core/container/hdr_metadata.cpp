// SPDX-License-Identifier: Apache-2.0
#include "container/hdr_metadata.h"

extern "C" {
#include <libavutil/mastering_display_metadata.h>
}

#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "bitstream/av1_units.h"
#include "bitstream/sps.h"
#include "tricodec/io/packet.h"

namespace tricodec {
namespace {

/// Numbers of the most significant byte first, which are all there.
class Numbers {
public:
    explicit Numbers(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    double next(int bytes) noexcept {
        std::uint32_t value = 0;
        for (; bytes > 0; --bytes) value = value << 8 | bytes_[at_++];
        return value;
    }
    std::array<double, 2> point(double unit) noexcept {
        const double x = next(2) * unit;
        return {x, next(2) * unit};
    }

private:
    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

constexpr std::size_t kMasteringBytes = 24;
constexpr std::size_t kLightBytes = 4;

void set_light(std::span<const std::uint8_t> payload, StreamInfo& info) {
    if (payload.size() < kLightBytes || info.content_light) return;
    Numbers numbers(payload);
    const auto cll = static_cast<int>(numbers.next(2));
    info.content_light = ContentLight{cll, static_cast<int>(numbers.next(2))};
}

/// Of HEVC's message (annex D.2.28): green, blue, red; of AV1's unit (6.7.4): red, green, blue.
void set_display(std::span<const std::uint8_t> payload, bool of_av1, StreamInfo& info) {
    if (payload.size() < kMasteringBytes || info.mastering_display) return;
    Numbers numbers(payload);
    MasteringDisplay display;
    auto& [red, green, blue, white, min_luminance, max_luminance] = display;
    const std::array points =
        of_av1 ? std::array{&red, &green, &blue, &white} : std::array{&green, &blue, &red, &white};
    for (auto* point : points) *point = numbers.point(of_av1 ? 1.0 / 65536 : 0.00002);
    max_luminance = numbers.next(4) * (of_av1 ? 1.0 / 256 : 0.0001);
    min_luminance = numbers.next(4) * (of_av1 ? 1.0 / 16384 : 0.0001);
    info.mastering_display = display;
}

void read_obus(Bytes unit, StreamInfo& info) {
    constexpr unsigned kMetadata = 5;
    (void)for_each_obu(unit, [&](unsigned type, std::size_t, Bytes obu) {
        if (type != kMetadata || obu.size() < 2) return;
        const std::span payload(reinterpret_cast<const std::uint8_t*>(obu.data()) + 1, obu.size() - 1);
        if (byte_at(obu, 0) == 1) set_light(payload, info);
        if (byte_at(obu, 0) == 2) set_display(payload, true, info);
    });
}

/// The units of an hvcC record with start codes; empty if it is something else.
std::vector<std::byte> units_of_record(Bytes record) {
    constexpr std::byte kStart[] = {std::byte{0}, std::byte{0}, std::byte{1}};
    std::vector<std::byte> units;
    if (record.size() < 23 || byte_at(record, 0) != 1) return units;
    for_each_hevc_unit(record, [&](Bytes unit) {
        units.insert(units.end(), std::begin(kStart), std::end(kStart));
        units.insert(units.end(), unit.begin(), unit.end());
    });
    return units;
}

}  // namespace

void read_hdr_metadata(const AVStream& stream, StreamInfo& info) {
    if (const auto* data =
            ff::side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, sizeof(AVMasteringDisplayMetadata))) {
        const auto& from = *reinterpret_cast<const AVMasteringDisplayMetadata*>(data);
        const auto point = [](const AVRational* at) { return std::array{av_q2d(at[0]), av_q2d(at[1])}; };
        MasteringDisplay display;
        if (from.has_primaries != 0) {
            display.red = point(from.display_primaries[0]);
            display.green = point(from.display_primaries[1]);
            display.blue = point(from.display_primaries[2]);
            display.white = point(from.white_point);
        }
        if (from.has_luminance != 0) {
            display.min_luminance = av_q2d(from.min_luminance);
            display.max_luminance = av_q2d(from.max_luminance);
        }
        info.mastering_display = display;
    }
    if (const auto* data = ff::side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, sizeof(AVContentLightMetadata))) {
        const auto& from = *reinterpret_cast<const AVContentLightMetadata*>(data);
        info.content_light = ContentLight{static_cast<int>(from.MaxCLL), static_cast<int>(from.MaxFALL)};
    }
}

void read_hdr_metadata(Bytes unit, StreamInfo& info) {
    if (info.codec == CodecId::av1) return read_obus(unit, info);
    const auto units = info.codec == CodecId::hevc ? units_of_record(unit) : std::vector<std::byte>{};
    for (const auto& message : units.empty() ? sei_messages(info, unit) : sei_messages(info.codec, units)) {
        if (message.type == 137) set_display(message.payload, false, info);
        if (message.type == 144) set_light(message.payload, info);
    }
}

void write_hdr_metadata(const StreamInfo& info, AVStream& stream) {
    if (info.mastering_display) {
        const auto& from = *info.mastering_display;
        const auto number = [](double value, int unit) {
            return AVRational{static_cast<int>(std::lround(value * unit)), unit};
        };
        constexpr int kOfColor = 50'000;  // the units of HEVC's message
        constexpr int kOfLight = 10'000;
        AVMasteringDisplayMetadata display{};
        const std::array points{from.red, from.green, from.blue, from.white};
        for (std::size_t i = 0; i < points.size(); ++i) {
            auto* to = i < 3 ? display.display_primaries[i] : display.white_point;
            for (std::size_t axis = 0; axis < 2; ++axis) to[axis] = number(points[i][axis], kOfColor);
        }
        display.min_luminance = number(from.min_luminance, kOfLight);
        display.max_luminance = number(from.max_luminance, kOfLight);
        display.has_primaries = from.white == std::array{0.0, 0.0} ? 0 : 1;
        display.has_luminance = from.max_luminance > 0 ? 1 : 0;
        std::memcpy(ff::add_side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, sizeof(display)), &display,
                    sizeof(display));
    }
    if (info.content_light) {
        AVContentLightMetadata light{};
        light.MaxCLL = static_cast<unsigned>(info.content_light->max_cll);
        light.MaxFALL = static_cast<unsigned>(info.content_light->max_fall);
        std::memcpy(ff::add_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, sizeof(light)), &light, sizeof(light));
    }
}

}  // namespace tricodec
