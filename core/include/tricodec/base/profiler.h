// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace tricodec {

/// What the library spends time on.
enum class Stage {
    read,        ///< packets out of a container
    decode,      ///< packets to pictures: also waiting for the codec's threads, or for a turn on a GPU's engines
    transform,   ///< pictures to tensors
    encode,      ///< pictures to packets
    write,       ///< packets into a container
    compress,    ///< arrays to streams
    decompress,  ///< streams to arrays
    wait,        ///< an iterator or a batch waits for frames that other threads decode
};
inline constexpr int kNumStages = 8;

[[nodiscard]] std::string_view to_string(Stage stage) noexcept;

/// The totals of a stage on all threads.
struct StageTime {
    Stage stage{};
    std::int64_t num_calls = 0;
    std::int64_t host_ns = 0;  ///< time of the threads that called, running or not
    std::int64_t gpu_ns = 0;   ///< of kernels of Transform; what runs side by side counts each for itself
};

/// Measures all that the library does in the process as long as it lives, or until stop(). Several may live at once.
/// While none does, a stage costs the check of one variable. Stages are ranges of NVTX, domain "tricodec", too, at any
/// time, in builds that had its headers (has_nvtx()). Thread safety: safe.
class Profiler {
public:
    Profiler();
    Profiler(const Profiler&) = delete;
    Profiler& operator=(const Profiler&) = delete;
    ~Profiler();

    /// Ends the measurement; stages() and elapsed_ns() then keep their values.
    void stop();
    /// The stages that did work, in the order of Stage; work in progress does not count. Waits for timed work of
    /// GPUs.
    [[nodiscard]] std::vector<StageTime> stages() const;
    [[nodiscard]] std::int64_t elapsed_ns() const;

private:
    using Totals = std::array<StageTime, kNumStages>;
    [[nodiscard]] static Totals totals();

    Totals begin_;
    std::int64_t begin_ns_;
    mutable std::mutex mutex_;  ///< of what follows
    Totals end_{};
    std::int64_t end_ns_ = 0;  ///< 0 while it measures
};

/// Whether this build marks stages for NVIDIA's Nsight tools.
[[nodiscard]] bool has_nvtx() noexcept;

}  // namespace tricodec
