// SPDX-License-Identifier: Apache-2.0
// Runs the CUDA kernels' own source on the CPU: block by block, step by step, one thread after the other.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <variant>
#include <vector>

#include "image/cuda/band_boxes.h"
#include "image/cuda/kernel_plan.h"
#include "image/cuda/period_kernel.h"

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

/// All lanes of a warp, step by step; products of matrices as PTX defines mma.m16n8k32 and mma.m16n8k16.
template <class Lane>
struct EmulatedWarp {
    std::array<Lane, 32> lanes{};
    unsigned char* shared;

    explicit EmulatedWarp(unsigned char* memory) : shared(memory) {}

    [[nodiscard]] const Lane& first() const { return lanes[0]; }
    static int uniform(int value) { return value; }

    template <class Step>
    void each(const Step& step) {
        for (int i = 0; i < 32; ++i) step(lanes[static_cast<std::size_t>(i)], i);
    }

    template <Signed kSigned, unsigned kColumns = 32, class Step>
    void multiply(const Step& step) {
        std::array<std::array<int, kColumns>, 16> a{};
        std::array<std::array<int, 8>, kColumns> b{};
        const auto byte = [](std::uint32_t word, unsigned i, bool is_signed) {
            const auto value = static_cast<std::uint8_t>(word >> (8 * i));
            return is_signed ? static_cast<std::int8_t>(value) : int{value};
        };
        for (unsigned i = 0; i < 32; ++i) {
            const Product product = step(lanes[i]);
            for (unsigned reg = 0; reg < kColumns / 8; ++reg) {
                for (unsigned k = 0; k < 4; ++k) {
                    a[i / 4 + reg % 2 * 8][i % 4 * 4 + k + reg / 2 * 16] =
                        byte(product.a[reg], k, kSigned == Signed::a);
                }
            }
            for (unsigned reg = 0; reg < kColumns / 16; ++reg) {
                for (unsigned k = 0; k < 4; ++k) {
                    b[i % 4 * 4 + k + reg * 16][i / 4] = byte(product.b[reg], k, kSigned == Signed::b);
                }
            }
        }
        for (unsigned i = 0; i < 32; ++i) {
            const Product product = step(lanes[i]);
            for (unsigned reg = 0; reg < 4; ++reg) {
                product.sums[reg] = product.start[reg];
                for (unsigned k = 0; k < kColumns; ++k) {
                    product.sums[reg] += a[i / 4 + reg / 2 * 8][k] * b[k][i % 4 * 2 + reg % 2];
                }
            }
        }
    }

    template <class Step>
    void load_turned(const Step& step) {
        std::array<std::array<std::array<std::uint16_t, 8>, 8>, 4> matrices{};
        for (unsigned i = 0; i < 32; ++i) {
            const Turned turned = step(lanes[i], static_cast<int>(i));
            EXPECT_EQ(turned.from % 16, 0);
            std::memcpy(matrices[i / 8][i % 8].data(), shared + turned.from, 16);
        }
        for (unsigned i = 0; i < 32; ++i) {
            const Turned turned = step(lanes[i], static_cast<int>(i));
            for (unsigned m = 0; m < 4; ++m) {
                turned.words[m] = matrices[m][i % 4 * 2][i / 4] | std::uint32_t{matrices[m][i % 4 * 2 + 1][i / 4]}
                                                                      << 16;
            }
        }
    }

    template <unsigned kWith, class Step>
    void swap(const Step& step) {
        std::array<std::uint32_t, 32> words{};
        for (unsigned i = 0; i < 32; ++i) words[i] = *step(lanes[i]);
        for (unsigned i = 0; i < 32; ++i) *step(lanes[i]) = words[i ^ kWith];
    }

    void start_copy(int to, const unsigned char* from, int num_bytes = 16) const {
        std::memset(shared + to, 0, 16);
        std::memcpy(shared + to, from, static_cast<std::size_t>(num_bytes));
    }

    // Copies of boxes are over at once; a barrier counts the phases that are over, and what this one waits for.

