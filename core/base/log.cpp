// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "base/fork.h"
#include "base/never_destroyed.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr const char* kNames[] = {"debug", "info", "warning", "error", "off"};

LogLevel initial_level() noexcept {
    const char* text = std::getenv("TRICODEC_LOG");
    if (text == nullptr) return LogLevel::warning;
    for (int i = 0; i < 5; ++i) {
        if (std::string_view(text) == kNames[i]) return static_cast<LogLevel>(i);
    }
    std::fprintf(stderr, "tricodec: TRICODEC_LOG=%s is not one of debug, info, warning, error, off; using warning\n",
                 text);
    return LogLevel::warning;
}

std::atomic<LogLevel>& level_slot() noexcept {
    static std::atomic<LogLevel> level{initial_level()};
    return level;
}

struct SinkSlot {
    ForkSafeMutex mutex;
    std::shared_ptr<const LogSink> sink;
};

SinkSlot& sink_slot() {
    static NeverDestroyed<SinkSlot> slot;
    return *slot;
}

}  // namespace

void set_log_sink(LogSink sink) {
    auto& slot = sink_slot();
    std::lock_guard lock(slot.mutex);
    slot.sink = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
}

void set_log_level(LogLevel level) noexcept {
    level_slot().store(level, std::memory_order_relaxed);
}
LogLevel log_level() noexcept {
    return level_slot().load(std::memory_order_relaxed);
}

LogLevel parse_log_level(std::string_view name) {
    for (int i = 0; i < 5; ++i) {
        if (name == kNames[i]) return static_cast<LogLevel>(i);
    }
    fail(ErrorCode::invalid_argument,
         "log level '" + std::string(name) + "' is not one of debug, info, warning, error, off");
}

void log(LogLevel level, std::string_view message) noexcept {
    if (level < log_level() || level == LogLevel::off) return;
    try {
        std::shared_ptr<const LogSink> sink;
        {
            auto& slot = sink_slot();
            std::lock_guard lock(slot.mutex);
            sink = slot.sink;
        }
        if (sink) {
            (*sink)(level, message);
        } else {
            std::fprintf(stderr, "tricodec %s: %.*s\n", kNames[static_cast<int>(level)],
                         static_cast<int>(message.size()), message.data());
        }
    } catch (...) {
        // A message that cannot be delivered must not take the work down with it.
    }
}

}  // namespace tricodec
