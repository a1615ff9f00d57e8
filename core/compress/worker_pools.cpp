// SPDX-License-Identifier: Apache-2.0
#include "compress/worker_pools.h"

#include <array>
#include <string>

#include "tricodec/base/error.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec::compress {

std::unique_ptr<ChunkWorker> WorkerPool::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            auto worker = std::move(idle_.back());
            idle_.pop_back();
            return worker;
        }
    }
    return codec_->make_worker();
}

void WorkerPool::give_back(std::unique_ptr<ChunkWorker> worker) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(worker));
    } catch (...) {
        // No memory to keep it: the worker is destroyed.
    }
}

bool computes(ChecksumPolicy policy) noexcept {
    return policy == ChecksumPolicy::compute_no_verify || policy == ChecksumPolicy::compute_verify_if_present ||
           policy == ChecksumPolicy::compute_verify;
}

bool verifies(ChecksumPolicy policy) noexcept {
    return policy != ChecksumPolicy::no_compute_no_verify && policy != ChecksumPolicy::compute_no_verify;
}

std::size_t prefix_bytes(Compression algorithm, BitstreamKind bitstream) noexcept {
    if (bitstream != BitstreamKind::with_uncompressed_size) return 0;
    return algorithm == Compression::lz4 ? 4 : 8;
}

WorkerPools::WorkerPools(const CodecOptions& options) : options_(options) {
    if (options.num_threads == 0) options_.num_threads = available_cores();
    TRICODEC_EXPECT(options_.num_threads > 0, invalid_argument,
                    "num_threads is " + std::to_string(options.num_threads) +
                        "; it must be positive, or 0 for as many as there are cores");
    TRICODEC_EXPECT(
        options.bitstream == BitstreamKind::native || options.checksums == ChecksumPolicy::no_compute_no_verify,
        invalid_argument,
        "Only ChecksumPolicy::NoComputeNoVerify is allowed when using bitstream kind different than NVCOMP_NATIVE : "
        "code=11.");
    if (options.algorithm) {
        chunk_options_ = resolve_options(options, *options.algorithm);
        static_cast<void>(of(chunk_options_));
    } else {
        TRICODEC_EXPECT(options.bitstream == BitstreamKind::native, invalid_argument,
                        "bitstream_kind RAW and WITH_UNCOMPRESSED_SIZE do not contain the algorithm; pass algorithm");
    }
}

WorkerPool& WorkerPools::encoder() {
    TRICODEC_EXPECT(options_.algorithm.has_value(), invalid_argument,
                    "this codec has no algorithm, so it can only decode; pass algorithm");
    return of(chunk_options_);
}

WorkerPools::Kind WorkerPools::kind_of(const ChunkOptions& options) {
    const bool shuffled = options.bit_shuffle != BitShuffle::none;
    return {options.algorithm, options.bit_shuffle, shuffled ? size_of(options.element_type) : 0};
}

WorkerPool& WorkerPools::of(const ChunkOptions& stream) {
    TRICODEC_EXPECT(stream.algorithm != Compression::cascaded || stream.release == 5, unsupported,
                    "the stream is Cascaded of nvCOMP 6, which is not public; only libnvcomp 6 on a GPU reads it, by a "
                    "codec without algorithm");
    const Kind kind = kind_of(stream);
    const std::lock_guard lock(mutex_);
    auto& pool = pools_[kind];
    if (!pool) {
        ChunkOptions options = chunk_options_;
        if (!options_.algorithm || kind != kind_of(chunk_options_)) {
            options = {};
            options.algorithm = stream.algorithm;
            options.element_type = stream.element_type;
            options.bit_shuffle = stream.bit_shuffle;
            options.trusted = options_.trusted;
        }
        pool = std::make_unique<WorkerPool>(make_chunk_codec(options));
    }
    return *pool;
}

std::unique_ptr<ChunkCodec> make_chunk_codec(const ChunkOptions& options) {
    using Make = std::unique_ptr<ChunkCodec> (*)(const ChunkOptions&);
    constexpr std::array<Make, kNumCompressions> kMakers = {// in the order of Compression; the CPU has no ANS
                                                            make_lz4,      make_snappy,   nullptr,
                                                            make_gdeflate, make_cascaded, make_bitcomp,
                                                            make_zstd,     make_deflate,  make_deflate};
    const Make make = kMakers[static_cast<std::size_t>(options.algorithm)];
    auto codec = make != nullptr ? make(options) : nullptr;
    TRICODEC_EXPECT(codec != nullptr, unsupported, compression_unavailable_reason(options.algorithm));
    return codec;
}

}  // namespace tricodec::compress