    template <class Step>
    void once(const Step& step) {
        step();
    }
    struct Barrier {
        std::uint16_t phases;
        std::uint16_t arrivals;
        std::uint16_t pending;
        std::uint16_t padding;
    };
    [[nodiscard]] Barrier barrier(int at) const { return load<Barrier>(shared + at); }
    void init_barrier(int at, unsigned count) const {
        const auto arrivals = static_cast<std::uint16_t>(count);
        store(shared + at, Barrier{0, arrivals, arrivals, 0});
    }
    void publish_barriers() const {}
    void arrive(int at) const {
        Barrier state = barrier(at);
        if (--state.pending == 0) {
            state = {static_cast<std::uint16_t>(state.phases + 1), state.arrivals, state.arrivals, 0};
        }
        store(shared + at, state);
    }
    void expect_bytes(int at, int) const { arrive(at); }
    void wait_for_phase(int at, unsigned parity) const {
        EXPECT_NE(barrier(at).phases % 2U, parity) << "a warp would wait forever";
    }
    void start_bytes(int to, int, const void* from, int bytes) const {
        EXPECT_EQ((to | bytes) % 16, 0);
        std::memcpy(shared + to, from, static_cast<std::size_t>(bytes));
    }
    void start_box(int to, int, const BoxMap& map, int x, int y, int z) const {
        EXPECT_EQ(to % 512, 0);
        for (int row = 0; row < map.rows; ++row) {
            for (int column = 0; column < kBandBytes; ++column) {
                const bool inside = x + column >= 0 && x + column < map.width && y + row >= 0 && y + row < map.height;
                const int at = to + row * kBandBytes + ((column / 16) ^ (row / 2 & 3)) * 16 + column % 16;
                const unsigned char* const from = map.base + z * map.distance + std::int64_t{y + row} * map.stride;
                shared[at] = inside ? from[x + column] : static_cast<unsigned char>(0);
            }
        }
    }
};

/// All warps of a block, step by step.
template <class Lane>
struct EmulatedBlock {
    std::vector<EmulatedWarp<Lane>> warps;

    EmulatedBlock(int num_warps, unsigned char* memory)
        : warps(static_cast<std::size_t>(num_warps), EmulatedWarp<Lane>(memory)) {}

    template <class Step>
    void each_warp(const Step& step) {
        for (std::size_t i = 0; i < warps.size(); ++i) step(warps[i], static_cast<int>(i));
    }

    void together() const {}
};

template <int kSampleBytes, Element kElement, bool kPairs>
void emulate_band(const Launch& launch, const BandArgs& args) {
    SharedMemory memory(launch.shared_bytes);
    for_each_block(launch, [&](int unit, int block_y, int share) {
        EmulatedBlock<BandLane> block(kBandWarps, memory.fresh());
        band_block<kSampleBytes, kElement, kPairs>(block, args, unit, block_y, share);
    });
}

template <Element kElement, int kRows>
void emulate_boxes(const Launch& launch, const BoxArgs<BoxMap>& args) {
    SharedMemory memory(launch.shared_bytes);
    for_each_block(launch, [&](int unit, int block_y, int share) {
        EmulatedBlock<BandLane> block(kBandWarps, memory.fresh());
        box_block<1, kElement, kRows>(block, args, unit, block_y, share);
    });
}

template <class Ratio, Element kElement>
void emulate_period(const Launch& launch) {
    const auto& args = std::get<PeriodArgs>(launch.args);
    SharedMemory memory(launch.shared_bytes);
    for_each_block(launch, args, [&](const FrameArgs& frame, int segment, int block_y) {
        unsigned char* stage = memory.fresh();
        for (int warp = 0; warp < kPeriodWarps; ++warp) {
            const PeriodStrip strip = period_strip(args, block_y * kPeriodWarps + warp);
            for (int i = 0; i < 32; ++i) period_copy<Ratio>(args, strip, frame, segment, stage, i);
            for (int i = 0; i < 32; ++i) period_rows<Ratio, kElement>(args, strip, frame, segment, stage, i);
            stage += (args.stage_rows[0] + args.stage_rows[1]) * kPeriodPitch<Ratio>;
        }
    });
}

