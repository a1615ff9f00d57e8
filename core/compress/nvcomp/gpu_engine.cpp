// SPDX-License-Identifier: Apache-2.0
#include "compress/nvcomp/gpu_engine.h"

#include <algorithm>
#include <utility>

#include "compress/nvcomp/library.h"
#include "compress/worker_pools.h"
#include "tricodec/base/error.h"

namespace tricodec::compress::nvcomp {
namespace {

constexpr std::size_t kKeptAnswers = 256;  // most batches have one of few sizes

}  // namespace

GpuEngine::GpuEngine(const CodecOptions& options, Device device, StagingAllocator staging)
    : options_(options), device_(device), staging_(std::move(staging)) {
    const std::string reason = compression_unavailable_reason(device);
    TRICODEC_EXPECT(reason.empty(), unsupported, reason);
    TRICODEC_EXPECT(options.checksums == ChecksumPolicy::no_compute_no_verify, unsupported,
                    "checksums are computed and verified on the CPU; use NO_COMPUTE_NO_VERIFY on a GPU");
    if (options.algorithm) {
        chunk_options_ = resolve_options(options, *options.algorithm);
        if (options.algorithm == Compression::ans) chunk_options_.release = find_library()->version / 1000;
        static_cast<void>(api(chunk_options_));
    }
    TRICODEC_EXPECT(options.algorithm || options.bitstream == BitstreamKind::native, invalid_argument,
                    "bitstream_kind RAW and WITH_UNCOMPRESSED_SIZE do not contain the algorithm; pass algorithm");
}

const ChunkOptions& GpuEngine::chunk_options() const {
    TRICODEC_EXPECT(options_.algorithm.has_value(), invalid_argument,
                    "this codec has no algorithm, so it can only decode; pass algorithm");
    return chunk_options_;
}

const BatchApi& GpuEngine::api(const ChunkOptions& options) const {
    const std::lock_guard lock(mutex_);
    auto found = apis_.find(options);
    if (found == apis_.end()) {
        found = apis_.emplace(options, load_batch_api(options, options_.decompress_backend)).first;
    }
    return found->second;
}

std::size_t GpuEngine::prefix_bytes() const {
    return compress::prefix_bytes(chunk_options().algorithm, options_.bitstream);
}

std::size_t GpuEngine::bound(std::size_t size_bytes) const {
    const BatchApi& functions = api(chunk_options());
    std::size_t bytes = 0;
    check_status(functions.compress_bound(size_bytes, functions.compress_options, &bytes),
                 "asking for the largest chunk");
    return bytes;
}

const HostEngine& GpuEngine::host() const {
    const std::lock_guard lock(mutex_);
    if (!host_) host_ = std::make_unique<HostEngine>(options_);
    return *host_;
}

bool GpuEngine::makes_empty_streams() const {
    const Compression algorithm = chunk_options().algorithm;
    return algorithm == Compression::ans || compression_unavailable_reason(algorithm).empty();
}

std::vector<std::byte> GpuEngine::empty_stream() const {
    // ANS is for GPUs only. Its stream of an empty array has no bytes, after the size if there is one.
    if (chunk_options().algorithm == Compression::ans) return std::vector<std::byte>(prefix_bytes());
    TRICODEC_EXPECT(
        makes_empty_streams(), unsupported,
        "a GPU cannot compress an empty array: " + compression_unavailable_reason(chunk_options().algorithm));
    const HostEngine& engine = host();
    const Job nothing{&engine, {}};
    std::vector<std::byte> stream(engine.max_compressed_bytes(0));
    const MutableBytes room(stream);
    stream.resize(engine.compress_to({&nothing, 1}, {&room, 1}, {}).front());
    return stream;
}

std::size_t GpuEngine::compress_scratch(std::size_t count, std::size_t largest) const {
    const BatchApi& functions = api(chunk_options());
    return scratch(functions.compress_temp, functions.compress_options, count, largest);
}

std::size_t GpuEngine::decompress_scratch(const ChunkOptions& options, std::size_t count, std::size_t largest) const {
    const BatchApi& functions = api(options);
    return scratch(functions.decompress_temp, functions.decompress_options, count, largest);
}

std::size_t GpuEngine::scratch(const ScratchFunction& function, const BatchOptions& options, std::size_t count,
                               std::size_t largest) const {
    const ScratchQuestion question{&options, count, largest};
    const std::lock_guard lock(mutex_);
    if (const auto found = scratch_.find(question); found != scratch_.end()) return found->second;
    std::size_t bytes = 0;
    check_status(function(count, largest, options, &bytes, count * largest), "asking for scratch memory");
    if (scratch_.size() >= kKeptAnswers) scratch_.clear();
    scratch_.emplace(question, bytes);
    return bytes;
}

std::size_t GpuEngine::max_compressed_bytes(std::size_t size_bytes) const {
    expect_addressable(size_bytes);
    if (size_bytes == 0) return is_native() ? head_bytes(chunk_options(), 0) : empty_stream().size();
    if (!is_native()) return prefix_bytes() + bound(size_bytes);
    const std::uint64_t count = ceil_div(size_bytes, options_.chunk_bytes);
    const std::size_t largest = bound(std::min(size_bytes, options_.chunk_bytes));
    return head_bytes(chunk_options(), count) + count * align_up(largest, chunk_alignment(chunk_options()));
}

std::vector<std::size_t> GpuEngine::compress_to(std::span<const Job> jobs, std::span<const MutableBytes> outputs,
                                                const Execution& on) const {
    std::vector<std::size_t> results;
    start_compress(jobs, on)->finish([&](std::span<const std::size_t> sizes) {
        results.assign(sizes.begin(), sizes.end());
        std::vector<MutableBytes> places;
        for (std::size_t i = 0; i < sizes.size(); ++i) places.push_back(outputs[i].first(sizes[i]));
        return places;
    });
    return results;
}

std::size_t batch_size(std::size_t count, const std::function<std::size_t(std::size_t)>& budget,
                       const std::function<std::size_t(std::size_t)>& need) {
    std::size_t step = std::max<std::size_t>(1, count);
    if (step == 1) return step;
    const std::size_t whole = need(step);
    if (whole <= kLeastBudget) return step;
    const std::size_t most = budget(whole);
    while (step > 1 && need(step) > most) step = (step + 1) / 2;
    return step;
}

}  // namespace tricodec::compress::nvcomp
