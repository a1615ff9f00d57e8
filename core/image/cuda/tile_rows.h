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
    std::uint32_t mask;  ///< of two samples of 16 bits: takes the unused low bits away
};

/// V of a tile in shared memory: the low bytes of a component's rows, then the high bytes, so that columns can be
/// multiplied four at a time.
struct VRows {
    std::int32_t offset[3];  ///< by component
    std::int32_t pitch[2];   ///< by axis, bytes
    std::int32_t num_rows;
};

/// What of a plane is to be made V of.
struct PlaneRows {
    const unsigned char* data;
    std::int32_t stride;
    std::int32_t begin;  ///< columns, multiples of 8
    std::int32_t end;
    std::int32_t first_output;  ///< grid row of V's first row
    std::int32_t num_rows;
};

/// Bytes [offset, offset + 4) of a row, zero where they are not valid. Any alignment.
TRICODEC_KERNEL std::uint32_t load_guarded(const unsigned char* row, int offset, int begin, int end) {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) {
        if (offset + i >= begin && offset + i < end) word |= std::uint32_t{row[offset + i]} << (8 * i);
    }
    return word;
}

/// How eight samples of a row come to registers.
struct EightSamples {
    std::int32_t offset;  ///< bytes from the start of the row
    std::int32_t begin;   ///< valid bytes
    std::int32_t end;
    bool whole;  ///< all valid, and aligned in every row
};

template <int kSampleBytes>
TRICODEC_KERNEL EightSamples eight_samples(const TilePlane& plane, const PlaneRows& rows, int group) {
    EightSamples result{};
    result.offset = (rows.begin * plane.parts + 8 * group) * kSampleBytes;
    result.begin = plane.valid_begin;
    result.end = plane.valid_end;
    constexpr unsigned kBytes = 8 * kSampleBytes;
    result.whole = result.offset >= result.begin && result.offset + static_cast<int>(kBytes) <= result.end &&
                   is_aligned(rows.data + result.offset, kBytes) &&
                   (static_cast<unsigned>(rows.stride) & (kBytes - 1U)) == 0;
    return result;
}

TRICODEC_KERNEL Words2 load_eight_bytes(const unsigned char* row, const EightSamples& at) {
    if (at.whole) return load<Words2>(row + at.offset);
    return {{load_guarded(row, at.offset, at.begin, at.end), load_guarded(row, at.offset + 4, at.begin, at.end)}};
}

TRICODEC_KERNEL Words4 load_eight_words(const unsigned char* row, const EightSamples& at) {
    if (at.whole) return load<Words4>(row + at.offset);
    Words4 words;
    for (int i = 0; i < 4; ++i) words.w[i] = load_guarded(row, at.offset + 4 * i, at.begin, at.end);
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
            table.coefs + static_cast<std::int64_t>(output) * table.pitch, table.count[output]};
}

/// Sums of eight samples of 8 bits over the taps, two rows at a time.
TRICODEC_KERNEL void add_rows_of_bytes(const RowTaps& taps, std::int32_t stride, const EightSamples& at,
                                       std::int32_t (&sums)[8]) {
    const unsigned char* row = taps.row;
    for (int k = 0; k < taps.count; k += 2) {
        const auto coefs = load<std::uint32_t>(taps.coefs + k);
        const Words2 a = load_eight_bytes(row, at);
        const Words2 b = k + 1 < taps.count ? load_eight_bytes(row + stride, at) : a;
        row += 2 * static_cast<std::int64_t>(stride);
        for (int half = 0; half < 2; ++half) {
            const std::uint32_t low = permute(a.w[half], b.w[half], 0x5140);
            const std::uint32_t high = permute(a.w[half], b.w[half], 0x7362);
            std::int32_t* const sum = sums + 4 * half;
            sum[0] = dot_low(coefs, low, sum[0]);
            sum[1] = dot_high(coefs, low, sum[1]);
            sum[2] = dot_low(coefs, high, sum[2]);
            sum[3] = dot_high(coefs, high, sum[3]);
        }
    }
}

/// The same of samples in words of 16 bits. `mask` takes the unused low bits away; the sums then have that many more
/// fractional bits, and stay below 2^31 all the same (docs/transform.md 4.4 with d = 16).
TRICODEC_KERNEL void add_rows_of_words(const RowTaps& taps, std::int32_t stride, const EightSamples& at,
                                       std::uint32_t mask, std::int32_t (&sums)[8]) {
    const unsigned char* row = taps.row;
    for (int k = 0; k < taps.count; ++k, row += stride) {
        const std::int32_t coef = taps.coefs[k];
        const Words4 words = load_eight_words(row, at);
        for (int i = 0; i < 4; ++i) {
            const std::uint32_t pair = words.w[i] & mask;
            sums[2 * i] += static_cast<std::int32_t>(pair & 0xFFFFU) * coef;
            sums[2 * i + 1] += static_cast<std::int32_t>(pair >> 16) * coef;
        }
    }
}

