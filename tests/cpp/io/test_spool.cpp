// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "io/spool.h"
#include "tricodec/base/error.h"
#include "tricodec/base/memory_tracker.h"

namespace tricodec {
namespace {

constexpr std::int64_t kSize = 1 << 20;

std::byte byte_at(std::int64_t position) {
    return static_cast<std::byte>(position * 31 + position / 251);
}

/// Numbered bytes in uneven pieces.
class Numbers final : public ByteReader {
public:
    std::size_t read(std::span<std::byte> out) override {
        piece_ = piece_ % 9973 + 1;
        const auto count = std::min({static_cast<std::int64_t>(out.size()), piece_, kSize - position_});
        for (std::int64_t i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = byte_at(position_ + i);
        position_ += count;
        return static_cast<std::size_t>(count);
    }
    void seek(std::int64_t) override { throw std::logic_error("a source that cannot seek was sought"); }
    std::optional<std::int64_t> size_bytes() const override { return std::nullopt; }
    bool seekable() const override { return false; }

private:
    std::int64_t piece_ = 0;
    std::int64_t position_ = 0;
};

class SpoolTest : public ::testing::Test {
protected:
    ~SpoolTest() override { set_limits(before_); }

    static void limit(std::int64_t memory_bytes, std::int64_t all_bytes) {
        Limits changed;
        changed.max_spool_memory_bytes = memory_bytes;
        changed.max_spool_bytes = all_bytes;
        set_limits(changed);
    }

    /// True if `count` bytes from `position` on are the source's.
    static bool holds(Spool& spool, std::int64_t position, std::int64_t count) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(count));
        std::int64_t done = 0;
        while (done < count) {
            const auto got = spool.read(position + done, std::span(bytes).subspan(static_cast<std::size_t>(done)));
            if (got == 0) return false;
            for (std::int64_t i = done; i < done + static_cast<std::int64_t>(got); ++i) {
                if (bytes[static_cast<std::size_t>(i)] != byte_at(position + i)) return false;
            }
            done += static_cast<std::int64_t>(got);
        }
        return true;
    }

    static std::int64_t host_bytes() {
        for (const auto& each : memory_use()) {
            if (each.kind == MemoryKind::host) return each.in_use_bytes;
        }
        return 0;
    }

private:
    Limits before_ = limits();
};

TEST_F(SpoolTest, gives_the_bytes_of_any_place_from_memory_and_file) {
    for (const std::int64_t memory_bytes : {std::int64_t{1}, std::int64_t{300'001}, kSize, 2 * kSize}) {
        limit(memory_bytes, kSize);
        Spool spool(std::make_shared<Numbers>(), "numbers");
        EXPECT_TRUE(holds(spool, 700'000, 1000)) << memory_bytes;  // ahead, then back, then across the border
        EXPECT_TRUE(holds(spool, 0, 5000)) << memory_bytes;
        EXPECT_TRUE(holds(spool, std::max<std::int64_t>(0, std::min(memory_bytes, kSize) - 500), 400)) << memory_bytes;
        EXPECT_TRUE(holds(spool, 0, kSize)) << memory_bytes;
        EXPECT_EQ(spool.size_bytes(), kSize);
        std::byte one{};
        EXPECT_EQ(spool.read(kSize, {&one, 1}), 0);
        EXPECT_EQ(spool.read(2 * kSize, {&one, 1}), 0);
    }
}

TEST_F(SpoolTest, forgets_what_it_need_not_keep_once_that_was_read) {
    const auto before = host_bytes();
    Spool spool(std::make_shared<Numbers>(), "numbers");
    EXPECT_TRUE(holds(spool, 0, 600'000));
    EXPECT_GE(host_bytes(), before + 600'000);
    spool.keep_no_more();
    EXPECT_TRUE(holds(spool, 100, 600'000));  // what was kept, and on
    EXPECT_EQ(host_bytes(), before);
    EXPECT_FALSE(spool.has(100));
    EXPECT_TRUE(spool.has(600'100));
    try {
        (void)holds(spool, 0, 1);
        FAIL() << "bytes came that were not kept";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
    }
}

TEST_F(SpoolTest, keeps_all_whatever_is_said_later) {
    Spool spool(std::make_shared<Numbers>(), "numbers");
    spool.keep_all();
    spool.keep_no_more();
    EXPECT_TRUE(holds(spool, 0, 600'000));
    EXPECT_TRUE(holds(spool, 0, 600'000));
}

}  // namespace
}  // namespace tricodec
