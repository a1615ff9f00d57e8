// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tricodec {

/// A read in progress on a GPU's engines by threads of its own. Reads at the same time share twice as many threads as
/// there are engines: more would only wait for their turns (EngineQueue). Thread safety: safe.
class EngineShare {
public:
    EngineShare() noexcept;
    ~EngineShare();
    EngineShare(const EngineShare&) = delete;
    EngineShare& operator=(const EngineShare&) = delete;

    /// Threads for one of the reads in progress now, this one included, of `most` that it could use alone.
    [[nodiscard]] static int num_threads(int num_turns, int most) noexcept;
};

}  // namespace tricodec
