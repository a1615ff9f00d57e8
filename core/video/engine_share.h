// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tricodec {

/// A read in progress on a GPU's engines. Reads at the same time share them: each takes its part of twice as many
/// decoders as there are engines, which keeps all of them fed; more would only wait for one another and cost memory.
/// Thread safety: safe.
class EngineShare {
public:
    EngineShare() noexcept;
    ~EngineShare();
    EngineShare(const EngineShare&) = delete;
    EngineShare& operator=(const EngineShare&) = delete;

    /// Decoders for one of the reads in progress now, this one included.
    [[nodiscard]] static int num_decoders(int num_engines) noexcept;
};

}  // namespace tricodec
