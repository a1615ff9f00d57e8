// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tricodec/frame.h"
#include "tricodec/transform.h"

namespace tricodec {

namespace cuda {
class Stream;
}

/// Frames of a batch on their way through a Transform on a GPU, several in one launch. Frames of the CPU for an output
/// on a GPU are copied there first; outputs on the CPU of frames on a GPU are copied back. The bytes are those of the
/// CPU either way. Thread safety: add() from several threads; the rest when no add() runs.
class DeviceBatch {
public:
    /// `out` is [N, ...]. The work is done in the caller's context, by its handle, or in the primary one. With `stream`
    /// an `out` on a GPU is written after what is queued there so far.
    DeviceBatch(Transform transform, TensorView out, std::uintptr_t context, std::optional<StreamView> stream);
    DeviceBatch(DeviceBatch&&) noexcept;
    ~DeviceBatch();

    /// The frame for `out[slot]`. Does not wait for the GPU where the output is there.
    void add(std::int64_t slot, const Frame& frame);
    /// Forgets the frames that were not transformed yet: they are to be added again under other numbers.
    void clear();
    /// Transforms the rest. The caller's stream then waits until the output is complete; without one, or for an output
    /// on the CPU, the host does.
    void finish();

private:
    struct Item {
        std::int64_t slot;
        Frame frame;
    };
    void run(std::vector<Item> items);
    void copy_back(const Tensor& made, const std::vector<Item>& items, const cuda::Stream& on);
    [[nodiscard]] std::shared_ptr<cuda::Stream> stream(Device device);

    Transform transform_;
    TensorView out_;
    std::uintptr_t context_;
    std::optional<StreamView> callers_;
    bool finished_ = false;
    bool page_locked_ = false;  // an output on the CPU that the GPU can write by itself
    std::unique_ptr<std::mutex> mutex_;
    std::vector<Item> waiting_;
    std::shared_ptr<cuda::Stream> stream_;  // made when first needed
};

}  // namespace tricodec
