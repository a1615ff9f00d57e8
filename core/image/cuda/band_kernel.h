// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "image/cuda/band_args.h"
#include "image/cuda/band_warp.h"
#include "image/cuda/color_steps.h"
#include "image/cuda/tile_rows.h"

namespace tricodec::image::gpu {

// The kernel for resizes on GPUs that multiply matrices of bytes. Both passes of docs/transform.md 4 are products with
// banded matrices: V = rows' coefficients x samples, P = V x columns' coefficients. A warp makes 8 rows of 32 points of
// the grid from all components, and waits for no other:
//   1. copies: "bands" of 64 bytes of 32 source rows are on their way to shared memory, three of them at any time;
//   2. rows: a lane takes 8 bytes of eight rows, and turns four rows' bytes into words of one column each. A product's
//      16 rows are the 8 rows' coefficients in two bytes each.
//   3. columns: the lanes hold V just as a product's first matrix wants it, if its columns are taken in the order in
//      which they happen to lie; the table of coefficients has that order. V's two bytes are again two times 8 rows.
//   4. colors, and stores from registers.
//
// Note [Exact in bytes]: a coefficient is 256 * high + low with both in a signed byte: |q| <= 19456. V is unsigned if
// kVBias is added to it, which adds kVBias to P, as coefficients sum up to 2^14: 0 < V + kVBias <= 23552 < 2^15. All
// products are exact in 32 bits (4.4), and so are their sums, modulo 2^32 on the way.

/// What a lane has in registers.
struct BandLane {
    const unsigned char* from;    ///< what the lane copies of the first band
    std::uint32_t samples[8][2];  ///< by byte column: four rows, and four rows 16 further
    std::uint32_t weights[4];
    std::int32_t sums[8][4];  ///< by byte column: of high bytes of coefficients, of low bytes
    std::int32_t start[4];    ///< what they begin with
    std::int32_t zeros[4];
    std::uint32_t v[2][2][4];  ///< by component of the plane, 32 columns: a of Product
    std::uint32_t columns[4];
    std::int32_t parts[2][4];
    std::int32_t p[3][kBandTiles][2];
};

/// Four words of four columns each, one below the other, become four words of four rows each.
TRICODEC_KERNEL void turn_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d,
                                std::uint32_t (&columns)[4]) {
    const std::uint32_t left_above = permute(a, b, 0x5140);
    const std::uint32_t left_below = permute(c, d, 0x5140);
    const std::uint32_t right_above = permute(a, b, 0x7362);
    const std::uint32_t right_below = permute(c, d, 0x7362);
    columns[0] = permute(left_above, left_below, 0x5410);
    columns[1] = permute(left_above, left_below, 0x7632);
    columns[2] = permute(right_above, right_below, 0x5410);
    columns[3] = permute(right_above, right_below, 0x7632);
}

/// What a warp reads of a plane, band by band: of 64 bytes all rows, then the next 64 bytes.
struct BandSource {
    std::int32_t stride;
    std::int64_t eight_rows;  ///< strides
    std::int32_t num_rows;
    std::int32_t num_bytes;  ///< up to which a row may be read
    std::int32_t steps;
};

/// The next band to copy, and where it goes.
struct BandCopies {
    int step;
    int from;
    int slot;
};

/// Starts to copy a band, if there is one left: rows and bytes that are not needed stay what they are in shared memory,
/// as their coefficients are zero.
template <class Warp>
TRICODEC_KERNEL void copy_band(Warp& warp, const BandSource& source, BandCopies& next) {
    warp.each([&](BandLane& lane, int number) {
        if (next.step < source.steps) {
            const unsigned char* at =
                lane.from + (static_cast<std::int64_t>(next.from) * source.stride + next.step * kBandBytes);
            const int to = next.slot * kBandSize + number * 16;
            const int rows = source.num_rows - next.from - number / 4;
            const int bytes = source.num_bytes - next.step * kBandBytes - number % 4 * 16;
            if (bytes >= 16) {
                TRICODEC_UNROLL
                for (int i = 0; i < 4; ++i, at += source.eight_rows) {
                    if (8 * i < rows) warp.start_copy(to + 512 * i, at);
                }
            } else if (bytes > 0) {
                for (int i = 0; i < 4; ++i, at += source.eight_rows) {
                    if (8 * i < rows) warp.start_copy(to + 512 * i, at, bytes);
                }
            }
        }
        end_copy_group();
    });
    next.slot = (next.slot + 1) & (kBandSlots - 1);
    next.from += 32;
    if (next.from >= source.num_rows) {
        next.from = 0;
        ++next.step;
    }
}

