// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
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
    /// `out` is [N, ...].
    DeviceBatch(Transform transform, TensorView out);
    DeviceBatch(DeviceBatch&&) noexcept;
    ~DeviceBatch();

    /// The frame for `out[slot]`. Does not wait for the GPU where the output is there.
    void add(std::int64_t slot, const Frame& frame);
    /// Forgets the frames that were not transformed yet: they are to be added again under other numbers.
    void clear();
    /// Transforms the rest and waits until the output is complete.
    void finish();

private:
    struct Item {
        std::int64_t slot;
        Frame frame;
    };
    void run(std::vector<Item> items);
    [[nodiscard]] std::shared_ptr<cuda::Stream> stream(Device device);

    Transform transform_;
    TensorView out_;
    std::unique_ptr<std::mutex> mutex_;
    std::vector<Item> waiting_;
    std::shared_ptr<cuda::Stream> stream_;  // made when first needed
};

}  // namespace tricodec
