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

void expect_positive(const char* field, std::int64_t value) {
    TRICODEC_EXPECT(value > 0, invalid_argument,
                    std::string("limits.") + field + " is " + std::to_string(value) + "; it must be positive");
}
}  // namespace

Limits limits() noexcept {
    std::lock_guard lock(g_mutex);
    return g_limits;
}

void set_limits(const Limits& limits) {
    expect_positive("max_width", limits.max_width);
    expect_positive("max_height", limits.max_height);
    expect_positive("max_pixels", limits.max_pixels);
    expect_positive("max_packet_bytes", limits.max_packet_bytes);
    expect_positive("max_packets", limits.max_packets);
    expect_positive("max_streams", limits.max_streams);
    expect_positive("max_output_bytes", limits.max_output_bytes);
    expect_positive("max_buffered_bytes", limits.max_buffered_bytes);
    expect_positive("max_device_buffered_bytes", limits.max_device_buffered_bytes);
    expect_positive("max_spool_memory_bytes", limits.max_spool_memory_bytes);
    expect_positive("max_spool_bytes", limits.max_spool_bytes);
    std::lock_guard lock(g_mutex);
    g_limits = limits;
}

}  // namespace tricodec
