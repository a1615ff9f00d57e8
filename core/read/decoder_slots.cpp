// SPDX-License-Identifier: Apache-2.0
#include "read/decoder_slots.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/cuda/context.h"
#include "base/executor.h"
#include "base/never_destroyed.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

constexpr int kSlotsPerEngine = 2;  // Note [Decoder slots]
constexpr int kPartOfMemory = 8;    // of the GPU's, for frames decoded ahead: 17 GB, 5,600 frames of 1080p, on an H200

}  // namespace

DecoderSlots& DecoderSlots::of(Device device, int num_engines) {
    static NeverDestroyed<std::mutex> mutex;
    static NeverDestroyed<std::map<int, std::unique_ptr<DecoderSlots>>> all;
    std::lock_guard lock(*mutex);
    auto& slots = (*all)[device.index];
    if (!slots) {
        const auto total = cuda::Context::primary(device.index)->properties().total_memory_bytes;
        slots = std::make_unique<DecoderSlots>(kSlotsPerEngine * std::max(1, num_engines),
                                               static_cast<std::int64_t>(total / kPartOfMemory));
    }
    return *slots;
}

DecoderSlots::~DecoderSlots() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return num_taken_ == 0 && line_.empty(); });
}

void DecoderSlots::run(std::function<void()> work, Needed needed) {
    std::lock_guard lock(mutex_);
    line_.push_back({std::move(work), std::move(needed)});
    advance();
}

void DecoderSlots::pause() {
    std::lock_guard lock(mutex_);
    --num_taken_;
    advance();
    if (num_taken_ == 0) idle_.notify_all();  // with the mutex held: the destructor may wait for it
}

void DecoderSlots::resume() {
    std::lock_guard lock(mutex_);
    take();
}

void DecoderSlots::take() {
    most_at_once_ = std::max(most_at_once_.load(), ++num_taken_);
}

void DecoderSlots::advance() {
    while (num_taken_ < num_slots_ && !line_.empty()) {
        auto next = std::ranges::find_if(line_, [](const Waiting& waiting) { return waiting.needed(); });
        if (next == line_.end()) next = line_.begin();
        take();
        submit([this, work = std::move(next->work)] {
            work();
            pause();
        });
        line_.erase(next);
    }
}

int DecoderSlots::num_free() const {
    const std::lock_guard lock(mutex_);
    return std::max(1, num_slots_ - num_taken_ - static_cast<int>(line_.size()));
}

bool DecoderSlots::reserve(std::int64_t bytes) noexcept {
    const auto most_bytes = std::min(most_bytes_, limits().max_device_buffered_bytes);
    auto reserved = reserved_bytes_.load();
    do {
        if (reserved + bytes > most_bytes) return false;
    } while (!reserved_bytes_.compare_exchange_weak(reserved, reserved + bytes));
    return true;
}

}  // namespace tricodec
