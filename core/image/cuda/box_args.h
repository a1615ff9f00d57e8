// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/band_args.h"

namespace tricodec::image::gpu {

// What band_boxes.h takes.

inline constexpr int kBoxBlocks = 3;  ///< that a multiprocessor has registers for
inline constexpr int kBoxStages = 3;
inline constexpr int kBoxMostRows = 256;          ///< that one copy can bring
inline constexpr int kBoxChromaRows = 32;         ///< of a tile, at most; of luma it is the kernel's kRows
inline constexpr int kBoxPairs = kBandTiles - 1;  ///< of tiles side by side: each with the next
inline constexpr int kBoxLumaEntries = 2;         ///< of a tile's coefficients for 64 bytes: BandColumns' groups
inline constexpr int kBoxEntries = 3;             ///< luma's and then chroma's

/// A plane of all frames, each of which begins a multiple of `distance` bytes behind `base`, for copies of boxes of 64
/// bytes of `rows` rows. Multiples may be of less than a plane: then most of them are no frame's.
struct BoxMap {
    const unsigned char* base;
    std::int64_t distance;
    std::int32_t stride;
    std::int32_t width;  ///< bytes up to the crop's end
    std::int32_t height;
    std::int32_t num_multiples;
    std::int32_t rows;
};

/// The band kernel's arguments, but that frames have no addresses of planes: in place of a plane's stride stands which
/// multiple of its map's distance it begins at. Both planes' columns' coefficients stand together. A unit's words have
/// an integer for each 64 bytes with a bit for each pair of tiles that has any there; then, for each of these bits and
/// both tiles, kBoxEntries entries.
struct BoxCommon {
    BandArgs band;
    const BandRange* ranges;
    const Words4* words;
    std::int32_t words_place;     ///< in shared memory
    std::int32_t header;          ///< how many words have the integers
    std::int32_t rows[2];         ///< of a stage: luma's from its beginning on, then chroma's
    std::int32_t barriers_place;  ///< of a BoxStage for each stage in shared memory
};

/// `Map` is BoxMap, or what the driver makes of it.
template <class Map>
struct BoxArgs : BoxCommon {
    Map maps[2];  ///< luma's, chroma's
};

/// Where a plane of the frame begins: see BoxCommon.
TRICODEC_KERNEL int multiple_of(const FrameArgs& frame, int plane) {
    return frame.strides[plane];
}

/// What shared memory has of a stage beside its bytes.
struct alignas(8) BoxStage {
    std::uint32_t full[2];  ///< barrier: its bytes have come
    std::uint32_t free[2];  ///< barrier: all warps have read them
};

}  // namespace tricodec::image::gpu
