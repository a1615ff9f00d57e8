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

constexpr int kTurnsPerEngine = 2;          // Note [Turns on the engines]
constexpr std::int64_t kPacketsKept = 256;  // Note [Turns that are kept]
constexpr int kPartOfMemory = 8;  // of the GPU's, for frames decoded ahead: 17 GB, 5,600 frames of 1080p, on an H200

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

int EngineQueue::num_engines() const noexcept {
    return num_turns_ / kTurnsPerEngine;
}

EngineQueue::Ticket EngineQueue::add(std::function<void()> work, const Share& share, Urgency urgency) {
    return enqueue({0, std::move(work), nullptr, share, urgency});
}

EngineQueue::Ticket EngineQueue::enqueue(Entry entry) {
    std::lock_guard lock(mutex_);
    const auto ticket = entry.ticket = ++last_ticket_;
    (entry.urgency == Urgency::ahead ? others_ : urgent_).push_back(std::move(entry));
    advance();
    return ticket;
}

void EngineQueue::take(const Share& share) {
    ++num_taken_;
    if ((*share)++ == 0) ++num_reads_at_work_;
}

std::optional<EngineQueue::Entry> EngineQueue::take_first() {
    auto& line = urgent_.empty() ? others_ : urgent_;
    auto found = line.begin();
    if (urgent_.empty() && num_reads_at_work_ > num_engines()) {
        found = std::find_if(line.begin(), line.end(), [](const auto& entry) { return *entry.share == 0; });
    }
    if (found == line.end()) return std::nullopt;
    auto entry = std::move(*found);
    line.erase(found);
    return entry;
}

void EngineQueue::advance() {
    while (num_taken_ < num_turns_) {
        auto entry = take_first();
        if (!entry) return;
        take(entry->share);
        most_at_once_ = std::max(most_at_once_.load(), num_taken_);
        if (entry->granted != nullptr) {
            *entry->granted = true;
            granted_.notify_all();
        } else {
            submit([this, work = std::move(entry->work), share = std::move(entry->share)] {
                work();
                give_back(share);
            });
        }
    }
}

void EngineQueue::give_back(const Share& share) {
    std::lock_guard lock(mutex_);
    --num_taken_;
    if (--*share == 0) --num_reads_at_work_;
    advance();
}

bool EngineQueue::go_on(Ticket ticket, std::int64_t num_packets_so_far) {
    std::lock_guard lock(mutex_);
    const bool somebody_begins =
        std::any_of(urgent_.begin(), urgent_.end(), [](const auto& entry) { return entry.urgency == Urgency::first; });
    if (somebody_begins || (num_packets_so_far >= kPacketsKept && !urgent_.empty())) return false;
    return ticket == 0 || take_out(ticket);
}

void EngineQueue::hurry(Ticket ticket) {
    std::lock_guard lock(mutex_);
    const auto found = std::find_if(others_.begin(), others_.end(), [&](const auto& e) { return e.ticket == ticket; });
    if (found == others_.end()) return;
    found->urgency = Urgency::next;
    urgent_.push_back(std::move(*found));
    others_.erase(found);
    advance();
}

bool EngineQueue::withdraw(Ticket ticket) {
    std::lock_guard lock(mutex_);
    return take_out(ticket);
}

bool EngineQueue::take_out(Ticket ticket) {
    for (auto* line : {&urgent_, &others_}) {
        const auto found = std::find_if(line->begin(), line->end(), [&](const auto& e) { return e.ticket == ticket; });
        if (found == line->end()) continue;
        line->erase(found);
        return true;
    }
    return false;
}

void EngineQueue::pause(const Share& share) {
    give_back(share);
}

void EngineQueue::resume(const Share& share) {
    std::lock_guard lock(mutex_);
    take(share);
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

EngineQueue::Turn::Turn(EngineQueue& queue, Share share) : queue_(queue), share_(std::move(share)) {
    bool granted = false;
    queue_.enqueue({0, {}, &granted, share_, Urgency::first});
    std::unique_lock lock(queue_.mutex_);
    queue_.granted_.wait(lock, [&] { return granted; });
}

EngineQueue::Turn::~Turn() {
    queue_.give_back(share_);
}

}  // namespace tricodec
