// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tricodec {

/// Where an object lives and works. Spelled "cpu" or "cuda:N"; requests may also say "auto", "auto:N" or "cuda".
struct Device {
    enum class Kind { cpu, cuda };
    Kind kind = Kind::cpu;
    int index = 0;

    friend bool operator==(const Device&, const Device&) = default;
    [[nodiscard]] std::string to_string() const;
};

/// What "auto" needs from a GPU: all that this library does there, or only its video engines, which also work without
/// the CUDA kernels.
enum class GpuNeed { all, engines };

/// Resolves a request ("auto", "cpu", "cuda", "cuda:1") to a device of this machine. "auto" is the first GPU when it
/// can do what is needed, else the CPU; "auto:1" is the second GPU in the same way. The environment variable
/// TRICODEC_DEVICE, when set, replaces "auto". Throws Error(invalid_argument) on any other text, Error(device) when
/// "cuda" is demanded and there is none.
[[nodiscard]] Device resolve_device(std::string_view request, GpuNeed need = GpuNeed::all);
/// True if the request demands its device. False for "auto", unless TRICODEC_DEVICE replaces it, and for "auto:N": the
/// CPU may then replace the GPU.
[[nodiscard]] bool demands_device(std::string_view request);

/// A caller's CUDA stream, by its driver handle (a CUstream or cudaStream_t as a number). 0 and 1 are the
/// legacy default stream, 2 the per-thread one. The caller keeps the stream alive; work queued on it belongs to
/// the context the stream was made in.
struct StreamView {
    std::uintptr_t handle = 0;

    friend bool operator==(const StreamView&, const StreamView&) = default;
};

/// A caller's CUDA event, by its driver handle (a CUevent or cudaEvent_t as a number). The caller keeps it alive.
struct EventView {
    std::uintptr_t handle = 0;
};

}  // namespace tricodec
