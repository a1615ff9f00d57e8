// SPDX-License-Identifier: Apache-2.0
#include "video/engine_share.h"

#include <algorithm>
#include <atomic>

namespace tricodec {
namespace {
std::atomic<int> reads_in_progress{0};
}

EngineShare::EngineShare() noexcept {
    ++reads_in_progress;
}

EngineShare::~EngineShare() {
    --reads_in_progress;
}

int EngineShare::num_threads(int num_turns, int most) noexcept {
    const int reads = std::max(1, reads_in_progress.load());
    return std::clamp((num_turns + reads - 1) / reads, 1, std::max(1, most));
}

}  // namespace tricodec
