// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/memory_report.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/never_destroyed.h"
#include "tricodec/base/error.h"

namespace tricodec::cuda {
namespace {

constexpr std::size_t kMiB = 1 << 20;

struct User {
    std::size_t size_bytes;
    std::string name;
    std::string_view remedy;
};

constexpr std::string_view kFewerFrames = "hold fewer frames, or ask for smaller batches";
constexpr std::string_view kFewerDecoders = "read fewer files at once, or with a smaller num_workers";
constexpr std::string_view kOthers = "free what other libraries cache, or what other programs hold";
constexpr std::string_view kNothing = "ask for less";

std::string counted(int count, std::string_view state) {
    return std::to_string(count) + " NVDEC decoder" + (count == 1 ? " " : "s ") + std::string(state);
}

/// What was asked, what is free, what holds the rest, and what helps.
std::string report(std::size_t asked_bytes, std::string_view for_what, std::size_t free_bytes, std::size_t total_bytes,
                   std::vector<User> users) {
    std::string text = asked_bytes == 0 ? std::string(for_what) + " needs more"
                                        : mebibytes(asked_bytes) + " were asked for (" + std::string(for_what) + ")";
    if (total_bytes != 0) text += ", " + mebibytes(free_bytes) + " of " + mebibytes(total_bytes) + " are free";
    std::erase_if(users, [](const User& user) { return user.size_bytes == 0; });
    std::stable_sort(users.begin(), users.end(), [](auto& a, auto& b) { return a.size_bytes > b.size_bytes; });
    for (std::size_t i = 0; i < users.size(); ++i) {
        text += (i == 0 ? "; the largest users: " : ", ") + users[i].name + " " + mebibytes(users[i].size_bytes);
    }
    return text + "; " + std::string(users.empty() ? kNothing : users.front().remedy);
}

std::vector<User> users_of(Context& context) {
    if (!context.is_complete()) return {};
    const MemoryCounter& pool = context.device_memory_use();
    const DecoderUse& decoders = context.decoder_use();
    return {{pool.in_use_bytes(), "frames and tensors", kFewerFrames},
            {pool.idle_bytes(), "memory kept for the next frames", kFewerFrames},
            {decoders.bytes.in_use_bytes(), counted(decoders.num_working, "at work"), kFewerDecoders},
            {decoders.bytes.idle_bytes(), counted(decoders.num_idle, "kept for the next stream"), kFewerDecoders}};
}

struct Reclaimers {
    std::mutex mutex;
    std::vector<Reclaimer> all;
};

Reclaimers& reclaimers() {
    static NeverDestroyed<Reclaimers> instance;
    return *instance;
}

}  // namespace

std::string mebibytes(std::size_t size_bytes) {
    return std::to_string((size_bytes + kMiB - 1) / kMiB) + " MiB";
}

DecoderMemory::DecoderMemory(std::shared_ptr<Context> context, std::size_t size_bytes)
    : context_(std::move(context)), size_bytes_(size_bytes) {
    DecoderUse& use = context_->decoder_use();
    use.bytes.add(MemoryAction::allocate, size_bytes_);
    ++use.num_working;
}

DecoderMemory::~DecoderMemory() {
    set_idle(true);
    DecoderUse& use = context_->decoder_use();
    use.bytes.add(MemoryAction::free, size_bytes_);
    --use.num_idle;
}

void DecoderMemory::set_idle(bool idle) noexcept {
    if (std::exchange(idle_, idle) == idle) return;
    DecoderUse& use = context_->decoder_use();
    use.bytes.add(idle ? MemoryAction::release : MemoryAction::reuse, size_bytes_);
    use.num_idle += idle ? 1 : -1;
    use.num_working += idle ? -1 : 1;
}

void add_reclaimer(Reclaimer reclaimer) {
    auto& known = reclaimers();
    const std::lock_guard lock(known.mutex);
    known.all.push_back(reclaimer);
}

void reclaim_memory() noexcept {
    std::vector<Reclaimer> all;
    {
        auto& known = reclaimers();
        const std::lock_guard lock(known.mutex);
        all = known.all;
    }
    for (const Reclaimer reclaimer : all) reclaimer();
}

void fail_out_of_memory(Context& context, std::size_t asked_bytes, std::string_view for_what) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    {
        const ContextScope scope(context);
        if (api().memory_get_info(&free_bytes, &total_bytes) != kSuccess) total_bytes = 0;
    }
    auto users = users_of(context);
    std::size_t known_bytes = free_bytes;
    for (const auto& user : users) known_bytes += user.size_bytes;
    const std::size_t others = total_bytes > known_bytes ? total_bytes - known_bytes : 0;
    users.push_back({others, "other libraries and programs and CUDA itself", kOthers});
    tricodec::fail(ErrorCode::out_of_memory,
                   context.device().to_string() + " is out of memory: " +
                       report(asked_bytes, for_what, free_bytes, total_bytes, std::move(users)));
}

void check_memory(Context& context, Result result, std::string_view what) {
    if (result == kOutOfMemory) fail_out_of_memory(context, 0, what);
    check(result, what);
}

void fail_out_of_pinned_memory(Context& context, std::size_t asked_bytes) {
    const MemoryCounter& pool = context.pinned_memory_use();
    const auto page = static_cast<std::size_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
    const auto free_bytes = static_cast<std::size_t>(std::max(0L, sysconf(_SC_AVPHYS_PAGES))) * page;
    const auto total_bytes = static_cast<std::size_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) * page;
    tricodec::fail(ErrorCode::out_of_memory,
                   "host memory could not be locked for " + context.device().to_string() + ": " +
                       report(asked_bytes, "page-locked host memory", free_bytes, total_bytes,
                              {{pool.in_use_bytes(), "locked results that are held", "hold fewer pinned results"},
                               {pool.idle_bytes(), "locked memory kept for the next ones", kNothing}}) +
                       ", or do without pinned=True");
}

}  // namespace tricodec::cuda
