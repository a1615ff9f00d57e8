// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/limits.h"

#include <mutex>
#include <string>

#include "base/fork.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {
ForkSafeMutex g_mutex;
Limits g_limits;
}  // namespace

Limits limits() noexcept {
    std::lock_guard lock(g_mutex);
    return g_limits;
}

void set_limits(const Limits& limits) {
    for (const auto& [name, field] : kLimitFields) {
        TRICODEC_EXPECT(
            limits.*field > 0, invalid_argument,
            std::string("limits.") + name + " is " + std::to_string(limits.*field) + "; it must be positive");
    }
    std::lock_guard lock(g_mutex);
    g_limits = limits;
}

}  // namespace tricodec
