// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/cuda/memory.h"
#include "base/cuda/memory_report.h"
#include "base/never_destroyed.h"
#include "decode/nvdec/session.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/log.h"

namespace tricodec::nvdec {
namespace {

constexpr std::size_t kMostIdle = 64;
constexpr std::int64_t kPartOfMemory = 16;  // of the GPU's that idle decoders may hold

struct Cache {
    std::mutex mutex;
    std::vector<std::unique_ptr<Session>> idle;  // the longest idle first

    Cache() { cuda::add_reclaimer(drop_idle_sessions); }
};

Cache& cache() {
    static NeverDestroyed<Cache> all;
    return *all;
}

std::int64_t waste(const Session& session, const Geometry& want) {
    const auto& have = session.geometry();
    if (have.coded_width == want.coded_width && have.coded_height == want.coded_height) return session.num_surfaces();
    // Any other size costs a reconfiguration; the smallest that fits leaves the large ones for large videos.
    return (std::int64_t{1} << 32) + std::int64_t{have.coded_width} * have.coded_height * session.num_surfaces();
}

std::unique_ptr<Session> take_idle(const cuda::Context& context, const Geometry& geometry) {
    auto& all = cache();
    std::lock_guard lock(all.mutex);
    auto best = all.idle.end();
    for (auto it = all.idle.begin(); it != all.idle.end(); ++it) {
        if (!(*it)->fits(context, geometry)) continue;
        if (best == all.idle.end() || waste(**it, geometry) < waste(**best, geometry)) best = it;
    }
    if (best == all.idle.end()) return nullptr;
    auto session = std::move(*best);
    all.idle.erase(best);
    return session;
}

}  // namespace

std::unique_ptr<Session> acquire_session(const std::shared_ptr<cuda::Context>& context, const Geometry& geometry) {
    if (auto session = take_idle(*context, geometry)) {
        session->set_idle(false);
        try {
            session->reconfigure(geometry);
            return session;
        } catch (const Error& error) {
            log(LogLevel::info, std::string("an idle decoder is not reused: ") + error.what());
        }
    }
    try {
        return std::make_unique<Session>(context, geometry);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
    }
    drop_idle_sessions();
    context->device_pool().trim();
    try {
        return std::make_unique<Session>(context, geometry);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
    }
    cuda::fail_out_of_memory(*context, surface_bytes(geometry), decoder_words(geometry));
}

void release_session(std::unique_ptr<Session> session) noexcept {
    std::vector<std::unique_ptr<Session>> surplus;  // destroyed outside the lock
    try {
        session->settle();
        if (!session->context().is_primary()) return;  // its owner may destroy the context at any time
        session->set_idle(true);
        auto& all = cache();
        std::lock_guard lock(all.mutex);
        const auto total = static_cast<std::int64_t>(session->context().properties().total_memory_bytes);
        const auto most_bytes = std::min(total / kPartOfMemory, limits().max_device_buffered_bytes);
        std::int64_t bytes = 0;
        all.idle.push_back(std::move(session));
        for (const auto& idle : all.idle) bytes += static_cast<std::int64_t>(idle->memory_bytes());
        while (all.idle.size() > kMostIdle || (bytes > most_bytes && !all.idle.empty())) {
            bytes -= static_cast<std::int64_t>(all.idle.front()->memory_bytes());
            surplus.push_back(std::move(all.idle.front()));
            all.idle.erase(all.idle.begin());
        }
    } catch (const std::exception& error) {
        log(LogLevel::info, std::string("a decoder is not kept for reuse: ") + error.what());
    }
}

void drop_idle_sessions() noexcept {
    std::vector<std::unique_ptr<Session>> idle;
    auto& all = cache();
    std::lock_guard lock(all.mutex);
    idle.swap(all.idle);
}

int num_idle_sessions() noexcept {
    auto& all = cache();
    std::lock_guard lock(all.mutex);
    return static_cast<int>(all.idle.size());
}

}  // namespace tricodec::nvdec