template <int kSampleBytes, Element kElement>
void emulate_tile(const Launch& launch, const TileArgs& args) {
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
void emulate_direct(const Launch& launch, const DirectArgs& args) {
    SharedMemory memory(kDirectWarps * kDirectRows * kStageRow);
    for_each_block(launch, args, [&](const FrameArgs& frame, int segment, int group) {
        unsigned char* const shared = memory.fresh();
        const auto stage = [&](int thread) { return shared + thread / 32 * kDirectRows * kStageRow; };
        for (int i = 0; i < 32 * kDirectWarps; ++i) {
            direct_pixels<kBits, kElement, Chroma>(args, frame, segment, group, i, stage(i));
        }
        for (int i = 0; i < 32 * kDirectWarps; ++i) {
            direct_store<kElement>(args, frame, segment, group, i, stage(i));
        }
    });
}

template <int kBits, Element kElement, WholeLayout kLayout, template <int, int> class Chroma, bool kAny>
void emulate_whole(const Launch& launch, const WholeArgs& args) {
    SharedMemory memory(kWholeWarps * kWholeRows * kWholeStage);
    for_each_block(launch, args, [&](const FrameArgs& frame, int segment, int group) {
        unsigned char* const shared = memory.fresh();
        const auto stage = [&](int thread) { return shared + thread / 32 * kWholeRows * kWholeStage; };
        for (int i = 0; i < 32 * kWholeWarps; ++i) {
            whole_pixels<kBits, kElement, kLayout, Chroma, kAny>(args, frame, segment, group, i, stage(i));
        }
        if constexpr (is_staged(kLayout, kAny)) {
            for (int i = 0; i < 32 * kWholeWarps; ++i) {
                whole_store<kElement, kLayout, kAny>(args, frame, segment, group, i, stage(i));
            }
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
void emulate_tile(const Launch& launch) {
    const auto& args = std::get<TileArgs>(launch.args);
    with_element(args, [&]<Element kElement>() { emulate_tile<kSampleBytes, kElement>(launch, args); });
}

template <int kSampleBytes>
void emulate_band(const Launch& launch) {
    const auto& args = std::get<BandArgs>(launch.args);
    with_element(args, [&]<Element kElement>() {
        if (launch.kernel.ends_with("_pairs")) {
            emulate_band<kSampleBytes, kElement, true>(launch, args);
        } else {
            emulate_band<kSampleBytes, kElement, false>(launch, args);
        }
    });
}

inline void emulate_boxes(const Launch& launch) {
    const auto& args = std::get<BoxArgs<BoxMap>>(launch.args);
    with_element(args.band, [&]<Element kElement>() {
        if (launch.kernel.ends_with("_32")) return emulate_boxes<kElement, 32>(launch, args);
        if (launch.kernel.ends_with("_48")) return emulate_boxes<kElement, 48>(launch, args);
        emulate_boxes<kElement, 64>(launch, args);
    });
}

template <int kBits>
void emulate_direct(const Launch& launch) {
    const auto& args = std::get<DirectArgs>(launch.args);
    with_element(args, [&]<Element kElement>() {
        if (launch.kernel.ends_with("_pairs")) {
            emulate_direct<kBits, kElement, ChromaOfPairs>(launch, args);
        } else if (launch.kernel.ends_with("_planes")) {
            emulate_direct<kBits, kElement, ChromaOfPlanes>(launch, args);
        } else if (launch.kernel.ends_with("_gray")) {
            emulate_direct<kBits, kElement, NoChroma>(launch, args);
        } else {
            emulate_direct<kBits, kElement, FullChroma>(launch, args);
        }
    });
}

template <int kBits, Element kElement>
void emulate_whole(const Launch& launch) {
    const auto& args = std::get<WholeArgs>(launch.args);
    const std::string& kernel = launch.kernel;
    const auto run = [&]<WholeLayout kLayout, bool kAny>(const char* layout) {
        if (!kernel.ends_with(layout)) return false;
        if (kernel.find("_pairs_") != std::string::npos) {
            emulate_whole<kBits, kElement, kLayout, ChromaOfPairs, kAny>(launch, args);
        } else {
            emulate_whole<kBits, kElement, kLayout, ChromaOfPlanes, kAny>(launch, args);
        }
        return true;
    };
    bool known = run.template operator()<WholeLayout::chw, false>("_chw") ||
                 run.template operator()<WholeLayout::hwc, false>("_hwc");
    if constexpr (kElement == Element::float16 || kElement == Element::bfloat16) {
        known = known || run.template operator()<WholeLayout::chw2, false>("_chw2") ||
                run.template operator()<WholeLayout::hwc8, false>("_hwc8");
    }
    if constexpr (kBits == 8) {
        known = known || run.template operator()<WholeLayout::chw, true>("_chw_any") ||
                run.template operator()<WholeLayout::hwc, true>("_hwc_any");
    }
    if (!known) FAIL() << "no kernel is called " << kernel;
}

template <int kBits>
void emulate_whole(const Launch& launch) {
    const auto is_of = [&](const char* element) { return launch.kernel.find(element) != std::string::npos; };
    if (is_of("_bfloat16_")) return emulate_whole<kBits, Element::bfloat16>(launch);
    if (is_of("_float16_")) return emulate_whole<kBits, Element::float16>(launch);
    if (is_of("_float32_")) return emulate_whole<kBits, Element::float32>(launch);
    if constexpr (kBits == 8) {
        if (is_of("_uint8_")) return emulate_whole<kBits, Element::uint8>(launch);
    }
    FAIL() << "no kernel is called " << launch.kernel;
}

template <class Ratio>
void emulate_period(const Launch& launch) {
    const auto is_of = [&](const char* element) { return launch.kernel.starts_with(element); };
    if (is_of("tricodec_period_bfloat16_")) return emulate_period<Ratio, Element::bfloat16>(launch);
    if (is_of("tricodec_period_float16_")) return emulate_period<Ratio, Element::float16>(launch);
    if (is_of("tricodec_period_float32_")) return emulate_period<Ratio, Element::float32>(launch);
    emulate_period<Ratio, Element::uint8>(launch);
}

inline void emulate(const Launch& launch) {
    const std::string& kernel = launch.kernel;
    if (kernel.starts_with("tricodec_band_1_")) return emulate_band<1>(launch);
    if (kernel.starts_with("tricodec_band_2_")) return emulate_band<2>(launch);
    if (kernel.starts_with("tricodec_box_")) return emulate_boxes(launch);
    if (kernel.starts_with("tricodec_period_")) {
        return kernel.ends_with("_3_2")   ? emulate_period<ThreeToTwo>(launch)
               : kernel.ends_with("_3_1") ? emulate_period<ThreeToOne>(launch)
                                          : emulate_period<TwoToOne>(launch);
    }
    if (kernel.starts_with("tricodec_tile_1_")) return emulate_tile<1>(launch);
    if (kernel.starts_with("tricodec_tile_2_")) return emulate_tile<2>(launch);
    if (kernel.starts_with("tricodec_direct_8_")) return emulate_direct<8>(launch);
    if (kernel.starts_with("tricodec_direct_10_")) return emulate_direct<10>(launch);
    if (kernel.starts_with("tricodec_direct_16_")) return emulate_direct<16>(launch);
    if (kernel.starts_with("tricodec_whole_8_")) return emulate_whole<8>(launch);
    if (kernel.starts_with("tricodec_whole_10_")) return emulate_whole<10>(launch);
    if (kernel.starts_with("tricodec_whole_16_")) return emulate_whole<16>(launch);
    FAIL() << "no kernel is called " << kernel;
}

}  // namespace tricodec::image::gpu
