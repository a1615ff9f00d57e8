// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/parallel_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

namespace tricodec {
namespace {
constexpr std::size_t kPieceBytes =
    1 << 20;  // what one thread copies at a time; handing it out costs nothing beside it
}

void copy_parallel(std::span<const ByteCopy> copies, int num_threads, const TaskRunner& runner) {
    std::vector<ByteCopy> pieces;
    std::size_t total = 0;
    for (const ByteCopy& copy : copies) {
        total += copy.size;
        for (std::size_t at = 0; at < copy.size; at += kPieceBytes) {
            pieces.push_back({copy.from + at, copy.to + at, std::min(kPieceBytes, copy.size - at)});
        }
    }
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < pieces.size(); i = next++) {
            std::memcpy(pieces[i].to, pieces[i].from, pieces[i].size);
        }
    };
    const std::size_t threads = std::min(static_cast<std::size_t>(std::max(1, num_threads)), total / kPieceBytes);
    if (threads <= 1) return work();
    std::vector<std::function<void()>> tasks(threads, work);
    if (runner) {
        runner(tasks);
    } else {
        run_parallel(tasks, static_cast<int>(threads));
    }
}

}  // namespace tricodec