/// A lane's eight bytes of eight rows of a band, whatever stands in those that no output needs.
template <int kSampleBytes>
TRICODEC_KERNEL void take_band(const BandPlane& plane, const unsigned char* band, BandLane& lane, int number) {
    const unsigned char* const at = band + number % 4 * kBandBytes + number / 4 * 8;
    TRICODEC_UNROLL
    for (int half = 0; half < 2; ++half) {
        Words2 words[4];
        TRICODEC_UNROLL
        for (int i = 0; i < 4; ++i) {
            words[i] = load<Words2>(at + (16 * half + 4 * i) * kBandBytes);
            if constexpr (kSampleBytes == 2) {
                words[i].w[0] &= plane.mask;
                words[i].w[1] &= plane.mask;
            }
        }
        TRICODEC_UNROLL
        for (int i = 0; i < 2; ++i) {
            std::uint32_t columns[4];
            turn_bytes(words[0].w[i], words[1].w[i], words[2].w[i], words[3].w[i], columns);
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) lane.samples[4 * i + k][half] = columns[k];
        }
    }
}

/// V + kVBias of a column: byte column `at`, of the lane's two the one that `which` says.
template <int kSampleBytes>
TRICODEC_KERNEL std::int32_t band_v(const BandPlane& plane, const BandLane& lane, int at, int which) {
    const std::int32_t (&low)[4] = lane.sums[at];
    if constexpr (kSampleBytes == 1) {
        return low[which] + (low[2 + which] >> 8);
    } else {
        const std::int32_t (&high)[4] = lane.sums[at + 1];
        // The sum fits 32 bits, its parts alone need not.
        const auto middle = static_cast<std::uint32_t>(low[which] + high[2 + which]);
        const std::uint32_t sum = static_cast<std::uint32_t>(low[2 + which]) + (middle << 8) +
                                  (static_cast<std::uint32_t>(high[which]) << 16);
        return static_cast<std::int32_t>(sum) >> plane.bits;
    }
}

/// What a band gives to the sums of its columns; with `kFirst` they begin.
template <int kSampleBytes, bool kFirst, class Warp>
TRICODEC_KERNEL void add_band(Warp& warp, const BandPlane& plane, const unsigned char* band) {
    warp.each([&](BandLane& lane, int number) {
        take_band<kSampleBytes>(plane, band, lane, number);
        if constexpr (kFirst) {
            // What rounds, and kVBias: of 16 bits both are added to the low bytes' sums.
            lane.start[0] = lane.start[1] = kSampleBytes == 1 ? kVBias : 0;
            lane.start[2] = lane.start[3] = kSampleBytes == 1 ? 128 : (1 << (plane.bits - 1)) + (kVBias << plane.bits);
        }
    });
    TRICODEC_UNROLL
    for (int i = 0; i < 8; ++i) {
        warp.template multiply<Signed::a>([&](BandLane& lane) {
            const std::int32_t* const start = !kFirst                           ? lane.sums[i]
                                              : kSampleBytes == 2 && i % 2 == 1 ? lane.zeros
                                                                                : lane.start;
            return Product{lane.sums[i], start, lane.weights, {lane.samples[i][0], lane.samples[i][1]}};
        });
    }
}

