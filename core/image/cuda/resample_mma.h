// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "image/cuda/color_steps.h"
#include "image/cuda/kernel_args.h"
#include "image/cuda/resample_mma_rows.h"
#include "image/cuda/warp.h"

namespace tricodec::image::gpu {

// The kernel for resizes on GPUs that multiply matrices of bytes (compute capability 8.0 and later). Both passes of
// docs/reference/transform.md 4 are products with banded matrices: V = rows' coefficients x samples, P = V x columns'
// coefficients. A block makes 32 rows of 32 points of the grid from all components, a warp eight of these rows, for one
// frame or several, one after the other:
//   1. copies: a stage is 64 bytes of all source rows that the block needs. Two stages are on their way to shared
//      memory at any time. The first one brings the columns' coefficients too, which all warps share;
//   2. rows: transposed loads have two rows of two columns in a word, and two words become four rows of one column
//      each. A product's 16 rows are the coefficients of 8 rows, in two bytes each;
//   3. columns: the lanes hold V as a product's first matrix needs it, if its columns are taken in the order in which
//      they are; the table of coefficients has that order. V's two bytes are again two times 8 rows;
//   4. colors, and stores from registers.
//
// Note [Exact in bytes]: a coefficient is 256 * high + low with both in a signed byte: |q| <= 19456. V is unsigned if
// kVBias is added to it, which adds kVBias to P, as coefficients sum up to 2^14: 0 < V + kVBias <= 23552 < 2^15. All
// products are exact in 32 bits (4.4), and so are their sums, modulo 2^32 on the way.

/// Step 3: adds the columns of 64 bytes to a tile of the components from `first` on. Their coefficients are at `entry`.
template <int kSampleBytes, int kParts, class Warp>
TRICODEC_KERNEL void mma_columns(Warp& warp, int entry, int first, int tile) {
    using Columns = MmaColumns<kSampleBytes, kParts>;
    TRICODEC_UNROLL
    for (int part = 0; part < kParts; ++part) {
        TRICODEC_UNROLL
        for (int group = 0; group < Columns::kGroups; ++group) {
            warp.each([&](MmaLane& lane, int number) {
                const auto words = load<Words4>(warp.shared + entry + group * kMmaEntry + number * 16);
                TRICODEC_UNROLL
                for (int i = 0; i < 4; ++i) lane.columns[i] = words.w[i];
            });
            TRICODEC_UNROLL
            for (int byte = 0; byte < 2; ++byte) {
                warp.template multiply<Signed::b, 16 * Columns::kQuads>([&](MmaLane& lane) {
                    return Product{lane.parts[byte],
                                   group == 0 ? lane.zeros : lane.parts[byte],
                                   lane.v[part][group],
                                   {lane.columns[2 * byte], lane.columns[2 * byte + 1]}};
                });
            }
        }
        warp.each([&](MmaLane& lane, int) {
            TRICODEC_UNROLL
            for (int i = 0; i < 2; ++i) {
                const std::int32_t middle = lane.parts[0][i] + lane.parts[1][2 + i];
                lane.p[first + part][tile][i] += lane.parts[0][2 + i] * 65536 + middle * 256 + lane.parts[1][i];
            }
        });
    }
}

/// Loads the rows' coefficients of a warp's tile, before it needs them: that takes long.
template <class Warp>
TRICODEC_KERNEL void load_weights(Warp& warp, const MmaArgs& args, const MmaPlane& plane, int tile) {
    const bool any = tile * kMmaRows < args.grid_height;
    const Words4* const row_weights = plane.row_weights + tile * plane.row_pitch * 32;
    warp.each([&](MmaLane& lane, int number) {
        TRICODEC_UNROLL
        for (int i = 0; i < 2; ++i) {
            if (!any || i >= plane.row_pitch) break;
            const auto words = load<Words4>(row_weights + 32 * i + number);
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) lane.weights[i][k] = words.w[k];
        }
    });
}

/// Step 3 for a stage, with the bits of the tiles that have coefficients there.
template <int kSampleBytes, int kParts, class Warp>
TRICODEC_KERNEL void mma_tiles(Warp& warp, int tiles, int first) {
    int entry = warp.first().entry;
    TRICODEC_UNROLL
    for (int tile = 0; tile < kMmaTiles; ++tile) {
        if ((tiles >> tile & 1) == 0) continue;
        mma_columns<kSampleBytes, kParts>(warp, entry, first, tile);
        entry += MmaColumns<kSampleBytes, kParts>::kGroups * kMmaEntry;
    }
    warp.each([&](MmaLane& lane, int) { lane.entry = entry; });
}

