// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "compress/runs.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

using Bytes = std::vector<std::byte>;

/// Run `index` as its bytes: as many as its size, all its number.
Bytes run_bytes(std::size_t index) {
    return Bytes(7 + index * 13 % 50, static_cast<std::byte>(index + 1));
}

TEST(CompressRuns, are_joined_in_order_whatever_the_order_they_finish_in) {
    constexpr std::size_t kRuns = 40;
    constexpr std::size_t kWorst = 64;
    Bytes expected;
    for (std::size_t i = 0; i < kRuns; ++i) {
        expected.resize(align_up(expected.size(), 8));
        const Bytes run = run_bytes(i);
        expected.insert(expected.end(), run.begin(), run.end());
    }
    std::mt19937 random(3);
    for (int repetition = 0; repetition < 50; ++repetition) {
        Bytes room(kRuns * kWorst, std::byte{0xee});
        Packing packing(room, kRuns);
        std::vector<std::pair<std::size_t, Packing::Target>> open;
        std::size_t started = 0;
        while (started < kRuns || !open.empty()) {
            if (started < kRuns && (open.empty() || random() % 2 == 0)) {
                Packing::Target target = packing.start(started, kWorst);
                std::memset(target.data(), 0xcc, kWorst);  // a compressor may write more than it gives
                open.emplace_back(started++, std::move(target));
                continue;
            }
            const auto chosen = open.begin() + static_cast<std::ptrdiff_t>(random() % open.size());
            auto [run, target] = std::move(*chosen);
            open.erase(chosen);
            const Bytes bytes = run_bytes(run);
            std::memcpy(target.data(), bytes.data(), bytes.size());
            packing.finish(run, std::move(target), bytes.size());
        }

        ASSERT_EQ(packing.total_bytes(), expected.size());
        room.resize(expected.size());
        ASSERT_EQ(room, expected);
    }
}

TEST(CompressRuns, runs_cover_every_chunk_once) {
    const Chunks items[] = {{0, 65536, 0}, {1, 65536, 1}, {10 << 20, 65536, 160}, {300, 100, 3}};
    for (const int threads : {1, 2, 16}) {
        std::vector<std::uint64_t> covered(4);
        for (const compress::Run& run : cut_into_runs(items, threads)) {
            EXPECT_EQ(run.first, covered[run.item]);
            covered[run.item] += run.count;
        }
        EXPECT_EQ(covered, (std::vector<std::uint64_t>{0, 1, 160, 3}));
    }
}

TEST(CompressRuns, a_failure_in_one_run_reaches_the_caller) {
    EXPECT_THROW(for_each_run(100, 4, {},
                              [](std::size_t i) {
                                  if (i == 37) fail(ErrorCode::corrupt_data, "37");
                              }),
                 Error);
}

}  // namespace
}  // namespace tricodec::compress
