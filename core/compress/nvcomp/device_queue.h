// SPDX-License-Identifier: Apache-2.0
/// Memory in stream order, arrays to and from the host, and copies, for a call of libnvcomp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "base/cuda/memory.h"
#include "compress/nvcomp/gather_copy.h"
#include "tricodec/compress/compress.h"

namespace tricodec::compress::nvcomp {

/// An array in page-locked memory, and one of the same size in device memory.
template <class T>
struct Staged {
    T* host = nullptr;
    T* device = nullptr;
    std::size_t count = 0;
};

/// The work of one call on a stream. Its destructor releases all its memory in stream order. The context must be
/// current on the calling thread, except in the destructor.
class DeviceQueue {
public:
    /// Throws as cuda::expect_not_captured() does.
    DeviceQueue(std::shared_ptr<cuda::Context> context, StreamView stream, StagingAllocator staging = {});
    ~DeviceQueue();
    DeviceQueue(const DeviceQueue&) = delete;
    DeviceQueue& operator=(const DeviceQueue&) = delete;

    [[nodiscard]] StreamView stream() const noexcept { return stream_; }
    [[nodiscard]] cuda::StreamHandle handle() const noexcept { return cuda::handle_of(stream_); }

    /// Device memory for the lifetime of the queue.
    [[nodiscard]] std::byte* allocate(std::size_t size_bytes);
    /// Releases the memory allocated since mark(), so that the next sub-batch uses it again.
    [[nodiscard]] std::size_t mark() const noexcept { return memory_.size(); }
    void release_from(std::size_t mark);
    /// The same, except for the memory at `kept`.
    void keep_last_of(std::size_t mark, const std::byte* kept);

    template <class T>
    [[nodiscard]] Staged<T> stage(std::size_t count) {
        const std::size_t size = count * sizeof(T);
        return {reinterpret_cast<T*>(pinned(size)), reinterpret_cast<T*>(allocate(size)), count};
    }
    /// Queue the copy to the GPU, and the copy to the host.
    template <class T>
    void send(const Staged<T>& staged) {
        send_bytes(staged.device, staged.host, staged.count * sizeof(T));
    }
    template <class T>
    void fetch(const Staged<T>& staged) {
        fetch_bytes(staged.host, staged.device, staged.count * sizeof(T));
    }

    /// A copy of host values in device memory.
    template <class T>
    [[nodiscard]] T* upload(const std::vector<T>& values) {
        const Staged<T> staged = stage<T>(values.size());
        std::copy(values.begin(), values.end(), staged.host);
        send(staged);
        return staged.device;
    }
    /// Queues a copy to page-locked memory; it is complete when wait() returns.
    template <class T>
    [[nodiscard]] const T* download(const T* from, std::size_t count) {
        auto* to = reinterpret_cast<T*>(pinned(count * sizeof(T)));
        fetch_bytes(to, from, count * sizeof(T));
        return to;
    }

    /// An event for the work that is queued so far.
    [[nodiscard]] cuda::Event record() const;
    /// Wait on the host for an event, or for all queued work.
    void wait_for(const cuda::Event& event) const;
    void wait() const { wait_for(record()); }

    /// Queues all copies in one launch.
    void gather(const std::vector<GatherCopy>& copies) {
        if (!copies.empty()) gather(upload(copies), copies.size());
    }
    /// The same with a list in device memory.
    void gather(const GatherCopy* copies, std::size_t count);

    /// The bytes of the GPU's memory that a batch may use if it wants `wanted`, at least `least`: the idle memory of
    /// the pool, or a part of the free memory.
    [[nodiscard]] std::size_t memory_budget(std::size_t wanted, std::size_t least) const;

private:
    using Memories = std::vector<std::shared_ptr<cuda::Memory>>;

    [[nodiscard]] std::byte* pinned(std::size_t size_bytes);
    void send_bytes(void* to, const void* from, std::size_t size_bytes) const;
    void fetch_bytes(void* to, const void* from, std::size_t size_bytes) const;

    std::shared_ptr<cuda::Context> context_;
    StreamView stream_;
    StagingAllocator staging_;
    Memories memory_;
    Memories pinned_;
    std::vector<std::shared_ptr<void>> foreign_;  // from the caller's allocator, without stream order
};

}  // namespace tricodec::compress::nvcomp