/// The rows that a warp's tile needs of a plane.
template <class Warp>
TRICODEC_KERNEL Range rows_of_tile(const Warp& warp, const MmaArgs& args, int plane, int number) {
    return load<Range>(warp.shared + args.work_place + plane * static_cast<int>(sizeof(MmaWork)) +
                       static_cast<int>(offsetof(MmaWork, tile_rows)) + number * static_cast<int>(sizeof(Range)));
}

/// Where a warp finds its `rows` of a plane, the same of all frames; a stage has the plane's rows from `block_row` on.
template <int kSampleBytes, class Warp>
TRICODEC_KERNEL void place_plane(Warp& warp, const MmaPlane& plane, Range rows, int block_row) {
    warp.each([&](MmaLane& lane, int number) {
        lane.rows = rows.count;
        const int row_32 = rows.first - block_row + number;
        const int row_16 = rows.first - block_row + number % 16;
        lane.turned_32 = row_32 * kMmaBytes + (row_32 / 2 & 3) * 16;
        lane.turned_16 = row_16 * kMmaBytes + (number / 16 ^ (row_16 / 2 & 3)) * 16;
        // Rounding, and kVBias: with 16 bits both are added to the low bytes' sums.
        lane.start[0] = lane.start[1] = kSampleBytes == 1 ? kVBias : 0;
        lane.start[2] = lane.start[3] = kSampleBytes == 1 ? 128 : (1 << (plane.bits - 1)) + (kVBias << plane.bits);
    });
}

/// A warp begins with a plane of a frame, which has the components from `first` on. The columns' words are at `place`
/// in shared memory; the first `header` of them come before the coefficients.
template <int kParts, class Warp>
TRICODEC_KERNEL void begin_plane(Warp& warp, int place, int header, int first) {
    warp.each([&](MmaLane& lane, int) {
        lane.entry = place + header * static_cast<int>(sizeof(Words4));
        TRICODEC_UNROLL
        for (int part = 0; part < kParts; ++part) {
            TRICODEC_UNROLL
            for (int k = 0; k < kMmaTiles; ++k) {
                // Rounding, less the contribution of kVBias.
                lane.p[first + part][k][0] = lane.p[first + part][k][1] = 8192 - (kVBias << 14);
            }
        }
    });
}

/// P of a plane's components, from `first` on, after begin_plane(), still in units of 2^-14. `stage` is the plane's
/// first.
template <int kSampleBytes, int kParts, class Block>
TRICODEC_KERNEL void mma_plane(Block& block, const MmaArgs& args, int number, const MmaWork& work, int block_y,
                               int first, int& stage, MmaCopies& next) {
    const MmaPlane& plane = args.planes[number];
    int header = args.columns[plane.axis].place;
    for (int byte = 0; byte < work.bytes.count; byte += kMmaBytes, header += static_cast<int>(sizeof(int))) {
        // Each stage is a copy group, so that all but the latest ones have arrived.
        block.each_warp([](auto& warp, int) { warp.each([](MmaLane&, int) { wait_for_copies<kMmaStages - 2>(); }); });
        block.together();
        // Into the stage that all warps have read.
        copy_stage(block, args, next);
        const int from = stage * args.stage_bytes;
        stage = stage + 1 < kMmaStages ? stage + 1 : 0;
        block.each_warp([&](auto& warp, int i) {
            const int rows = warp.uniform(warp.first().rows);
            if (rows == 0) return;
            const int tiles = warp.uniform(load<std::int32_t>(warp.shared + header));
            const int tile_y = block_y * kMmaWarps + i;
            const Words4* const row_weights = plane.row_weights + tile_y * plane.row_pitch * 32;
            mma_rows<kSampleBytes, kParts>(warp, plane, row_weights, rows, from);
            if (byte + kMmaBytes >= work.bytes.count) {
                load_weights(warp, args, args.planes[number + 1 < args.num_planes ? number + 1 : 0], tile_y);
            }
            mma_tiles<kSampleBytes, kParts>(warp, tiles, first);
        });
    }
}

