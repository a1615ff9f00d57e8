// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/thread_stream.h"

#include <map>

#include "base/cuda/memory_report.h"

namespace tricodec::cuda {
namespace {

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