/// Four columns of V.
TRICODEC_KERNEL void store_v(unsigned char* low, std::int32_t to_high, std::int32_t a, std::int32_t b, std::int32_t c,
                             std::int32_t d) {
    const std::uint32_t first = permute(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), 0x5140);
    const std::uint32_t second = permute(static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(d), 0x5140);
    store(low, permute(first, second, 0x5410));
    store(low + to_high, permute(first, second, 0x7632));
}

/// Three components side by side, which no hardware decoder makes: sample by sample.
template <int kSampleBytes>
TRICODEC_KERNEL void make_v_of_triples(const TilePlane& plane, const RowTable& table, const VRows& v,
                                       const PlaneRows& rows, unsigned char* shared, int thread, int num_threads) {
    const int columns = rows.end - rows.begin;
    const int items = columns * 3 * rows.num_rows;
    const int pitch = v.pitch[plane.axis];
    for (int item = thread; item < items; item += num_threads) {
        const int row = item / (columns * 3);
        const int sample = item - row * columns * 3;
        const int component = plane.component[sample % 3];
        const int offset = (rows.begin * 3 + sample) * kSampleBytes;
        if (component < 0 || offset < plane.valid_begin || offset >= plane.valid_end) continue;
        const RowTaps taps = row_taps(table, rows, row);
        const unsigned char* at = taps.row + offset;
        std::int32_t sum = 1 << (plane.bits - 1);
        for (int k = 0; k < taps.count; ++k, at += rows.stride) {
            std::int32_t value = at[0];
            if (kSampleBytes == 2) value |= std::int32_t{at[1]} << 8;
            sum += value * taps.coefs[k];
        }
        sum >>= plane.bits;
        unsigned char* const low = shared + v.offset[component] + row * pitch + sample / 3;
        low[0] = static_cast<unsigned char>(sum);
        low[v.num_rows * pitch] = static_cast<unsigned char>(sum >> 8);
    }
}

/// Step 1 of tile_kernel.h for one plane: eight samples of one row of V at a time.
template <int kSampleBytes>
TRICODEC_KERNEL void make_v(const TilePlane& plane, const RowTable& table, const VRows& v, const PlaneRows& rows,
                            unsigned char* shared, int thread, int num_threads) {
    if (plane.parts == 3) return make_v_of_triples<kSampleBytes>(plane, table, v, rows, shared, thread, num_threads);
    const int pitch = v.pitch[plane.axis];
    const int to_high = v.num_rows * pitch;
    const int groups = (rows.end - rows.begin) * plane.parts / 8;
    for (int item = thread; item < groups * rows.num_rows; item += num_threads) {
        const int row = item / groups;
        const int group = item - row * groups;
        const RowTaps taps = row_taps(table, rows, row);
        const EightSamples at = eight_samples<kSampleBytes>(plane, rows, group);
        std::int32_t sums[8];
        for (int i = 0; i < 8; ++i) sums[i] = 1 << (plane.bits - 1);
        if constexpr (kSampleBytes == 1) {
            add_rows_of_bytes(taps, rows.stride, at, sums);
        } else {
            add_rows_of_words(taps, rows.stride, at, plane.mask, sums);
        }
        for (int i = 0; i < 8; ++i) sums[i] >>= plane.bits;
        if (plane.parts == 1) {
            unsigned char* const low = shared + v.offset[plane.component[0]] + row * pitch + 8 * group;
            store_v(low, to_high, sums[0], sums[1], sums[2], sums[3]);
            store_v(low + 4, to_high, sums[4], sums[5], sums[6], sums[7]);
            continue;
        }
        const int place = row * pitch + 4 * group;
        for (int part = 0; part < 2; ++part) {
            if (plane.component[part] < 0) continue;
            store_v(shared + v.offset[plane.component[part]] + place, to_high, sums[part], sums[2 + part],
                    sums[4 + part], sums[6 + part]);
        }
    }
}

/// The part of an output's sum (docs/transform.md 4.3) that columns [begin, begin + num_columns) give, onto `sum`.
TRICODEC_KERNEL std::int32_t add_columns(const ColumnTable& table, const unsigned char* low, std::int32_t to_high,
                                         int output, int begin, int num_columns, std::int32_t sum) {
    if (table.identity != 0) {
        const int column = table.begin + output - begin;
        if (column < 0 || column >= num_columns) return sum;
        const auto high = static_cast<std::int32_t>(static_cast<signed char>(low[column + to_high]));
        return sum + (high * 256 + low[column]) * 16384;
    }
    const int first = table.first[output] - begin;
    const std::int16_t* const coefs = table.coefs + static_cast<std::int64_t>(output) * table.pitch;
    int k = first < 0 ? -first : 0;
    const int end = num_columns - first < table.pitch ? num_columns - first : table.pitch;
    std::int32_t low_sum = 0;
    std::int32_t high_sum = 0;
    for (; k < end; k += 4) {
        const auto four = load<Words2>(coefs + k);
        const auto lows = load<std::uint32_t>(low + first + k);
        const auto highs = load<std::uint32_t>(low + first + k + to_high);
        low_sum = dot_high(four.w[1], lows, dot_low(four.w[0], lows, low_sum));
        high_sum = dot_signed(four, highs, high_sum);
    }
    return sum + low_sum + high_sum * 256;
}

}  // namespace tricodec::image::gpu
