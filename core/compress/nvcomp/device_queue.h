// SPDX-License-Identifier: Apache-2.0
/// What a call on a GPU needs around the library's kernels: memory in stream order, arrays to and from the host,
/// copies.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/cuda/context.h"
#include "compress/nvcomp/gather_copy.h"
#include "tricodec/buffer.h"

namespace tricodec::compress::nvcomp {

/// Why the kernels of this build are missing; empty if they are there.
[[nodiscard]] std::string missing_gather_reason();

/// The work of one call on a stream. Everything allocated from it is given back in stream order when it ends.
class DeviceQueue {
public:
    DeviceQueue(const std::shared_ptr<cuda::Context>& context, StreamView stream);
    ~DeviceQueue();
    DeviceQueue(const DeviceQueue&) = delete;
    DeviceQueue& operator=(const DeviceQueue&) = delete;

    [[nodiscard]] cuda::StreamHandle handle() const noexcept { return cuda::handle_of(stream_); }

    /// Device memory until the queue ends.
    [[nodiscard]] std::byte* allocate(std::size_t size_bytes);
    /// Gives what was allocated since mark() back, for a sub-batch to use again.
    [[nodiscard]] std::size_t mark() const noexcept { return buffers_.size(); }
    void release_from(std::size_t mark);
    /// Gives all of it back but the piece at `kept`.
    void keep_last_of(std::size_t mark, const std::byte* kept);

    /// A copy of host values in device memory.
    template <class T>
    [[nodiscard]] T* upload(std::span<const T> values) {
        return reinterpret_cast<T*>(upload_bytes(values.data(), values.size_bytes()));
    }
    template <class T>
    [[nodiscard]] T* upload(const std::vector<T>& values) {
        return upload(std::span<const T>(values));
    }

    /// Starts a copy to page-locked memory, which is complete after wait().
    template <class T>
    [[nodiscard]] const T* download(const T* from, std::size_t count) {
        return reinterpret_cast<const T*>(download_bytes(from, count * sizeof(T)));
    }
    void wait() const;

    /// All copies in one launch.
    void gather(const std::vector<GatherCopy>& copies);

    /// What a batch may take of the GPU's memory, at least `least`.
    [[nodiscard]] std::size_t memory_budget(std::size_t least) const;

private:
    [[nodiscard]] void* upload_bytes(const void* from, std::size_t size_bytes);
    [[nodiscard]] const void* download_bytes(const void* from, std::size_t size_bytes);

    std::shared_ptr<cuda::Context> context_;
    cuda::ContextScope scope_;
    StreamView stream_;
    std::vector<std::shared_ptr<Buffer>> buffers_;
    std::vector<std::shared_ptr<Buffer>> pinned_;
};

}  // namespace tricodec::compress::nvcomp
