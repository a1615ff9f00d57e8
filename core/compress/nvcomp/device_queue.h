// SPDX-License-Identifier: Apache-2.0
/// What a call on a GPU needs around the library's kernels: memory in stream order, arrays to and from the host,
/// copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "compress/nvcomp/gather_copy.h"
#include "tricodec/buffer.h"
#include "tricodec/gpu_codec.h"

namespace tricodec::compress::nvcomp {

/// Why the kernels of this build are missing; empty if they are there.
[[nodiscard]] std::string missing_gather_reason();

/// Values in page-locked memory, and as many in device memory.
template <class T>
struct Staged {
    T* host = nullptr;
    T* device = nullptr;
    std::size_t count = 0;
};

/// The work of one call on a stream. Everything allocated from it is given back in stream order when it ends. Its
/// context must be current on the calling thread, but for its end.
class DeviceQueue {
public:
    DeviceQueue(std::shared_ptr<cuda::Context> context, StreamView stream, StagingAllocator staging = {});
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

    template <class T>
    [[nodiscard]] Staged<T> stage(std::size_t count) {
        const std::size_t size = count * sizeof(T);
        return {reinterpret_cast<T*>(pinned(size)), reinterpret_cast<T*>(allocate(size)), count};
    }
    /// Starts the copy to the GPU, or back to the host, or fills what is on the GPU with zeros.
    template <class T>
    void send(const Staged<T>& staged) {
        send_bytes(staged.device, staged.host, staged.count * sizeof(T));
    }
    template <class T>
    void fetch(const Staged<T>& staged) {
        fetch_bytes(staged.host, staged.device, staged.count * sizeof(T));
    }
    template <class T>
    void clear(const Staged<T>& staged) {
        clear_bytes(staged.device, staged.count * sizeof(T));
    }

    /// A copy of host values in device memory.
    template <class T>
    [[nodiscard]] T* upload(const std::vector<T>& values) {
        const Staged<T> staged = stage<T>(values.size());
        std::copy(values.begin(), values.end(), staged.host);
        send(staged);
        return staged.device;
    }
    /// Starts a copy to page-locked memory, which is complete once wait() returns.
    template <class T>
    [[nodiscard]] const T* download(const T* from, std::size_t count) {
        auto* to = reinterpret_cast<T*>(pinned(count * sizeof(T)));
        fetch_bytes(to, from, count * sizeof(T));
        return to;
    }

    /// Marks what has been queued so far.
    [[nodiscard]] cuda::Event record() const;
    /// The host waits for a mark, or for all that has been queued.
    void wait_for(const cuda::Event& event) const;
    void wait() const { wait_for(record()); }

    /// All copies in one launch.
    void gather(const std::vector<GatherCopy>& copies);

    /// What a batch that wants `wanted` bytes may take of the GPU's memory, at least `least`: what tricodec holds idle
    /// anyway, or a part of what is free.
    [[nodiscard]] std::size_t memory_budget(std::size_t wanted, std::size_t least) const;

private:
    [[nodiscard]] std::byte* pinned(std::size_t size_bytes);
    void send_bytes(void* to, const void* from, std::size_t size_bytes) const;
    void fetch_bytes(void* to, const void* from, std::size_t size_bytes) const;
    void clear_bytes(void* at, std::size_t size_bytes) const;

    std::shared_ptr<cuda::Context> context_;
    StreamView stream_;
    StagingAllocator staging_;
    std::vector<std::shared_ptr<Buffer>> buffers_;
    std::vector<std::shared_ptr<Buffer>> pinned_;
    std::vector<std::shared_ptr<void>> foreign_;  // of the caller's allocator, which knows no streams
};

}  // namespace tricodec::compress::nvcomp
