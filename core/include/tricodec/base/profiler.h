// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tricodec/base/device.h"

namespace tricodec {

/// What the library spends time on.
enum class Stage {
    read,        ///< packets out of a container
    index,       ///< packets are read once to number the frames
    decode,      ///< packets to pictures: also waiting for the codec's threads, or for a decoder slot of a GPU
    transform,   ///< pictures to tensors
    encode,      ///< pictures to packets
    write,       ///< packets into a container
    compress,    ///< arrays to streams
    decompress,  ///< streams to arrays
    wait,        ///< an iterator or a batch waits for frames that other threads decode
    filter,      ///< frames of tricodec.io through libavfilter, from or to chunks
};
inline constexpr int kNumStages = 10;

[[nodiscard]] std::string_view to_string(Stage stage) noexcept;

/// The totals of a stage on all threads.
struct StageTime {
    Stage stage{};
    std::int64_t num_calls = 0;
    /// Packets for read, index and write; arrays for compress and decompress; else pictures, or frames of audio.
    std::int64_t num_frames = 0;
    std::int64_t host_ns = 0;  ///< time of the threads that called, running or not, without stages inside this one
    std::int64_t gpu_ns = 0;   ///< of timed work on GPUs; what runs side by side counts each for itself
};

/// One call of a stage on a thread, or one piece of its work on a GPU.
struct StageEvent {
    Stage stage{};
    Device device;               ///< cpu for a call
    std::int64_t thread_id = 0;  ///< the operating system's number of the calling thread; 0 for a GPU
    std::int64_t begin_ns = 0;   ///< since the Profiler began
    std::int64_t duration_ns = 0;
    std::int64_t num_frames = 0;  ///< as StageTime::num_frames
};

class StageLog;

/// Measures all that the library does in the process as long as it lives, or until stop(). Several may live at once.
/// While none does, a stage costs the check of one variable. Stages are ranges of NVTX, domain "tricodec", too, at any
/// time, in builds that had its headers (has_nvtx()). The payload of a range is the number of frames that the call
/// begins with. Thread safety: safe.
class Profiler {
public:
    /// Keeps the latest `max_events` events, 48 bytes each.
    explicit Profiler(std::size_t max_events = 0);
    Profiler(const Profiler&) = delete;
    Profiler& operator=(const Profiler&) = delete;
    ~Profiler();

    /// Ends the measurement; the other functions then keep their values.
    void stop();
    /// The stages that did work, in the order of Stage; work in progress does not count. Waits for timed work of
    /// GPUs.
    [[nodiscard]] std::vector<StageTime> stages() const;
    [[nodiscard]] std::int64_t elapsed_ns() const;
    /// The kept events in the order of their ends, those of GPUs in the order in which they are reported. Waits as
    /// stages() does.
    [[nodiscard]] std::vector<StageEvent> events() const;
    /// The kept events that no earlier call of this function has returned. Waits as stages() does.
    [[nodiscard]] std::vector<StageEvent> take_events();
    /// Events that were not kept.
    [[nodiscard]] std::int64_t num_dropped_events() const;
    /// Events that were dropped before a call of take_events() came.
    [[nodiscard]] std::int64_t num_missed_events() const;

private:
    using Totals = std::array<StageTime, kNumStages>;
    [[nodiscard]] static Totals totals();

    Totals begin_;
    std::int64_t begin_ns_;
    std::unique_ptr<StageLog> log_;
    mutable std::mutex mutex_;  ///< of what follows
    Totals end_{};
    std::int64_t end_ns_ = 0;  ///< 0 while it measures
};

/// Whether this build marks stages for NVIDIA's Nsight tools.
[[nodiscard]] bool has_nvtx() noexcept;

}  // namespace tricodec
