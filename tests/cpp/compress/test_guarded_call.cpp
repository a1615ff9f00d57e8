// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "compress/cpu/guarded_call.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

/// Interrupts system calls over and over while it lives, as profilers do.
class Interruptions {
public:
    Interruptions() {
        struct sigaction quiet{};
        quiet.sa_handler = [](int) {};  // without SA_RESTART
        sigaction(SIGALRM, &quiet, &before_);
        const timeval often{0, 20'000};
        const itimerval timer{often, often};
        setitimer(ITIMER_REAL, &timer, nullptr);
    }
    ~Interruptions() {
        const itimerval none{};
        setitimer(ITIMER_REAL, &none, nullptr);
        sigaction(SIGALRM, &before_, nullptr);
    }
    Interruptions(const Interruptions&) = delete;
    Interruptions& operator=(const Interruptions&) = delete;

private:
    struct sigaction before_{};
};

std::string failure_of(const std::function<bool(std::span<std::byte>)>& fill, double seconds) {
    std::array<std::byte, 4> output{};
    try {
        run_guarded(output, fill, seconds, "the stream");
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::corrupt_data);
        return error.what();
    }
    return "";
}

TEST(GuardedCall, gives_what_the_child_wrote) {
    std::array<std::byte, 4> output{};
    run_guarded(
        output,
        [](std::span<std::byte> memory) {
            memory[3] = std::byte{7};
            return true;
        },
        10, "the stream");
    EXPECT_EQ(output[3], std::byte{7});
}

TEST(GuardedCall, a_child_that_dies_is_an_error) {
    const auto dies = [](std::span<std::byte>) -> bool { _exit(3); };
    EXPECT_NE(failure_of(dies, 60).find("failed in a child process"), std::string::npos);
}

TEST(GuardedCall, a_child_that_takes_too_long_is_ended_whatever_signals_come) {
    const Interruptions interruptions;
    const auto waits = [](std::span<std::byte>) -> bool {
        for (;;) pause();
    };
    EXPECT_NE(failure_of(waits, 1).find("took more than 1 s"), std::string::npos);
}

}  // namespace
}  // namespace tricodec::compress
