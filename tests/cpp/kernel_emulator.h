// SPDX-License-Identifier: Apache-2.0
// Runs the CUDA kernels' own source on the CPU: block by block, step by step, one thread after the other.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <variant>
#include <vector>

#include "image/cuda/kernel_plan.h"

namespace tricodec::image::gpu {

/// Shared memory of a block: aligned as a device aligns it, and never what the last block left.
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

template <int kSampleBytes>
void emulate_tile(const Launch& launch, const TileArgs& args) {
    SharedMemory memory(launch.shared_bytes);
    const int threads = static_cast<int>(launch.threads);
    for (unsigned frame_number = 0; frame_number < launch.frames; ++frame_number) {
        const FrameArgs& frame = args.frames[frame_number];
        for (unsigned block = 0; block < launch.blocks; ++block) {
            unsigned char* const shared = memory.fresh();
            const Tile tile = tile_of(args, static_cast<int>(block));
            for (int segment = 0; segment < args.num_segments; ++segment) {
                for (int i = 0; i < threads; ++i) tile_rows<kSampleBytes>(args, tile, segment, frame, shared, i);
                for (int i = 0; i < threads; ++i) tile_columns(args, tile, segment, shared, i);
            }
            for (int i = 0; i < threads; ++i) tile_colors(args, tile, frame, shared, i);
            for (int i = 0; i < threads; ++i) tile_store(args, tile, frame, shared, i);
        }
    }
}

template <int kSampleBytes, int kElementBytes, template <int, int> class ChromaSamples>
void emulate_direct(const Launch& launch, const DirectArgs& args) {
    SharedMemory memory(kDirectWarps * kDirectRows * kStageBytes);
    for (unsigned frame_number = 0; frame_number < launch.frames; ++frame_number) {
        const FrameArgs& frame = args.frames[frame_number];
        for (int block = 0; block < static_cast<int>(launch.blocks); ++block) {
            unsigned char* const shared = memory.fresh();
            for (int step = 0; step < 2; ++step) {
                for (int i = 0; i < 32 * kDirectWarps; ++i) {
                    unsigned char* const stage = shared + i / 32 * kDirectRows * kStageBytes;
                    if (step == 0) {
                        direct_pixels<kSampleBytes, kElementBytes, ChromaSamples>(args, frame, block, i, stage);
                    } else {
                        direct_store<kElementBytes>(args, frame, block, i, stage);
                    }
                }
            }
        }
    }
}

template <int kSampleBytes, int kElementBytes>
void emulate_direct(const Launch& launch, const DirectArgs& args, const std::string& kernel) {
    if (kernel.ends_with("_half")) {
        emulate_direct<kSampleBytes, kElementBytes, HalfChroma>(launch, args);
    } else {
        emulate_direct<kSampleBytes, kElementBytes, FullChroma>(launch, args);
    }
}

inline void emulate(const Launch& launch) {
    const std::string& kernel = launch.kernel;
    if (kernel == "tricodec_tile_1") return emulate_tile<1>(launch, std::get<TileArgs>(launch.args));
    if (kernel == "tricodec_tile_2") return emulate_tile<2>(launch, std::get<TileArgs>(launch.args));
    const auto& args = std::get<DirectArgs>(launch.args);
    if (kernel.starts_with("tricodec_direct_1_1_")) return emulate_direct<1, 1>(launch, args, kernel);
    if (kernel.starts_with("tricodec_direct_1_2_")) return emulate_direct<1, 2>(launch, args, kernel);
    if (kernel.starts_with("tricodec_direct_1_4_")) return emulate_direct<1, 4>(launch, args, kernel);
    if (kernel.starts_with("tricodec_direct_2_1_")) return emulate_direct<2, 1>(launch, args, kernel);
    if (kernel.starts_with("tricodec_direct_2_2_")) return emulate_direct<2, 2>(launch, args, kernel);
    if (kernel.starts_with("tricodec_direct_2_4_")) return emulate_direct<2, 4>(launch, args, kernel);
    FAIL() << "no kernel is called " << kernel;
}

}  // namespace tricodec::image::gpu
