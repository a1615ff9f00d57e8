// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

/// One plane of the frame and the components whose samples lie side by side in it.
struct TilePlane {
    std::int32_t parts;         ///< components side by side: 1, 2 or 3
    std::int32_t component[3];  ///< by place; -1 where nobody needs it
    std::int32_t axis;          ///< whose tables: 0 luma, 1 chroma
    std::int32_t valid_begin;   ///< bytes of a row that belong to the crop: nothing else is read
    std::int32_t valid_end;
    std::int32_t bits;   ///< of a stored sample, unused low bits included
    std::uint32_t mask;  ///< of four bytes that are the low ones of samples of 16 bits: takes the unused bits away
};

/// V of a tile in shared memory: the low bytes of a component's rows, then the high bytes, so that columns can be
/// multiplied four at a time.
struct VRows {
    std::int32_t offset[3];   ///< by component
    std::int32_t pitch[2];    ///< by axis, bytes: a multiple of 16
    std::int32_t to_high[2];  ///< from a low byte to its high byte
};

/// What of a plane is to be made V of.
struct PlaneRows {
    const unsigned char* data;
    std::int32_t stride;
    std::int32_t begin;  ///< columns, multiples of 16
    std::int32_t end;
    std::int32_t first_output;  ///< grid row of V's first row
    std::int32_t num_rows;
};

/// Bytes [offset, offset + 4) of a row, zero where they are not valid. Any alignment.
TRICODEC_KERNEL std::uint32_t load_guarded(const unsigned char* row, int offset, int begin, int end) {
    std::uint32_t word = 0;
    TRICODEC_UNROLL
    for (int i = 0; i < 4; ++i) {
        if (offset + i >= begin && offset + i < end) word |= std::uint32_t{row[offset + i]} << (8 * i);
    }
    return word;
}

/// Sixteen bytes of a row at any alignment, those outside the crop zero.
TRICODEC_KERNEL Words4 load_sixteen(const unsigned char* row, int offset, const TilePlane& plane) {
    Words4 words;
    TRICODEC_UNROLL
    for (int i = 0; i < 4; ++i) {
        words.w[i] = load_guarded(row, offset + 4 * i, plane.valid_begin, plane.valid_end);
    }
    return words;
}

/// The rows that one row of V is made from.
struct RowTaps {
    const unsigned char* row;
    const std::int16_t* coefs;
    std::int32_t count;
};

TRICODEC_KERNEL RowTaps row_taps(const RowTable& table, const PlaneRows& rows, int row) {
    const int output = rows.first_output + row;
    return {rows.data + static_cast<std::int64_t>(table.first[output]) * rows.stride,
            table.coefs + output * table.pitch, table.count[output]};
}

/// Four columns of V as low bytes and high bytes.
template <int kByte = 0>
TRICODEC_KERNEL void split_v(const std::int32_t (&v)[4], std::uint32_t& lows, std::uint32_t& highs) {
    constexpr std::uint32_t kPairs = 0x5140 + 0x1111 * kByte;
    const std::uint32_t first = permute(static_cast<std::uint32_t>(v[0]), static_cast<std::uint32_t>(v[1]), kPairs);
    const std::uint32_t second = permute(static_cast<std::uint32_t>(v[2]), static_cast<std::uint32_t>(v[3]), kPairs);
    lows = permute(first, second, 0x5410);
    highs = permute(first, second, 0x7632);
}

/// The samples of sixteen bytes, summed up over the taps, two rows at a time: sixteen of 8 bits or eight of 16 bits.
template <int kSampleBytes>
struct TapSums {
    static constexpr int kSamples = 16 / kSampleBytes;

    // Of 8 bits: the sums. Of 16 bits: those of the low bytes, then those of the high bytes. In either case below 2^31
    // (docs/transform.md 4.4, with d = 16 where low bits are unused).
    std::int32_t sums[16];

    TRICODEC_KERNEL void add(const TilePlane& plane, std::uint32_t coefs, const Words4& a, const Words4& b) {
        TRICODEC_UNROLL
        for (int i = 0; i < 4; ++i) {
            std::uint32_t first = permute(a.w[i], b.w[i], kSampleBytes == 1 ? 0x5140 : 0x6240);
            const std::uint32_t second = permute(a.w[i], b.w[i], kSampleBytes == 1 ? 0x7362 : 0x7351);
            if constexpr (kSampleBytes == 2) first &= plane.mask;
            std::int32_t* const low = sums + (kSampleBytes == 1 ? 4 * i : 2 * i);
            std::int32_t* const high = sums + (kSampleBytes == 1 ? 4 * i + 2 : 8 + 2 * i);
            low[0] = dot_low(coefs, first, low[0]);
            low[1] = dot_high(coefs, first, low[1]);
            high[0] = dot_low(coefs, second, high[0]);
            high[1] = dot_high(coefs, second, high[1]);
        }
    }

    TRICODEC_KERNEL void run(const TilePlane& plane, const RowTaps& taps, std::int32_t stride, int offset, bool whole) {
        TRICODEC_UNROLL
        for (int i = 0; i < 16; ++i) sums[i] = i < kSamples ? 1 << (plane.bits - 1) : 0;
        if (whole) {
            run_whole(plane, taps, stride, offset);
            return;
        }
        const unsigned char* row = taps.row;
        for (int k = 0; k < taps.count; k += 2) {
            const auto coefs = load<std::uint32_t>(taps.coefs + k);
            const Words4 a = load_sixteen(row, offset, plane);
            const Words4 b = load_sixteen(row + (k + 1 < taps.count ? stride : 0), offset, plane);
            row += 2 * static_cast<std::int64_t>(stride);
            add(plane, coefs, a, b);
        }
    }

