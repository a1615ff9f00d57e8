// SPDX-License-Identifier: Apache-2.0
#include "video/engine_queue.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "base/cuda/context.h"
#include "base/executor.h"
#include "tricodec/limits.h"

namespace tricodec {
namespace {

constexpr int kTurnsPerEngine = 2;  // Note [Turns on the engines]
constexpr int kPartOfMemory = 8;    // of the GPU's, for frames decoded ahead: 17 GB, 5,600 frames of 1080p, on an H200

}  // namespace

EngineQueue& EngineQueue::of(Device device, int num_engines) {
    // Leaked on purpose: threads of the pool may still be at work when static objects are destroyed.
    static auto* mutex = new std::mutex;
    static auto* all = new std::map<int, std::unique_ptr<EngineQueue>>;
    std::lock_guard lock(*mutex);
    auto& queue = (*all)[device.index];
    if (!queue) {
        const auto total = cuda::Context::primary(device.index)->properties().total_memory_bytes;
        queue = std::make_unique<EngineQueue>(kTurnsPerEngine * std::max(1, num_engines),
                                              static_cast<std::int64_t>(total / kPartOfMemory));
    }
    return *queue;
}

EngineQueue::Ticket EngineQueue::add(std::function<void()> work, bool urgent) {
    return enqueue(std::move(work), nullptr, urgent);
}

EngineQueue::Ticket EngineQueue::enqueue(std::function<void()> work, bool* granted, bool urgent) {
    std::lock_guard lock(mutex_);
    const auto ticket = ++last_ticket_;
    (urgent ? urgent_ : others_).push_back({ticket, std::move(work), granted});
    advance();
    return ticket;
}

void EngineQueue::advance() {
    while (num_taken_ < num_turns_ && !(urgent_.empty() && others_.empty())) {
        auto& line = urgent_.empty() ? others_ : urgent_;
        auto entry = std::move(line.front());
        line.pop_front();
        ++num_taken_;
        most_at_once_ = std::max(most_at_once_.load(), num_taken_);
        if (entry.granted != nullptr) {
            *entry.granted = true;
            granted_.notify_all();
        } else {
            submit([this, work = std::move(entry.work)] {
                work();
                give_back();
            });
        }
    }
}

void EngineQueue::give_back() {
    std::lock_guard lock(mutex_);
    --num_taken_;
    advance();
}

void EngineQueue::hurry(Ticket ticket) {
    std::lock_guard lock(mutex_);
    const auto found = std::find_if(others_.begin(), others_.end(), [&](const auto& e) { return e.ticket == ticket; });
    if (found == others_.end()) return;
    urgent_.push_back(std::move(*found));
    others_.erase(found);
}

bool EngineQueue::withdraw(Ticket ticket) {
    std::lock_guard lock(mutex_);
    for (auto* line : {&urgent_, &others_}) {
        const auto found = std::find_if(line->begin(), line->end(), [&](const auto& e) { return e.ticket == ticket; });
        if (found == line->end()) continue;
        line->erase(found);
        return true;
    }
    return false;
}

void EngineQueue::pause() {
    give_back();
}

void EngineQueue::resume() {
    std::lock_guard lock(mutex_);
    ++num_taken_;
}

namespace {
int part_of(int num_turns, int num_reads) noexcept {
    return (num_turns + num_reads - 1) / num_reads;
}
}  // namespace

int EngineQueue::Read::num_threads(int most) const noexcept {
    return std::clamp(part_of(queue_.num_turns_, std::max(1, queue_.num_reads_by_threads_.load())), 1,
                      std::max(1, most));
}

int EngineQueue::turns_for_a_read() const noexcept {
    return part_of(num_turns_, num_reads_ + 1);
}

bool EngineQueue::reserve(std::int64_t bytes) noexcept {
    const auto most_bytes = std::min(most_bytes_, limits().max_device_buffered_bytes);
    auto reserved = reserved_bytes_.load();
    do {
        if (reserved + bytes > most_bytes) return false;
    } while (!reserved_bytes_.compare_exchange_weak(reserved, reserved + bytes));
    return true;
}

int decoders_for_even_turns(int most, std::int64_t num_groups, int num_engines) {
    int best = most;
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (int decoders = most; decoders >= std::min(most, num_engines); --decoders) {
        const auto left = num_groups % decoders;
        const auto time = num_groups / decoders * std::max(decoders, num_engines) +
                          (left > 0 ? std::max<std::int64_t>(left, num_engines) : 0);
        if (time >= shortest) continue;
        shortest = time;
        best = decoders;
    }
    return best;
}

EngineQueue::Turn::Turn(EngineQueue& queue) : queue_(queue) {
    bool granted = false;
    queue_.enqueue({}, &granted, true);
    std::unique_lock lock(queue_.mutex_);
    queue_.granted_.wait(lock, [&] { return granted; });
}

EngineQueue::Turn::~Turn() {
    queue_.give_back();
}

}  // namespace tricodec
