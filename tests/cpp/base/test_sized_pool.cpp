// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/host_memory.h"
#include "base/sized_pool.h"

namespace tricodec {
namespace {

constexpr std::size_t kPage = HostMemory::kPageBytes;

/// A pool of host memory, which the tests write to.
struct HostPool : SizedPool {
    explicit HostPool(std::size_t most_idle_bytes = std::size_t{1} << 30)
        : SizedPool(std::make_unique<HostMemory>(), MemoryKind::host, Device{}, most_idle_bytes) {}

    std::byte* bytes(std::size_t size_bytes) { return static_cast<std::byte*>(take(size_bytes).data); }
    void give(void* data) { give_back({.data = data}); }
};

TEST(SizedPool, gives_blocks_of_whole_pages_of_their_own) {
    for (const std::size_t size : {kPage, 65 * kPage, 761 * kPage, 5000 * kPage}) {
        HostPool pool;
        std::vector<std::byte*> blocks;
        for (int i = 0; i < 5; ++i) {
            blocks.push_back(pool.bytes(size));
            ASSERT_NE(blocks.back(), nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()) % kPage, 0u);
            std::memset(blocks.back(), i, size);
        }
        for (int i = 0; i < 5; ++i) {
            std::byte* const block = blocks[static_cast<std::size_t>(i)];
            EXPECT_EQ(block[0], static_cast<std::byte>(i)) << size;
            EXPECT_EQ(block[size - 1], static_cast<std::byte>(i)) << size;
            pool.give(block);
        }
    }
}

TEST(SizedPool, keeps_what_is_in_use_when_it_is_trimmed) {
    HostPool pool;
    std::vector<std::byte*> blocks(30);
    for (auto& block : blocks) block = pool.bytes(700 * kPage);
    std::byte* const used = blocks.back();
    used[0] = std::byte{7};
    blocks.pop_back();
    for (std::byte* const block : blocks) pool.give(block);

    pool.trim();

    EXPECT_LT(pool.use().idle_bytes(), blocks.size() * 700 * kPage);  // whole slabs are gone, others have the block
    EXPECT_EQ(used[0], std::byte{7});
    pool.give(used);
    pool.trim();
    EXPECT_EQ(pool.use().idle_bytes(), 0u);
    std::byte* const again = pool.bytes(700 * kPage);
    ASSERT_NE(again, nullptr);
    pool.give(again);
}

TEST(SizedPool, returns_first_what_went_unused_for_longest_and_no_more_than_it_must) {
    // Sizes that fill a slab each; the last one in use is given back last, whatever its address.
    const auto size = [](std::size_t number) { return (5000 + 10 * number) * kPage; };
    HostPool pool(size(4) + size(2));
    std::vector<std::byte*> blocks;
    for (std::size_t i = 0; i < 6; ++i) blocks.push_back(pool.bytes(size(i)));
    for (const std::size_t i : {3U, 0U, 5U, 1U, 4U, 2U}) pool.give(blocks[i]);

    EXPECT_EQ(pool.use().idle_bytes(), size(4) + size(2));
    EXPECT_EQ(pool.take(size(4)).data, blocks[4]);
    EXPECT_EQ(pool.take(size(2)).data, blocks[2]);
    EXPECT_EQ(pool.use().idle_bytes(), 0U);
    for (const std::size_t i : {4U, 2U}) pool.give(blocks[i]);
}

TEST(HostMemory, gives_up_the_tail_of_a_block_that_is_used_to_three_quarters_with_its_huge_pages) {
    constexpr std::size_t kSize = 32 << 20;
    constexpr std::size_t kUsed = 15 << 20;
    HostPool pool;
    std::byte* const block = pool.bytes(kSize);
    std::memset(block, 7, kSize);

    const bool given_up = HostMemory::give_up_tail(block, kSize, kUsed);

#if defined(__SANITIZE_ADDRESS__)
    EXPECT_FALSE(given_up);  // there blocks are malloc's
#else
    EXPECT_TRUE(given_up);
    EXPECT_FALSE(HostMemory::give_up_tail(block, kSize, kPage));  // most of a huge page would lie idle
#endif
    for (std::size_t i = 0; i < kUsed; i += kPage) ASSERT_EQ(block[i], std::byte{7});
    ASSERT_EQ(block[kUsed - 1], std::byte{7});
    std::memset(block + kUsed, 8, kSize - kUsed);  // it may be written again
    EXPECT_EQ(block[kSize - 1], std::byte{8});
    EXPECT_EQ(block[kUsed - 1], std::byte{7});
    pool.give(block);
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

TEST(HostMemory, asks_for_huge_pages_where_the_kernel_has_them) {
    const bool has_them = std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled");
    HostPool pool;
    std::byte* const block = pool.bytes(700 * kPage);

    EXPECT_EQ(mapping_flags(block).find(" hg") != std::string::npos, has_them) << mapping_flags(block);
    pool.give(block);
}
#endif

}  // namespace
}  // namespace tricodec
