// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/band_args.h"
#include "image/cuda/band_rows.h"
#include "image/cuda/band_warp.h"
#include "image/cuda/color_steps.h"

namespace tricodec::image::gpu {

// Step 4 of band_kernel.h: colors, and stores of them from registers.

/// Two points side by side.
template <Element kElement>
TRICODEC_KERNEL void store_band_points(const BandArgs& args, const BandLane& lane, int tile, int x, unsigned char* to) {
    constexpr int kBytes = kElement == Element::uint8 ? 1 : kElement == Element::float32 ? 4 : 2;
    if (x >= args.grid_width) return;
    const OutputArgs& output = args.output;
    std::uint32_t elements[2][3];
    TRICODEC_UNROLL
    for (int i = 0; i < 2; ++i) {
        const std::int32_t p[3] = {lane.p[0][tile][i] >> 14, lane.p[1][tile][i] >> 14, lane.p[2][tile][i] >> 14};
        make_elements<kElement>(args.color, p, elements[i]);
    }
    if (args.pairs != Pairs::none && x + 1 < args.grid_width) {
        const auto put = [&](unsigned char* at, std::uint32_t a, std::uint32_t b) {
            if constexpr (kBytes == 4) {
                store(at, Words2{{a, b}});
            } else {
                store_element<2 * kBytes>(at, a | b << (8 * kBytes), true);
            }
        };
        if (args.pairs == Pairs::of_points) {
            put(to, elements[0][0], elements[0][1]);
            put(to + 2 * kBytes, elements[0][2], elements[1][0]);
            put(to + 4 * kBytes, elements[1][1], elements[1][2]);
            return;
        }
        TRICODEC_UNROLL
        for (int c = 0; c < 3; ++c) {
            if (c >= args.color.num_channels) break;
            put(to + output.element_offset[c], elements[0][c], elements[1][c]);
        }
        return;
    }
    TRICODEC_UNROLL
    for (int i = 0; i < 2; ++i) {
        if (x + i >= args.grid_width) break;
        TRICODEC_UNROLL
        for (int e = 0; e < kMaxElements; ++e) {
            if (e >= output.num_groups * output.group_size) break;
            store_element<kBytes>(to + i * output.step_x + output.element_offset[e],
                                  element_bits(elements[i], args.color.num_channels, e), output.aligned != 0);
        }
    }
}

/// The channels of a lane's points, two side by side together, for turn_eights(): a word for each tile, or, of bytes,
/// one for tiles 0 and 2 and one for 1 and 3.
template <Element kElement>
TRICODEC_KERNEL void make_eights(const ColorArgs& color, BandLane& lane) {
    const auto p_of = [&](int tile, int i, std::int32_t (&p)[3]) {
        TRICODEC_UNROLL
        for (int c = 0; c < 3; ++c) p[c] = lane.p[c][tile][i] >> 14;
    };
    std::int32_t p[3];
    if constexpr (kElement == Element::uint8) {
        TRICODEC_UNROLL
        for (int tile = 0; tile < 2; ++tile) {
            std::int32_t sums[4][3];
            TRICODEC_UNROLL
            for (int i = 0; i < 4; ++i) {
                p_of(tile + i / 2 * 2, i % 2, p);
                make_integers(color, p, sums[i]);
            }
            TRICODEC_UNROLL
            for (int c = 0; c < 3; ++c) {
                lane.words[c][tile] = pack_bytes(sums[0][c], sums[1][c], sums[2][c], sums[3][c]);
            }
        }
    } else {
        TRICODEC_UNROLL
        for (int tile = 0; tile < kBandTiles; ++tile) {
            std::uint32_t elements[2][3];
            TRICODEC_UNROLL
            for (int i = 0; i < 2; ++i) {
                p_of(tile, i, p);
                make_elements<kElement>(color, p, elements[i]);
            }
            TRICODEC_UNROLL
            for (int c = 0; c < 3; ++c) lane.words[c][tile] = elements[0][c] | elements[1][c] << 16;
        }
    }
}

/// Of two lanes whose numbers differ by kWith the first gives its word `b` for the other's word `a`.
template <int kWith, class Warp>
TRICODEC_KERNEL void exchange(Warp& warp, int channel, int a, int b) {
    // By value: an address that depends on the lane would keep the words out of registers.
    warp.each([&](BandLane& lane, int i) {
        const std::uint32_t first = lane.words[channel][a];
        const std::uint32_t second = lane.words[channel][b];
        lane.sent = (i & kWith) != 0 ? first : second;
    });
    warp.template swap<kWith>([](BandLane& lane) { return &lane.sent; });
    warp.each([&](BandLane& lane, int i) {
        const std::uint32_t first = lane.words[channel][a];
        const std::uint32_t second = lane.words[channel][b];
        const std::uint32_t got = lane.sent;
        lane.words[channel][a] = (i & kWith) != 0 ? got : first;
        lane.words[channel][b] = (i & kWith) != 0 ? second : got;
    });
}

/// Four lanes that follow one another have two points each of all tiles: now each has the eight points of one.
template <Element kElement, class Warp>
TRICODEC_KERNEL void turn_eights(Warp& warp, int channel) {
    exchange<1>(warp, channel, 0, 1);
    if constexpr (kElement == Element::uint8) {
        warp.each([&](BandLane& lane, int) {
            std::uint32_t (&words)[4] = lane.words[channel];
            const std::uint32_t first = permute(words[0], words[1], 0x5410);
            words[1] = permute(words[0], words[1], 0x7632);
            words[0] = first;
        });
        exchange<2>(warp, channel, 0, 1);
    } else {
        exchange<1>(warp, channel, 2, 3);
        exchange<2>(warp, channel, 0, 2);
        exchange<2>(warp, channel, 1, 3);
    }
}

/// A warp's rows, eight points of a channel at once.
template <Element kElement, class Warp>
TRICODEC_KERNEL void store_eights(Warp& warp, const BandArgs& args, const FrameArgs& frame, int unit, int tile_y) {
    warp.each([&](BandLane& lane, int) { make_eights<kElement>(args.color, lane); });
    TRICODEC_UNROLL
    for (int c = 0; c < 3; ++c) turn_eights<kElement>(warp, c);
    warp.each([&](BandLane& lane, int i) {
        const int y = tile_y * kBandRows + i / 4;
        if (y >= args.grid_height) return;
        const OutputArgs& output = args.output;
        unsigned char* const to = frame.out + (unit * kBandWidth + i % 4 * 8) * output.step_x + y * output.step_y;
        TRICODEC_UNROLL
        for (int c = 0; c < 3; ++c) {
            if (c >= args.color.num_channels) break;
            const std::uint32_t (&words)[4] = lane.words[c];
            if constexpr (kElement == Element::uint8) {
                store(to + output.element_offset[c], Words2{{words[0], words[1]}});
            } else {
                store(to + output.element_offset[c], Words4{{words[0], words[1], words[2], words[3]}});
            }
        }
    });
}

/// Frames of luma alone have no color.
template <class Warp>
TRICODEC_KERNEL void leave_chroma(Warp& warp) {
    warp.each([](BandLane& lane, int) {
        TRICODEC_UNROLL
        for (int tile = 0; tile < kBandTiles; ++tile) {
            TRICODEC_UNROLL
            for (int k = 0; k < 2; ++k) lane.p[1][tile][k] = lane.p[2][tile][k] = 8192 << 14;
        }
    });
}

/// A warp's rows.
template <Element kElement, class Warp>
TRICODEC_KERNEL void store_band(Warp& warp, const BandArgs& args, const FrameArgs& frame, int unit, int tile_y) {
    if constexpr (kElement != Element::float32) {
        if (args.eights != 0 && (unit + 1) * kBandWidth <= args.grid_width) {
            store_eights<kElement>(warp, args, frame, unit, tile_y);
            return;
        }
    }
    warp.each([&](BandLane& lane, int i) {
        const int x = unit * kBandWidth + 2 * (i % 4);
        const int y = tile_y * kBandRows + i / 4;
        if (y >= args.grid_height) return;
        unsigned char* to = frame.out + x * args.output.step_x + y * args.output.step_y;
        TRICODEC_UNROLL
        for (int tile = 0; tile < kBandTiles; ++tile, to += 8 * args.output.step_x) {
            store_band_points<kElement>(args, lane, tile, x + 8 * tile, to);
        }
    });
}

}  // namespace tricodec::image::gpu
