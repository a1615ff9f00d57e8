// SPDX-License-Identifier: Apache-2.0
/// What the library's functions are told of a batch, and what they tell of it: one copy to the GPU, one back.
#pragma once

#include <cstddef>

#include "compress/nvcomp/batch_api.h"
#include "compress/nvcomp/device_queue.h"

namespace tricodec::compress::nvcomp {

/// Where each chunk is and where it goes: four arrays behind each other.
class ChunkTable {
public:
    ChunkTable(std::size_t count, DeviceQueue& queue)
        : count_(count), queue_(queue), words_(queue.stage<std::size_t>(4 * count)) {}

    void set(std::size_t index, const std::byte* input, std::size_t input_size, std::byte* output, std::size_t room) {
        words_.host[index] = reinterpret_cast<std::size_t>(input);
        words_.host[count_ + index] = input_size;
        words_.host[2 * count_ + index] = reinterpret_cast<std::size_t>(output);
        words_.host[3 * count_ + index] = room;
    }
    void send() { queue_.send(words_); }

    [[nodiscard]] const void* const* inputs() const { return reinterpret_cast<const void* const*>(words_.device); }
    [[nodiscard]] const std::size_t* input_sizes() const { return words_.device + count_; }
    [[nodiscard]] void* const* outputs() const { return reinterpret_cast<void* const*>(words_.device + 2 * count_); }
    [[nodiscard]] const std::size_t* rooms() const { return words_.device + 3 * count_; }

private:
    std::size_t count_;
    DeviceQueue& queue_;
    Staged<std::size_t> words_;
};

/// Sizes and statuses of the chunks' results.
class ChunkResults {
public:
    ChunkResults(std::size_t count, DeviceQueue& queue)
        : count_(count), queue_(&queue), words_(queue.stage<std::size_t>(count + (count + 1) / 2)) {
        queue.clear(words_);
    }

    [[nodiscard]] std::size_t* device_sizes() const { return words_.device; }
    [[nodiscard]] Status* device_statuses() const { return reinterpret_cast<Status*>(words_.device + count_); }
    /// Starts the copy to the host; what follows is known once it is done.
    void fetch() { queue_->fetch(words_); }
    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] std::size_t size(std::size_t index) const { return words_.host[index]; }
    [[nodiscard]] Status status(std::size_t index) const {
        return reinterpret_cast<const Status*>(words_.host + count_)[index];
    }

private:
    std::size_t count_;
    DeviceQueue* queue_;
    Staged<std::size_t> words_;
};

}  // namespace tricodec::compress::nvcomp