// Step 4: colors, and stores from registers.

/// Stores two points side by side.
template <Element kElement>
TRICODEC_KERNEL void store_points(const MmaArgs& args, const MmaLane& lane, int tile, int x, unsigned char* to) {
    constexpr int kBytes = bytes_of(kElement);
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
TRICODEC_KERNEL void make_eights(const ColorArgs& color, MmaLane& lane) {
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
        for (int tile = 0; tile < kMmaTiles; ++tile) {
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

/// Two lanes with numbers that differ by kWith exchange words: the first one's `b` and the other one's `a`.
template <int kWith, class Warp>
TRICODEC_KERNEL void exchange(Warp& warp, int channel, int a, int b) {
    // By value: with an address that depends on the lane the words would not be in registers.
    warp.each([&](MmaLane& lane, int i) {
        const std::uint32_t first = lane.words[channel][a];
        const std::uint32_t second = lane.words[channel][b];
        lane.sent = (i & kWith) != 0 ? first : second;
    });
    warp.template swap<kWith>([](MmaLane& lane) { return &lane.sent; });
    warp.each([&](MmaLane& lane, int i) {
        const std::uint32_t first = lane.words[channel][a];
        const std::uint32_t second = lane.words[channel][b];
        const std::uint32_t got = lane.sent;
        lane.words[channel][a] = (i & kWith) != 0 ? got : first;
        lane.words[channel][b] = (i & kWith) != 0 ? second : got;
    });
}

/// Before, four consecutive lanes have two points each of all tiles; after, each has the eight points of one tile.
template <Element kElement, class Warp>
TRICODEC_KERNEL void turn_eights(Warp& warp, int channel) {
    exchange<1>(warp, channel, 0, 1);
    if constexpr (kElement == Element::uint8) {
        warp.each([&](MmaLane& lane, int) {
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

/// Stores a warp's rows, eight points of a channel at once.
template <Element kElement, class Warp>
TRICODEC_KERNEL void store_eights(Warp& warp, const MmaArgs& args, const FrameArgs& frame, int unit, int tile_y) {
    warp.each([&](MmaLane& lane, int) { make_eights<kElement>(args.color, lane); });
    TRICODEC_UNROLL
    for (int c = 0; c < 3; ++c) turn_eights<kElement>(warp, c);
    warp.each([&](MmaLane& lane, int i) {
        const int y = tile_y * kMmaRows + i / 4;
        if (y >= args.grid_height) return;
        const OutputArgs& output = args.output;
        unsigned char* const to = frame.out + (unit * kMmaWidth + i % 4 * 8) * output.step_x + y * output.step_y;
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

/// Neutral chroma, for frames of luma alone.
template <class Warp>
TRICODEC_KERNEL void set_neutral_chroma(Warp& warp) {
    warp.each([](MmaLane& lane, int) {
        TRICODEC_UNROLL
        for (int tile = 0; tile < kMmaTiles; ++tile) {
            TRICODEC_UNROLL
            for (int k = 0; k < 2; ++k) lane.p[1][tile][k] = lane.p[2][tile][k] = 8192 << 14;
        }
    });
}

/// Stores a warp's rows.
template <Element kElement, class Warp>
TRICODEC_KERNEL void store_rows(Warp& warp, const MmaArgs& args, const FrameArgs& frame, int unit, int tile_y) {
    if constexpr (kElement != Element::float32) {
        if (args.eights != 0 && (unit + 1) * kMmaWidth <= args.grid_width) {
            store_eights<kElement>(warp, args, frame, unit, tile_y);
            return;
        }
    }
    warp.each([&](MmaLane& lane, int i) {
        const int x = unit * kMmaWidth + 2 * (i % 4);
        const int y = tile_y * kMmaRows + i / 4;
        if (y >= args.grid_height) return;
        unsigned char* to = frame.out + x * args.output.step_x + y * args.output.step_y;
        TRICODEC_UNROLL
        for (int tile = 0; tile < kMmaTiles; ++tile, to += 8 * args.output.step_x) {
            store_points<kElement>(args, lane, tile, x + 8 * tile, to);
        }
    });
}

/// Starts to copy the columns' coefficients, and writes to shared memory what the block needs of each plane; returns
/// that of the first. All loads overlap.
template <int kSampleBytes, class Block>
TRICODEC_KERNEL MmaWork begin_block(Block& block, const MmaArgs& args, int unit, int block_y) {
    const auto work_of = [&](const MmaPlane& plane) {
        MmaWork work{load<Range>(plane.block_rows + block_y), load<Range>(args.columns[plane.axis].bytes + unit), {}};
        TRICODEC_UNROLL
        for (int i = 0; i < kMmaWarps; ++i) {
            const int tile = block_y * kMmaWarps + i;
            if (tile * kMmaRows < args.grid_height) work.tile_rows[i] = load<Range>(plane.rows + tile);
        }
        return work;
    };
    const MmaWork first = work_of(args.planes[0]);
    const Range ranges[2] = {load<Range>(args.columns[0].ranges + unit),
                             args.num_axes > 1 ? load<Range>(args.columns[1].ranges + unit) : Range{0, 0}};
    block.each_warp([&](auto& warp, int number) {
        const auto thread = [&](int lane) { return number * 32 + lane; };
        warp.each([&](MmaLane& lane, int i) {
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) lane.zeros[k] = 0;
            if (thread(i) < args.num_planes) {
                store(warp.shared + args.work_place + thread(i) * static_cast<int>(sizeof(MmaWork)),
                      work_of(args.planes[thread(i)]));
            }
        });
        load_weights(warp, args, args.planes[0], block_y * kMmaWarps + number);
        warp.each([&](MmaLane&, int i) {
            TRICODEC_UNROLL
            for (int axis = 0; axis < 2; ++axis) {
                const MmaColumnsTable& table = args.columns[axis];
                TRICODEC_NO_UNROLL
                for (int word = thread(i); word < ranges[axis].count; word += kMmaThreads) {
                    warp.start_copy(table.place + word * static_cast<int>(sizeof(Words4)),
                                    reinterpret_cast<const unsigned char*>(table.words + ranges[axis].first + word));
                }
            }
        });
    });
    block.together();
    return first;
}

/// Makes 32 columns of the grid from 32 * unit on and 32 rows from 32 * block_y on, of every args.shares-th frame from
/// `share` on. While one frame is stored, the first stages of the next one are on their way.
template <int kSampleBytes, Element kElement, bool kPairs, class Block>
TRICODEC_KERNEL void mma_block(Block& block, const MmaArgs& args, int unit, int block_y, int share) {
    const MmaWork first = begin_block<kSampleBytes>(block, args, unit, block_y);
    MmaCopies next{};
    next.frame = share;
    begin_copies(block, args, first, next);
    // The columns' coefficients are part of the first copy group.
    for (int i = 0; i + 1 < kMmaStages; ++i) copy_stage(block, args, next);
    int stage = 0;
    const auto add_plane = [&](auto parts, int number) {
        constexpr int kParts = decltype(parts)::value;
        MmaWork work{};
        block.each_warp([&](auto& warp, int i) {
            const MmaPlane& plane = args.planes[number];
            work = load<MmaWork>(warp.shared + args.work_place + number * static_cast<int>(sizeof(MmaWork)));
            place_plane<kSampleBytes>(warp, plane, rows_of_tile(warp, args, number, i), work.rows.first);
            const MmaColumnsTable& table = args.columns[plane.axis];
            begin_plane<kParts>(warp, table.place, table.header, number);
        });
        mma_plane<kSampleBytes, kParts>(block, args, number, work, block_y, number, stage, next);
    };
    TRICODEC_NO_UNROLL
    for (int frame = share; frame < args.num_frames; frame += args.shares) {
        add_plane(std::integral_constant<int, 1>(), 0);
        if (args.num_planes > 1) {
            if constexpr (kPairs) {
                add_plane(std::integral_constant<int, 2>(), 1);
            } else {
                add_plane(std::integral_constant<int, 1>(), 1);
                add_plane(std::integral_constant<int, 1>(), 2);
            }
        }
        block.each_warp([&](auto& warp, int number) {
            if (args.num_planes == 1) set_neutral_chroma(warp);
            store_rows<kElement>(warp, args, args.frames[frame], unit, block_y * kMmaWarps + number);
        });
    }
}

}  // namespace tricodec::image::gpu
