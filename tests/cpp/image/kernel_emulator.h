// SPDX-License-Identifier: Apache-2.0
// Runs the CUDA kernels' own source on the CPU: block by block, step by step, one thread after the other.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <variant>
#include <vector>

#include "image/cuda/convert.h"
#include "image/cuda/launch.h"
#include "image/cuda/resample_tile.h"

namespace tricodec::image::gpu {

/// Shared memory of a block: aligned as a device aligns it, and never the bytes of the previous block.
class SharedMemory {
public:
    explicit SharedMemory(std::size_t size_bytes) : words_(size_bytes / sizeof(Words4) + 2) {}
    unsigned char* fresh() {
        for (Words4& word : words_) word = {{0xDEADBEEF, 0xDEADBEEF, 0xDEADBEEF, 0xDEADBEEF}};
        return reinterpret_cast<unsigned char*>(words_.data());
    }

private:
    std::vector<Words4> words_;
};

/// Calls `run(block x, block y, block z)` for every block of a launch.
template <class Run>
void for_each_block(const Launch& launch, const Run& run) {
    for (unsigned z = 0; z < launch.blocks_z; ++z) {
        for (unsigned y = 0; y < launch.blocks_y; ++y) {
            for (unsigned x = 0; x < launch.blocks_x; ++x) {
                run(static_cast<int>(x), static_cast<int>(y), static_cast<int>(z));
            }
        }
    }
}

/// Calls `run(frame, block x, block y)` where each block has one frame.
template <class Args, class Run>
void for_each_block(const Launch& launch, const Args& args, const Run& run) {
    for_each_block(launch, [&](int x, int y, int z) { run(args.frames[z], x, y); });
}

template <int kSampleBytes, Element kElement>
void emulate_resample_tile(const Launch& launch, const TileArgs& args) {
    SharedMemory memory(launch.shared_bytes);
    for_each_block(launch, args, [&](const FrameArgs& frame, int block_x, int block_y) {
        unsigned char* const shared = memory.fresh();
        const Tile tile = tile_of(args, block_x, block_y);
        for (int segment = 0; segment < args.num_segments; ++segment) {
            for (int i = 0; i < kTileThreads; ++i) tile_rows<kSampleBytes>(args, tile, segment, frame, shared, i);
            for (int i = 0; i < kTileThreads; ++i) tile_columns<kElement>(args, tile, segment, frame, shared, i);
        }
        for (int i = 0; i < kTileThreads; ++i) tile_store(args, tile, frame, shared, i);
    });
}

template <int kBits, Element kElement, template <int, int> class Chroma>
void emulate_convert(const Launch& launch, const ConvertArgs& args) {
    SharedMemory memory(kConvertWarps * kConvertRows * kStageRow);
    for_each_block(launch, args, [&](const FrameArgs& frame, int segment, int group) {
        unsigned char* const shared = memory.fresh();
        const auto stage = [&](int thread) { return shared + thread / 32 * kConvertRows * kStageRow; };
        for (int i = 0; i < 32 * kConvertWarps; ++i) {
            convert_pixels<kBits, kElement, Chroma>(args, frame, segment, group, i, stage(i));
        }
        for (int i = 0; i < 32 * kConvertWarps; ++i) {
            convert_store<kElement>(args, frame, segment, group, i, stage(i));
        }
    });
}

/// Calls `run.template operator()<element>()` with the element that the arguments name.
template <class Args, class Run>
void with_element(const Args& args, const Run& run) {
    switch (args.output.element) {
        case Element::uint8:
            return run.template operator()<Element::uint8>();
        case Element::float16:
            return run.template operator()<Element::float16>();
        case Element::bfloat16:
            return run.template operator()<Element::bfloat16>();
        case Element::float32:
            return run.template operator()<Element::float32>();
    }
}

template <int kSampleBytes>
void emulate_resample_tile(const Launch& launch) {
    const auto& args = std::get<TileArgs>(launch.args);
    with_element(args, [&]<Element kElement>() { emulate_resample_tile<kSampleBytes, kElement>(launch, args); });
}

template <int kBits>
void emulate_convert(const Launch& launch) {
    const auto& args = std::get<ConvertArgs>(launch.args);
    with_element(args, [&]<Element kElement>() {
        if (launch.kernel.ends_with("_pairs")) {
            emulate_convert<kBits, kElement, ChromaOfPairs>(launch, args);
        } else if (launch.kernel.ends_with("_planes")) {
            emulate_convert<kBits, kElement, ChromaOfPlanes>(launch, args);
        } else if (launch.kernel.ends_with("_gray")) {
            emulate_convert<kBits, kElement, NoChroma>(launch, args);
        } else {
            emulate_convert<kBits, kElement, FullChroma>(launch, args);
        }
    });
}

inline void emulate(const Launch& launch) {
    const std::string& kernel = launch.kernel;
    if (kernel.starts_with("tricodec_convert_8_")) return emulate_convert<8>(launch);
    if (kernel.starts_with("tricodec_convert_16_")) return emulate_convert<16>(launch);
    if (kernel.starts_with("tricodec_resample_tile_8_")) return emulate_resample_tile<1>(launch);
    if (kernel.starts_with("tricodec_resample_tile_16_")) return emulate_resample_tile<2>(launch);
    FAIL() << "no kernel is called " << kernel;
}

}  // namespace tricodec::image::gpu
