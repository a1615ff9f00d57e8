// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

#include "tricodec/base/interrupt.h"

namespace tricodec {
namespace {

int g_checks = 0;

TEST(Interrupt, asks_ten_times_a_second_at_most_or_at_once) {
    set_interrupt_check([] { ++g_checks; });
    const auto begin = std::chrono::steady_clock::now();  // no later than the first check
    check_interrupt(true);
    const int before = g_checks;
    while (g_checks < before + 3) check_interrupt();
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
    check_interrupt(true);
    EXPECT_EQ(g_checks, before + 4);

    set_interrupt_check([] { throw std::runtime_error("interrupted"); });
    EXPECT_THROW(check_interrupt(true), std::runtime_error);
    set_interrupt_check(nullptr);
    EXPECT_NO_THROW(check_interrupt(true));
}

}  // namespace
}  // namespace tricodec