/// Steps 1 and 2 for 64 bytes of the rows; V's bytes are then in lane.v.
template <int kSampleBytes, int kParts, class Warp>
TRICODEC_KERNEL void band_rows(Warp& warp, const BandPlane& plane, const BandSource& source, const Words4* row_weights,
                               BandCopies& next) {
    using Columns = BandColumns<kSampleBytes, kParts>;
    const auto take = [&](int from, auto first) {
        // One group is ended for each band, so that all but the latest ones have come. The slot that is written to next
        // is the one that all lanes have read before.
        warp.each([&](BandLane& lane, int number) {
            const auto words = load<Words4>(row_weights + from + number);
            TRICODEC_UNROLL
            for (int i = 0; i < 4; ++i) lane.weights[i] = words.w[i];
            wait_for_copies<kBandSlots - 2>();
        });
        warp.together();
        const unsigned char* const band = warp.shared + ((next.slot + 1) & (kBandSlots - 1)) * kBandSize;
        copy_band(warp, source, next);
        add_band<kSampleBytes, decltype(first)::value>(warp, plane, band);
    };
    take(0, std::true_type());
    for (int from = 32; from < source.num_rows; from += 32) take(from, std::false_type());
    warp.each([&](BandLane& lane, int) {
        TRICODEC_UNROLL
        for (int part = 0; part < kParts; ++part) {
            TRICODEC_UNROLL
            for (int quad = 0; quad < 2 * Columns::kGroups; ++quad) {
                std::uint32_t (&v)[4] = lane.v[part][quad / 2];
                if (quad >= Columns::kQuads) {
                    v[2] = v[3] = 0;
                    continue;
                }
                std::int32_t four[4];
                TRICODEC_UNROLL
                for (int k = 0; k < 4; ++k) {
                    const int sample = 2 * quad + k / 2;
                    four[k] = band_v<kSampleBytes>(plane, lane, (sample * kParts + part) * kSampleBytes, k % 2);
                }
                split_v(four, v[quad % 2 * 2], v[quad % 2 * 2 + 1]);
            }
        }
    });
}

/// Step 3: what the 64 bytes' columns give to a tile of the components from `first` on.
template <int kSampleBytes, int kParts, class Warp>
TRICODEC_KERNEL void band_columns(Warp& warp, const Words4* weights, int first, int tile) {
    constexpr int kGroups = BandColumns<kSampleBytes, kParts>::kGroups;
    TRICODEC_UNROLL
    for (int part = 0; part < kParts; ++part) {
        TRICODEC_UNROLL
        for (int group = 0; group < kGroups; ++group) {
            warp.each([&](BandLane& lane, int number) {
                const auto words = load<Words4>(weights + (group * kBandTiles + tile) * 32 + number);
                TRICODEC_UNROLL
                for (int i = 0; i < 4; ++i) lane.columns[i] = words.w[i];
            });
            TRICODEC_UNROLL
            for (int byte = 0; byte < 2; ++byte) {
                warp.template multiply<Signed::b>([&](BandLane& lane) {
                    return Product{lane.parts[byte],
                                   group == 0 ? lane.zeros : lane.parts[byte],
                                   lane.v[part][group],
                                   {lane.columns[2 * byte], lane.columns[2 * byte + 1]}};
                });
            }
        }
        warp.each([&](BandLane& lane, int) {
            TRICODEC_UNROLL
            for (int i = 0; i < 2; ++i) {
                const std::int32_t middle = lane.parts[0][i] + lane.parts[1][2 + i];
                lane.p[first + part][tile][i] += lane.parts[0][2 + i] * 65536 + middle * 256 + lane.parts[1][i];
            }
        });
    }
}

