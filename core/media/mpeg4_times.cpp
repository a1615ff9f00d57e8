// SPDX-License-Identifier: Apache-2.0
#include "media/mpeg4_times.h"

#include <bit>

#include "media/bit_reader.h"
#include "media/stream_info.h"

namespace tricodec {
namespace {

constexpr unsigned kFirstLayer = 0x20, kLastLayer = 0x2f;  // start codes of VOL

/// The bits after the last byte of a start code.
BitReader bits_of(Bytes unit) {
    return BitReader({reinterpret_cast<const std::uint8_t*>(unit.data()) + 1, unit.size() - 1});
}

}  // namespace

Mpeg4Times::Mpeg4Times(Bytes extradata) {
    for (const auto unit : nals_to_picture(extradata, 0, CodecId::mpeg4)) learn(unit);
    first_layer_ = layer_;
}

bool Mpeg4Times::fit(Bytes packet) {
    for (const auto unit : nals_to_picture(packet, 0, CodecId::mpeg4)) {
        learn(unit);
        if (unit.empty() || byte_at(unit, 0) != kMpeg4Vop || layer_.studio) continue;
        if (layer_.num_bits == 0) return false;
        auto bits = bits_of(unit);
        bits.skip(2);  // vop_coding_type
        bool counts_seconds = true;
        while (bits.ok() && counts_seconds) counts_seconds = bits.flag();  // modulo_time_base
        bits.skip(1 + layer_.num_bits);                                    // a marker, vop_time_increment
        return bits.flag();                                                // the next marker
    }
    return true;
}

void Mpeg4Times::learn(Bytes unit) {
    constexpr std::uint32_t kSimpleStudio = 0x0e, kCoreStudio = 0x0f, kExtendedAspect = 15, kGrayscale = 3;
    if (unit.empty() || byte_at(unit, 0) < kFirstLayer || byte_at(unit, 0) > kLastLayer) return;
    auto bits = bits_of(unit);
    bits.skip(1);  // random_accessible_vol
    const auto type = bits.bits(8);
    if (type == kSimpleStudio || type == kCoreStudio) {  // their pictures have other headers
        layer_.studio = true;
        return;
    }
    std::uint32_t version = 1;
    if (bits.flag()) {  // is_object_layer_identifier
        version = bits.bits(4);
        bits.skip(3);  // priority
    }
    if (bits.bits(4) == kExtendedAspect) bits.skip(8 + 8);
    if (bits.flag()) {                   // vol_control_parameters
        bits.skip(2 + 1);                // chroma_format, low_delay
        if (bits.flag()) bits.skip(79);  // vbv_parameters
    }
    const auto shape = bits.bits(2);
    if (shape == kGrayscale && version != 1) bits.skip(4);
    bits.skip(1);  // a marker
    const auto resolution = bits.bits(16);
    if (!bits.ok() || resolution == 0) return;
    layer_.num_bits = resolution > 1 ? std::bit_width(resolution - 1) : 1;
    bits.skip(1);                                    // a marker
    if (bits.flag()) bits.skip(layer_.num_bits);     // fixed_vop_rate
    if (shape == 0) bits.skip(1 + 13 + 1 + 13 + 1);  // of a rectangle: width and height, between markers
    layer_.interlaced = bits.flag();
}

bool is_decoded_by_one_thread(const StreamInfo& stream) {
    return stream.codec == CodecId::mpeg4 && Mpeg4Times(extradata_of(stream.parameters.get())).interlaced();
}

}  // namespace tricodec
