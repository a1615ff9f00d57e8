// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace tricodec {

enum class LogLevel { debug, info, warning, error, off };

/// Receives every message at or above the level. May be called from any thread, also from codec threads.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Replaces the sink; an empty function restores the default, which writes to standard error.
/// Thread safety: safe; a message in flight may still reach the old sink.
void set_log_sink(LogSink sink);

/// The default level is `warning`, or what the environment variable TRICODEC_LOG names.
void set_log_level(LogLevel level) noexcept;
[[nodiscard]] LogLevel log_level() noexcept;
[[nodiscard]] LogLevel parse_log_level(std::string_view name);

void log(LogLevel level, std::string_view message) noexcept;

}  // namespace tricodec
