// SPDX-License-Identifier: Apache-2.0
/// What the fuzz targets share: numbers from the input, the errors that damaged data may cause, and small limits.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/log.h"
#include "tricodec/io/media_source.h"

namespace tricodec::fuzzing {

using Bytes = std::span<const std::byte>;

/// Ends the run, so that libFuzzer keeps the input, unless `condition` holds.
inline void require(bool condition, const std::string& what) {
    if (condition) return;
    std::fprintf(stderr, "the target found: %s\n", what.c_str());
    std::abort();
}

/// Runs `work`. Returns false after an error that damaged data may cause; a defect of the library ends the run.
template <class Work>
bool succeeds(const Work& work) {
    try {
        work();
    } catch (const Error& error) {
        require(error.code() != ErrorCode::internal, error.what());
        log(LogLevel::debug, error.what());
        return false;
    }
    return true;
}

/// Takes numbers from the end of the input. What is left at its start is still a file that other tools can open.
class Choices {
public:
    explicit Choices(Bytes bytes) : bytes_(bytes) {}

    [[nodiscard]] unsigned byte() {
        if (bytes_.empty()) return 0;
        const auto last = std::to_integer<unsigned>(bytes_.back());
        bytes_ = bytes_.first(bytes_.size() - 1);
        return last;
    }
    [[nodiscard]] bool flag() { return (byte() & 1U) != 0; }
    /// 0 to `count` - 1.
    [[nodiscard]] std::size_t below(std::size_t count) { return byte() % count; }
    [[nodiscard]] std::int64_t number() {
        std::uint64_t value = 0;
        for (int i = 0; i < 8; ++i) value = value << 8 | byte();
        return static_cast<std::int64_t>(value);
    }
    /// The bytes that no number was taken from.
    [[nodiscard]] Bytes rest() const noexcept { return bytes_; }
    /// The last `size` bytes of the rest, or all of it.
    [[nodiscard]] Bytes take(std::size_t size) {
        size = std::min(size, bytes_.size());
        const auto taken = bytes_.last(size);
        bytes_ = bytes_.first(bytes_.size() - size);
        return taken;
    }

private:
    Bytes bytes_;
};

/// Reads the bytes in place, so that AddressSanitizer sees each read past their end.
[[nodiscard]] inline MediaSource source_of(Bytes bytes) {
    return MediaSource::from_bytes(bytes, nullptr, "fuzz input");
}

/// Limits that keep one input short, and no log unless TRICODEC_LOG asks for one.
inline void set_up() {
    if (std::getenv("TRICODEC_LOG") == nullptr) set_log_level(LogLevel::off);
    Limits small;
    small.max_width = small.max_height = 2048;
    small.max_pixels = 1 << 18;
    small.max_packet_bytes = 1 << 22;
    small.max_packets = 5000;
    small.max_output_bytes = 1 << 24;
    small.max_spool_memory_bytes = 1 << 20;
    small.max_spool_bytes = 1 << 22;
    set_limits(small);
}

/// What a target does with one input of libFuzzer; main.cpp calls it.
void try_input(Bytes input);

}  // namespace tricodec::fuzzing