    /// Four taps at a time: their rows are on their way together. Those past the last have a zero coefficient, and the
    /// last row stands in for theirs.
    TRICODEC_KERNEL void run_whole(const TilePlane& plane, const RowTaps& taps, std::int32_t stride, int offset) {
        const unsigned char* row = taps.row + offset;
        for (int left = taps.count; left > 0; left -= 4) {
            const auto coefs = load<Words2>(taps.coefs + (taps.count - left));
            const int second = left > 1 ? stride : 0;
            const int third = left > 2 ? second + stride : second;
            const int fourth = left > 3 ? third + stride : third;
            const auto a = load<Words4>(row);
            const auto b = load<Words4>(row + second);
            const auto c = load<Words4>(row + third);
            const auto d = load<Words4>(row + fourth);
            row += 4 * static_cast<std::int64_t>(stride);
            add(plane, coefs.w[0], a, b);
            add(plane, coefs.w[1], c, d);
        }
    }

    TRICODEC_KERNEL std::int32_t v(const TilePlane& plane, int i) const {
        if constexpr (kSampleBytes == 1) return sums[i] >> 8;
        return (sums[i] + sums[8 + i] * 256) >> plane.bits;
    }

    /// Writes V of one component: kParts components lie side by side, this is number `part`.
    template <int kParts>
    TRICODEC_KERNEL void store_part(const TilePlane& plane, int part, unsigned char* low, int to_high) const {
        constexpr int kWords = kSamples / kParts / 4;
        std::uint32_t lows[kWords];
        std::uint32_t highs[kWords];
        TRICODEC_UNROLL
        for (int i = 0; i < kWords; ++i) {
            std::int32_t four[4];
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) four[k] = v(plane, (4 * i + k) * kParts + part);
            split_v(four, lows[i], highs[i]);
        }
        if constexpr (kWords == 4) {
            store(low, Words4{{lows[0], lows[1], lows[2], lows[3]}});
            store(low + to_high, Words4{{highs[0], highs[1], highs[2], highs[3]}});
        } else if constexpr (kWords == 2) {
            store(low, Words2{{lows[0], lows[1]}});
            store(low + to_high, Words2{{highs[0], highs[1]}});
        } else {
            store(low, lows[0]);
            store(low + to_high, highs[0]);
        }
    }
};

/// Three components side by side, which no hardware decoder makes: one sample.
template <int kSampleBytes>
TRICODEC_KERNEL void make_v_of_triple(const TilePlane& plane, const RowTable& table, const VRows& v,
                                      const PlaneRows& rows, unsigned char* shared, int row, int sample) {
    const int component = plane.component[sample % 3];
    const int offset = (rows.begin * 3 + sample) * kSampleBytes;
    if (component < 0 || offset < plane.valid_begin || offset >= plane.valid_end) return;
    const RowTaps taps = row_taps(table, rows, row);
    const unsigned char* at = taps.row + offset;
    std::int32_t sum = 1 << (plane.bits - 1);
    for (int k = 0; k < taps.count; ++k, at += rows.stride) {
        std::int32_t value = at[0];
        if (kSampleBytes == 2) value |= std::int32_t{at[1]} << 8;
        sum += value * taps.coefs[k];
    }
    sum >>= plane.bits;
    unsigned char* const low = shared + v.offset[component] + row * v.pitch[plane.axis] + sample / 3;
    low[0] = static_cast<unsigned char>(sum);
    low[v.to_high[plane.axis]] = static_cast<unsigned char>(sum >> 8);
}

/// Pieces of work that a plane's V is made of.
template <int kSampleBytes>
TRICODEC_KERNEL int v_groups(const TilePlane& plane, const PlaneRows& rows) {
    const int samples = (rows.end - rows.begin) * plane.parts;
    if (samples <= 0) return 0;
    return plane.parts == 3 ? samples : samples * kSampleBytes / 16;
}

/// Step 1 of tile_kernel.h for one piece of one row: sixteen bytes of a plane.
template <int kSampleBytes>
TRICODEC_KERNEL void make_v(const TilePlane& plane, const RowTable& table, const VRows& v, const PlaneRows& rows,
                            unsigned char* shared, int row, int group) {
    if (plane.parts == 3) return make_v_of_triple<kSampleBytes>(plane, table, v, rows, shared, row, group);
    const int offset = rows.begin * plane.parts * kSampleBytes + 16 * group;
    // All coefficients of such columns are zero: whatever stands there will do.
    if (offset >= plane.valid_end || offset + 16 <= plane.valid_begin) return;
    const bool whole = offset >= plane.valid_begin && offset + 16 <= plane.valid_end &&
                       is_aligned(rows.data + offset, 16) && (rows.stride & 15) == 0;
    TapSums<kSampleBytes> sums;
    sums.run(plane, row_taps(table, rows, row), rows.stride, offset, whole);
    constexpr int kSamples = TapSums<kSampleBytes>::kSamples;
    const int to_high = v.to_high[plane.axis];
    unsigned char* const base = shared + row * v.pitch[plane.axis];
    if (plane.parts == 1) {
        sums.template store_part<1>(plane, 0, base + v.offset[plane.component[0]] + kSamples * group, to_high);
        return;
    }
    TRICODEC_UNROLL
    for (int part = 0; part < 2; ++part) {
        if (plane.component[part] < 0) continue;
        unsigned char* const low = base + v.offset[plane.component[part]] + kSamples / 2 * group;
        sums.template store_part<2>(plane, part, low, to_high);
    }
}

}  // namespace tricodec::image::gpu
