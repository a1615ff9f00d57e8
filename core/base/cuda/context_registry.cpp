// SPDX-License-Identifier: Apache-2.0
// The contexts of this process, each with its pools, and streams in them.
#include <map>
#include <mutex>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "base/cuda/memory.h"
#include "base/cuda/memory_report.h"
#include "base/never_destroyed.h"
#include "tricodec/base/error.h"

namespace tricodec::cuda {
namespace {

struct Registry {
    std::mutex mutex;
    std::map<int, std::shared_ptr<Context>> primaries;
    std::map<ContextHandle, std::weak_ptr<Context>> borrowed;
};

Registry& registry() {
    static NeverDestroyed<Registry> all;
    return *all;
}

/// The streams do not keep their contexts: a caller's is destroyed when its owner says so, and its streams with it.
struct ThreadStreams {
    std::map<std::weak_ptr<Context>, StreamHandle, std::owner_less<>> handles;

    ThreadStreams() = default;
    ThreadStreams(const ThreadStreams&) = delete;
    ThreadStreams& operator=(const ThreadStreams&) = delete;
    ~ThreadStreams() {
        const Api* driver = try_api();
        for (const auto& [context, handle] : handles) {
            if (driver != nullptr && !context.expired()) driver->stream_destroy(handle);
        }
    }
};

}  // namespace

Context::Context(ContextHandle handle, int index, bool primary)
    : handle_(handle), index_(index), primary_(primary), properties_(device_properties(index)) {
    event_pool_ = std::make_unique<EventPool>(*this);
    device_pool_ = make_device_pool(*this);
    pinned_pool_ = make_pinned_pool(*this);
    decoder_use_ = std::make_unique<DecoderUse>(device());  // last: is_complete()
}

Context::~Context() {
    pinned_pool_.reset();
    device_pool_.reset();
    event_pool_.reset();
}

std::shared_ptr<Context> Context::primary(int index) {
    const auto& driver = api();  // none in a forked process
    auto& all = registry();
    std::lock_guard lock(all.mutex);
    const auto found = all.primaries.find(index);
    if (found != all.primaries.end()) return found->second;
    ContextHandle handle = nullptr;
    check(driver.primary_context_retain(&handle, device_handle(index)),
          "starting CUDA on cuda:" + std::to_string(index));
    const auto context = std::shared_ptr<Context>(new Context(handle, index, true));
    all.primaries.emplace(index, context);
    return context;
}

std::shared_ptr<Context> Context::borrow(ContextHandle handle) {
    TRICODEC_EXPECT(handle != nullptr, invalid_argument, "the CUDA context is null; pass 0 for the primary context");
    const auto& driver = api();  // none in a forked process
    auto& all = registry();
    {
        const std::lock_guard lock(all.mutex);
        for (const auto& [index, primary] : all.primaries) {
            if (primary->handle() == handle) return primary;
        }
    }
    int index = 0;
    {
        ContextScope scope(handle);
        check(driver.context_get_device(&index), "asking a context for its GPU");
    }
    if (auto own = primary(index); own->handle() == handle) return own;
    std::lock_guard lock(all.mutex);
    auto& slot = all.borrowed[handle];
    auto context = slot.lock();
    if (!context) {
        context = std::shared_ptr<Context>(new Context(handle, index, false));
        slot = context;
    }
    return context;
}

std::shared_ptr<Context> Context::of_caller(std::uintptr_t handle, Device device) {
    if (handle == 0) return primary(device.index);
    auto context = borrow(reinterpret_cast<ContextHandle>(handle));
    TRICODEC_EXPECT(context->device() == device, invalid_argument,
                    "the CUDA context belongs to " + context->device().to_string() + ", but the device is " +
                        device.to_string() + "; pass the context's device");
    return context;
}

std::shared_ptr<Context> Context::of(StreamView stream, int index) {
    if (stream.handle <= 2) return primary(index);
    ContextHandle handle = nullptr;
    check(api().stream_get_context(handle_of(stream), &handle), "asking a stream for its context");
    return borrow(handle);
}

const MemoryCounter& Context::device_memory_use() const noexcept {
    return device_pool_->use();
}

const MemoryCounter& Context::pinned_memory_use() const noexcept {
    return pinned_pool_->use();
}

StreamHandle Context::take_stream() noexcept {
    const std::lock_guard lock(streams_mutex_);
    if (streams_.empty()) return nullptr;
    const auto stream = streams_.front();  // the one that was kept first
    if (api().stream_query(stream) != kSuccess) return nullptr;
    streams_.pop_front();
    return stream;
}

bool Context::keep_stream(StreamHandle stream) noexcept {
    constexpr std::size_t kMostStreams = 64;
    const std::lock_guard lock(streams_mutex_);
    if (!primary_ || streams_.size() >= kMostStreams) return false;
    streams_.push_back(stream);
    return true;
}

Stream::Stream(std::shared_ptr<Context> context, bool is_kept) : context_(std::move(context)), is_kept_(is_kept) {
    ContextScope scope(*context_);
    if (is_kept_ && (handle_ = context_->take_stream()) != nullptr) return;
    check_memory(*context_, api().stream_create(&handle_, kStreamNonBlocking), "making a CUDA stream");
}

Stream::~Stream() {
    const Api* driver = try_api();
    if (driver != nullptr && !(is_kept_ && context_->keep_stream(handle_))) driver->stream_destroy(handle_);
}

void Stream::synchronize() const {
    ContextScope scope(*context_);
    check(api().stream_synchronize(handle_), "waiting for a CUDA stream");
}

StreamView thread_stream(const std::shared_ptr<Context>& context) {
    thread_local ThreadStreams streams;
    std::erase_if(streams.handles, [](const auto& entry) { return entry.first.expired(); });
    auto found = streams.handles.find(context);
    if (found == streams.handles.end()) {
        const ContextScope scope(*context);
        StreamHandle handle = nullptr;
        check_memory(*context, api().stream_create(&handle, kStreamNonBlocking), "making a CUDA stream");
        found = streams.handles.emplace(context, handle).first;
    }
    return {reinterpret_cast<std::uintptr_t>(found->second)};
}

}  // namespace tricodec::cuda
