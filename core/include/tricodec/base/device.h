// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// What "auto" wants of a GPU: all that this library does there, or its engines of video alone, which work without the
/// CUDA kernels too.
enum class GpuNeed { all, engines };

/// Resolves a request ("auto", "cpu", "cuda", "cuda:1") to a device of this machine. "auto" is the first GPU when it
/// can do what is needed, else the CPU; "auto:1" asks for the second GPU so. The environment variable TRICODEC_DEVICE,
/// when set, replaces "auto". Throws Error(invalid_argument) on any other text, Error(device) when "cuda" is
/// demanded and there is none.
[[nodiscard]] Device resolve_device(std::string_view request, GpuNeed need = GpuNeed::all);
/// False for "auto" that TRICODEC_DEVICE does not replace and for "auto:N": where the GPU cannot do the work, the CPU
/// may.
[[nodiscard]] bool demands_device(std::string_view request);

}  // namespace tricodec