/// A plane's components, from `first` on: their P, still in units of 2^-14.
template <int kSampleBytes, int kParts, class Warp>
TRICODEC_KERNEL void band_plane(Warp& warp, const BandArgs& args, const FrameArgs& frame, int number, int unit,
                                int tile, int first) {
    const BandPlane& plane = args.planes[number];
    const std::int32_t stride = frame.strides[number];
    constexpr int kGroups = BandColumns<kSampleBytes, kParts>::kGroups;
    warp.each([&](BandLane& lane, int) {
        TRICODEC_UNROLL
        for (int part = 0; part < kParts; ++part) {
            TRICODEC_UNROLL
            for (int i = 0; i < kBandTiles; ++i) {
                // What rounds, without what kVBias adds.
                lane.p[first + part][i][0] = lane.p[first + part][i][1] = 8192 - (kVBias << 14);
            }
        }
    });
    const int at = unit * plane.column_pitch;
    const int begin = plane.begin[unit];
    const BandSource source{stride, std::int64_t{8} * stride, plane.num_rows[tile], plane.row_bytes - begin,
                            plane.steps[unit]};
    const unsigned char* const rows =
        frame.planes[number] + static_cast<std::int64_t>(plane.first_row[tile]) * stride + begin;
    warp.each(
        [&](BandLane& lane, int i) { lane.from = rows + static_cast<std::int64_t>(i / 4) * stride + i % 4 * 16; });
    const Words4* const row_weights = plane.row_weights + tile * plane.row_pitch * 32;
    BandCopies next{};
    warp.together();  // what another plane has left is read
    for (int i = 0; i + 1 < kBandSlots; ++i) copy_band(warp, source, next);
    for (int step = 0; step < source.steps; ++step) {
        const int active = plane.active[at + step];
        band_rows<kSampleBytes, kParts>(warp, plane, source, row_weights, next);
        const Words4* const weights = plane.column_weights + (at + step) * (kGroups * kBandTiles * 32);
        TRICODEC_UNROLL
        for (int i = 0; i < kBandTiles; ++i) {
            if ((active >> i & 1) != 0) band_columns<kSampleBytes, kParts>(warp, weights, first, i);
        }
    }
}

/// Step 4 for two points side by side.
template <Element kElement>
TRICODEC_KERNEL void store_band_points(const BandArgs& args, const FrameArgs& frame, const BandLane& lane, int tile,
                                       int x, int y) {
    constexpr int kBytes = kElement == Element::uint8 ? 1 : kElement == Element::float32 ? 4 : 2;
    if (x >= args.grid_width) return;
    const OutputArgs& output = args.output;
    unsigned char* const to = frame.out + x * output.step_x + y * output.step_y;
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

/// A warp's part of the grid: 32 columns from 32 * unit, 8 rows from 8 * tile. The warp has kBandSlots bands of shared
/// memory.
template <int kSampleBytes, Element kElement, bool kPairs, class Warp>
TRICODEC_KERNEL void band_unit(Warp& warp, const BandArgs& args, const FrameArgs& frame, int unit, int tile) {
    warp.each([](BandLane& lane, int) { lane.zeros[0] = lane.zeros[1] = lane.zeros[2] = lane.zeros[3] = 0; });
    band_plane<kSampleBytes, 1>(warp, args, frame, 0, unit, tile, 0);
    if (args.num_planes > 1) {
        if constexpr (kPairs) {
            band_plane<kSampleBytes, 2>(warp, args, frame, 1, unit, tile, 1);
        } else {
            band_plane<kSampleBytes, 1>(warp, args, frame, 1, unit, tile, 1);
            band_plane<kSampleBytes, 1>(warp, args, frame, 2, unit, tile, 2);
        }
    } else {
        warp.each([&](BandLane& lane, int) {
            TRICODEC_UNROLL
            for (int i = 0; i < kBandTiles; ++i) {
                TRICODEC_UNROLL
                for (int k = 0; k < 2; ++k) lane.p[1][i][k] = lane.p[2][i][k] = 8192 << 14;  // of no color
            }
        });
    }
    warp.each([&](BandLane& lane, int number) {
        const int y = tile * kBandRows + number / 4;
        if (y >= args.grid_height) return;
        TRICODEC_UNROLL
        for (int i = 0; i < kBandTiles; ++i) {
            store_band_points<kElement>(args, frame, lane, i, unit * kBandWidth + 8 * i + 2 * (number % 4), y);
        }
    });
}

}  // namespace tricodec::image::gpu
