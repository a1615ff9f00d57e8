// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "base/cuda/driver.h"
#include "tricodec/base/device.h"

namespace tricodec {
class MemoryCounter;
class SizedPool;
}  // namespace tricodec

namespace tricodec::cuda {

class EventPool;
struct DecoderUse;

struct DeviceProperties {
    std::string name;
    int major = 0;  ///< compute capability
    int minor = 0;
    int multiprocessors = 0;
    std::size_t max_shared_memory_per_block_bytes = 0;  ///< with opt-in
    std::size_t total_memory_bytes = 0;
};

/// The driver's GPU `index`. Throws Error(device) if there is no such GPU.
[[nodiscard]] DeviceHandle device_handle(int index);
/// What the driver says of GPU `index`. Throws Error(device) if there is no such GPU.
[[nodiscard]] DeviceProperties device_properties(int index);

/// A CUDA context and what is pooled in it. Everything made in a context keeps it alive.
/// Thread safety: safe.
class Context : public std::enable_shared_from_this<Context> {
public:
    /// The primary context of GPU `index`, the one the CUDA runtime and the frameworks use; retained until the process
    /// ends. Throws Error(device) if there is no driver or no such GPU, or the context cannot be made.
    [[nodiscard]] static std::shared_ptr<Context> primary(int index);
    /// A caller's context, which must outlive all that is made in it.
    [[nodiscard]] static std::shared_ptr<Context> borrow(ContextHandle handle);
    /// The caller's context by its handle, or the primary one of `device` for 0. Throws Error(invalid_argument) for a
    /// context of another GPU.
    [[nodiscard]] static std::shared_ptr<Context> of_caller(std::uintptr_t handle, Device device);
    /// The context that a stream was made in; the primary one for the default streams, which have none of their own.
    [[nodiscard]] static std::shared_ptr<Context> of(StreamView stream, int index);

    ~Context();

    [[nodiscard]] ContextHandle handle() const noexcept { return handle_; }
    [[nodiscard]] Device device() const noexcept { return {Device::Kind::cuda, index_}; }
    /// False for a caller's, which is not ours to keep things in.
    [[nodiscard]] bool is_primary() const noexcept { return primary_; }
    [[nodiscard]] const DeviceProperties& properties() const noexcept { return properties_; }

    /// False while its pools are being made, which ask for memory themselves.
    [[nodiscard]] bool is_complete() const noexcept { return decoder_use_ != nullptr; }
    [[nodiscard]] SizedPool& device_pool() noexcept { return *device_pool_; }
    [[nodiscard]] SizedPool& pinned_pool() noexcept { return *pinned_pool_; }
    [[nodiscard]] EventPool& event_pool() noexcept { return *event_pool_; }
    [[nodiscard]] DecoderUse& decoder_use() noexcept { return *decoder_use_; }
    [[nodiscard]] const MemoryCounter& device_memory_use() const noexcept;
    [[nodiscard]] const MemoryCounter& pinned_memory_use() const noexcept;

private:
    friend class Stream;
    Context(ContextHandle handle, int index, bool primary);
    /// A stream without work that keep_stream() got, else null.
    [[nodiscard]] StreamHandle take_stream() noexcept;
    /// False if the stream is to be destroyed.
    [[nodiscard]] bool keep_stream(StreamHandle stream) noexcept;

    ContextHandle handle_;
    int index_;
    bool primary_;
    DeviceProperties properties_;
    std::unique_ptr<EventPool> event_pool_;
    std::unique_ptr<SizedPool> device_pool_;
    std::unique_ptr<SizedPool> pinned_pool_;
    std::unique_ptr<DecoderUse> decoder_use_;
    std::mutex streams_mutex_;
    std::deque<StreamHandle> streams_;  // of the primary context, for the next ones that need some
};

/// Makes a context current on this thread as long as it lives.
class ContextScope {
public:
    explicit ContextScope(const Context& context) : ContextScope(context.handle()) {}
    explicit ContextScope(ContextHandle handle);
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;
    ~ContextScope();
};

/// A stream of our own, without implicit waits for the default stream. Its destructor does not wait.
///
/// Note [Streams are kept]: to make and to destroy a stream takes 0.9 ms while the GPU works, more than most batches
/// do. So the primary context keeps streams. One is lent again once its work is done: else its next user would wait for
/// it.
class Stream {
public:
    /// `is_kept`: false for one that a caller may know by its handle, which ends with this object.
    explicit Stream(std::shared_ptr<Context> context, bool is_kept = true);
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream();

    [[nodiscard]] StreamView view() const noexcept { return {reinterpret_cast<std::uintptr_t>(handle_)}; }
    operator StreamView() const noexcept { return view(); }
    /// The host waits for what is queued on this stream, and for nothing else.
    void synchronize() const;
    [[nodiscard]] const std::shared_ptr<Context>& context() const noexcept { return context_; }

private:
    std::shared_ptr<Context> context_;
    bool is_kept_;
    StreamHandle handle_ = nullptr;
};

/// A stream of the calling thread's own in `context`: one thread's wait is not another's. Gone with the thread or the
/// context.
[[nodiscard]] StreamView thread_stream(const std::shared_ptr<Context>& context);

[[nodiscard]] inline StreamHandle handle_of(StreamView stream) noexcept {
    return reinterpret_cast<StreamHandle>(stream.handle);
}

}  // namespace tricodec::cuda
