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
constexpr std::int64_t kPartOfMemory = 16;  // of the GPU's: where decoders hold more, none is kept idle

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

/// Idle decoders, the longest idle first, that must go so that all decoders of the context and `more` have their part.
std::vector<std::unique_ptr<Session>> take_surplus(cuda::Context& context, std::size_t more) {
    const auto total = static_cast<std::int64_t>(context.properties().total_memory_bytes);
    const auto most = static_cast<std::size_t>(std::min(total / kPartOfMemory, limits().max_device_buffered_bytes));
    const auto& use = context.decoder_use().bytes;
    std::vector<std::unique_ptr<Session>> surplus;
    auto& all = cache();
    std::lock_guard lock(all.mutex);
    auto bytes = use.in_use_bytes() + use.idle_bytes() + more;
    for (auto it = all.idle.begin(); it != all.idle.end() && (bytes > most || all.idle.size() > kMostIdle);) {
        if (&(*it)->context() != &context) {
            ++it;
            continue;
        }
        bytes -= (*it)->memory_bytes();
        surplus.push_back(std::move(*it));
        it = all.idle.erase(it);
    }
    return surplus;
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
    take_surplus(*context, surface_bytes(geometry));
    for (const bool again : {false, true}) {
        try {
            return std::make_unique<Session>(context, geometry);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory) throw;
        }
        if (again) break;
        drop_idle_sessions();
        context->device_pool().trim();
    }
    cuda::fail_out_of_memory(*context, surface_bytes(geometry), decoder_words(geometry));
}

void release_session(std::unique_ptr<Session> session) noexcept {
    try {
        session->settle();
        auto& context = session->context();
        if (!context.is_primary()) return;  // its owner may destroy the context at any time
        session->set_idle(true);
        {
            auto& all = cache();
            std::lock_guard lock(all.mutex);
            all.idle.push_back(std::move(session));
        }
        take_surplus(context, 0);
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
