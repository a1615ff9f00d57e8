// SPDX-License-Identifier: Apache-2.0
#include "compress/nvcomp/gpu_engine.h"

#include <algorithm>
#include <utility>

#include "compress/worker_pools.h"
#include "tricodec/error.h"

namespace tricodec::compress::nvcomp {
namespace {

constexpr std::size_t kKeptAnswers = 256;  // batches mostly come in few sizes

}  // namespace

Engine::Engine(const CodecOptions& options, Device device, StagingAllocator staging)
    : options_(options), device_(device), staging_(std::move(staging)) {
    const std::string reason = gpu_compression_unavailable_reason(device.index);
    TRICODEC_EXPECT(reason.empty(), unsupported, reason);
    TRICODEC_EXPECT(options.checksums == ChecksumPolicy::no_compute_no_verify, unsupported,
                    "checksums are computed and verified on the CPU; use NO_COMPUTE_NO_VERIFY on a GPU");
    if (options.algorithm) {
        chunk_options_ = resolve_options(options, *options.algorithm);
        static_cast<void>(api(chunk_options_));
        // What GPUs do not take, chunks of no bytes, is done on the CPU.
        if (compression_unavailable_reason(*options.algorithm).empty()) host_ = std::make_unique<Compressor>(options);
    }
    TRICODEC_EXPECT(options.algorithm || options.bitstream == BitstreamKind::native, invalid_argument,
                    "bitstream_kind RAW and WITH_UNCOMPRESSED_SIZE do not tell the algorithm; name it");
}

const ChunkOptions& Engine::chunk_options() const {
    TRICODEC_EXPECT(options_.algorithm.has_value(), invalid_argument,
                    "this codec has no algorithm, which is enough for decoding only; name one");
    return chunk_options_;
}

const BatchApi& Engine::api(const ChunkOptions& options) const {
    const std::lock_guard lock(mutex_);
    auto found = apis_.find(options);
    if (found == apis_.end()) {
        found = apis_.emplace(options, load_batch_api(options, options_.decompress_backend)).first;
    }
    return found->second;
}

std::size_t Engine::prefix_bytes() const {
    return compress::prefix_bytes(chunk_options().algorithm, options_.bitstream);
}

std::size_t Engine::bound(std::size_t size_bytes) const {
    const BatchApi& functions = api(chunk_options());
    std::size_t bytes = 0;
    check_status(functions.compress_bound(size_bytes, functions.compress_options, &bytes),
                 "asking for the largest chunk");
    return bytes;
}

std::vector<std::byte> Engine::empty_stream() const {
    // ANS, which only GPUs do, has no stream of nothing but nothing itself, behind its size if that is asked for.
    if (chunk_options().algorithm == Compression::ans) return std::vector<std::byte>(prefix_bytes());
    TRICODEC_EXPECT(host_ != nullptr, unsupported,
                    "an empty array is done on the CPU: " + compression_unavailable_reason(chunk_options().algorithm));
    std::vector<std::byte> stream;
    const ByteView nothing;
    host_->compress({&nothing, 1}, [&](std::size_t, std::size_t size) {
        stream.resize(size);
        return std::span<std::byte>(stream);
    });
    return stream;
}

std::size_t Engine::compress_scratch(std::size_t count, std::size_t largest) const {
    const BatchApi& functions = api(chunk_options());
    return scratch(functions.compress_temp, functions.compress_options, count, largest);
}

std::size_t Engine::decompress_scratch(const ChunkOptions& options, std::size_t count, std::size_t largest) const {
    const BatchApi& functions = api(options);
    return scratch(functions.decompress_temp, functions.decompress_options, count, largest);
}

std::size_t Engine::scratch(decltype(BatchApi::compress_temp) function, const BatchOptions& options, std::size_t count,
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
