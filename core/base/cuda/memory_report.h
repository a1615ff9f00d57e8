// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/cuda/context.h"
#include "base/memory_counter.h"

namespace tricodec::cuda {

/// What the decoders of a context hold of the GPU's memory: they ask the driver for it themselves.
struct DecoderUse {
    explicit DecoderUse(Device device) : bytes(MemoryKind::decoders, device) {}

    MemoryCounter bytes;
    std::atomic<int> num_working{0};
    std::atomic<int> num_idle{0};
};

/// One decoder's share in its context's DecoderUse, as long as it lives.
class DecoderMemory {
public:
    DecoderMemory(std::shared_ptr<Context> context, std::size_t size_bytes);
    DecoderMemory(const DecoderMemory&) = delete;
    DecoderMemory& operator=(const DecoderMemory&) = delete;
    ~DecoderMemory();

    void set_idle(bool idle) noexcept;

private:
    std::shared_ptr<Context> context_;
    std::size_t size_bytes_;
    bool idle_ = false;
};

/// Gives memory of the GPUs' back that is only kept for the next time; called where there is too little. What is not
/// of the pools registers such a function once, and for good.
using Reclaimer = void (*)() noexcept;
void add_reclaimer(Reclaimer reclaimer);
void reclaim_memory() noexcept;

/// "3 MiB", rounded up.
[[nodiscard]] std::string mebibytes(std::size_t size_bytes);

/// Throws Error(out_of_memory): what was asked and for what, what is free, what holds the rest, the largest first, and
/// what helps. 0 for a size that only the driver knows.
[[noreturn]] void fail_out_of_memory(Context& context, std::size_t asked_bytes, std::string_view for_what);
/// Throws that where `result` is a lack of memory, and Error(device) for another failure. `what` was tried, and takes
/// memory of a size that only the driver knows: "making a CUDA stream".
void check_memory(Context& context, Result result, std::string_view what);
/// The same for host memory that could not be locked.
[[noreturn]] void fail_out_of_pinned_memory(Context& context, std::size_t asked_bytes);

}  // namespace tricodec::cuda
