// SPDX-License-Identifier: Apache-2.0
#include "bitstream/mpeg4_fields.h"

#include <bit>

#include "bitstream/nal.h"
#include "ffmpeg/stream_info.h"
#include "io/bit_reader.h"

namespace tricodec {
namespace {

/// The flag `interlaced` of the header of a layer (VOL; 6.2.3 of ISO 14496-2), which is after the start code. False if
/// the header is cut, or of the studio profiles, which libavcodec decodes by other means.
bool is_interlaced(Bytes unit) {
    constexpr std::uint32_t kSimpleStudio = 0x0e, kCoreStudio = 0x0f, kExtendedAspect = 15, kGrayscale = 3;
    BitReader bits({reinterpret_cast<const std::uint8_t*>(unit.data()) + 1, unit.size() - 1});
    bits.skip(1);  // random_accessible_vol
    const auto type = bits.bits(8);
    if (type == kSimpleStudio || type == kCoreStudio) return false;
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
    bits.skip(1);                                                                     // a marker
    if (bits.flag()) bits.skip(resolution > 1 ? std::bit_width(resolution - 1) : 1);  // fixed_vop_rate
    if (shape == 0) bits.skip(1 + 13 + 1 + 13 + 1);  // of a rectangle: width and height, between markers
    return bits.flag() && bits.ok();
}

}  // namespace

bool is_decoded_by_one_thread(const StreamInfo& stream) {
    constexpr unsigned kFirstLayer = 0x20, kLastLayer = 0x2f;  // start codes of VOL
    if (stream.codec != CodecId::mpeg4) return false;
    bool interlaced = false;
    for (const auto unit : nals_to_picture(extradata_of(stream.parameters.get()), 0, CodecId::mpeg4)) {
        if (unit.empty() || byte_at(unit, 0) < kFirstLayer || byte_at(unit, 0) > kLastLayer) continue;
        interlaced = is_interlaced(unit);
    }
    return interlaced;
}

}  // namespace tricodec
