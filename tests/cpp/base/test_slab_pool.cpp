// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/slab_pool.h"

namespace {

using tricodec::SlabPool;

constexpr std::size_t kPage = SlabPool::kPageBytes;

TEST(SlabPool, blocks_are_whole_pages_of_their_own) {
    for (const std::size_t size : {kPage, 65 * kPage, 761 * kPage, 5000 * kPage}) {
        SlabPool pool;
        std::vector<std::byte*> blocks;
        for (int i = 0; i < 20; ++i) {
            blocks.push_back(static_cast<std::byte*>(pool.take(size)));
            ASSERT_NE(blocks.back(), nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()) % kPage, 0u);
            std::memset(blocks.back(), i, size);
        }
        for (int i = 0; i < 20; ++i) {
            const std::byte* const block = blocks[static_cast<std::size_t>(i)];
            EXPECT_EQ(block[0], static_cast<std::byte>(i)) << size;
            EXPECT_EQ(block[size - 1], static_cast<std::byte>(i)) << size;
        }
    }
}

TEST(SlabPool, gives_the_block_of_that_size_that_came_back_last) {
    SlabPool pool;
    void* const first = pool.take(700 * kPage);
    void* const second = pool.take(700 * kPage);
    void* const other = pool.take(800 * kPage);
    pool.give_back(second);
    pool.give_back(first);
    pool.give_back(other);

    EXPECT_EQ(pool.idle_bytes(), 2200 * kPage);
    EXPECT_EQ(pool.take(700 * kPage), first);
    EXPECT_EQ(pool.take(700 * kPage), second);
    EXPECT_EQ(pool.take(800 * kPage), other);
    EXPECT_EQ(pool.idle_bytes(), 0u);
}

TEST(SlabPool, keeps_what_is_in_use_when_it_is_trimmed) {
    SlabPool pool;
    std::vector<void*> blocks(30);
    for (auto& block : blocks) block = pool.take(700 * kPage);
    auto* const used = static_cast<std::byte*>(blocks.back());
    used[0] = std::byte{7};
    blocks.pop_back();
    for (void* const block : blocks) pool.give_back(block);

    pool.trim(0);

    EXPECT_LT(pool.idle_bytes(), blocks.size() * 700 * kPage);  // whole slabs are gone, others have the block in use
    EXPECT_EQ(used[0], std::byte{7});
    pool.give_back(used);
    pool.trim(0);
    EXPECT_EQ(pool.idle_bytes(), 0u);
    EXPECT_NE(pool.take(700 * kPage), nullptr);
}

TEST(SlabPool, gives_up_the_tail_of_a_block_that_is_used_to_three_quarters_with_its_huge_pages) {
    constexpr std::size_t kSize = 32 << 20;
    constexpr std::size_t kUsed = 15 << 20;
    SlabPool pool;
    auto* const block = static_cast<std::byte*>(pool.take(kSize));
    std::memset(block, 7, kSize);

    const bool given_up = SlabPool::give_up_tail(block, kSize, kUsed);

#if defined(__SANITIZE_ADDRESS__)
    EXPECT_FALSE(given_up);  // there blocks are malloc's
#else
    EXPECT_TRUE(given_up);
    EXPECT_FALSE(SlabPool::give_up_tail(block, kSize, kPage));  // most of a huge page would lie idle
#endif
    for (std::size_t i = 0; i < kUsed; i += kPage) ASSERT_EQ(block[i], std::byte{7});
    ASSERT_EQ(block[kUsed - 1], std::byte{7});
    std::memset(block + kUsed, 8, kSize - kUsed);  // it may be written again
    EXPECT_EQ(block[kSize - 1], std::byte{8});
    EXPECT_EQ(block[kUsed - 1], std::byte{7});
}

TEST(SlabPool, trims_no_further_than_it_must) {
    SlabPool pool;
    void* const block = pool.take(700 * kPage);
    pool.give_back(block);

    pool.trim(700 * kPage);

    EXPECT_EQ(pool.idle_bytes(), 700 * kPage);
    EXPECT_EQ(pool.take(700 * kPage), block);
}

TEST(SlabPool, gives_up_first_what_went_unused_for_longest) {
    SlabPool pool;
    // Sizes that fill a slab each; the last one in use is given back last, whatever its address.
    std::vector<std::size_t> sizes;
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < 6; ++i) {
        sizes.push_back((5000 + 10 * i) * kPage);
        blocks.push_back(pool.take(sizes[i]));
    }
    for (const std::size_t i : {3U, 0U, 5U, 1U, 4U, 2U}) pool.give_back(blocks[i]);

    pool.trim(sizes[4] + sizes[2]);

    EXPECT_EQ(pool.idle_bytes(), sizes[4] + sizes[2]);
    EXPECT_EQ(pool.take(sizes[4]), blocks[4]);
    EXPECT_EQ(pool.take(sizes[2]), blocks[2]);
    EXPECT_EQ(pool.idle_bytes(), 0U);
}

#if !defined(__SANITIZE_ADDRESS__)
/// What the kernel was asked for the mapping that holds `address`: the flags of proc(5), smaps.
std::string mapping_flags(const void* address) {
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        std::istringstream range(line);
        if (range >> std::hex >> begin >> dash >> end && dash == '-') {
            const auto wanted = reinterpret_cast<std::uintptr_t>(address);
            inside = begin <= wanted && wanted < end;
        } else if (inside && line.starts_with("VmFlags:")) {
            return line;
        }
    }
    return {};
}

TEST(SlabPool, asks_for_huge_pages_where_the_kernel_has_them) {
    const bool has_them = std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled");
    SlabPool pool;
    void* const block = pool.take(700 * kPage);

    EXPECT_EQ(mapping_flags(block).find(" hg") != std::string::npos, has_them) << mapping_flags(block);
}
#endif

}  // namespace
