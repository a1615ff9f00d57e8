// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/stage_scope.h"
#include "compress/decoder.h"
#include "compress/encoder.h"
#include "compress/worker_pools.h"
#include "tricodec/compress.h"

namespace tricodec {

class Compressor::Impl {
public:
    explicit Impl(const CodecOptions& options) : pools(options) {}

    compress::WorkerPools pools;
    compress::Encoder encoder{pools};
    compress::Decoder decoder{pools};
};

BatchError::BatchError(const Error& error, const char* what, std::size_t index, std::size_t count)
    : Error(error.code(), count == 1 ? std::string(error.what())
                                     : std::string(what) + " " + std::to_string(index) + " of " +
                                           std::to_string(count) + ": " + error.what()),
      index_(index),
      reason_(error.what()) {}

Compressor::Compressor(const CodecOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Compressor::~Compressor() = default;

const CodecOptions& Compressor::options() const noexcept {
    return impl_->pools.options();
}
std::size_t Compressor::max_compressed_bytes(std::size_t size_bytes) const {
    return impl_->encoder.max_compressed_bytes(size_bytes);
}
void Compressor::compress(std::span<const ByteView> inputs, const Placer& place, const TaskRunner& runner) const {
    const auto place_all = [&](std::span<const std::size_t> sizes) {
        std::vector<std::span<std::byte>> places;
        for (std::size_t i = 0; i < sizes.size(); ++i) places.push_back(place(i, sizes[i]));
        return places;
    };
    compress(inputs, BatchPlacer(place_all), runner);
}
void Compressor::compress(std::span<const ByteView> inputs, const BatchPlacer& place, const TaskRunner& runner) const {
    const StageScope scope(Stage::compress);
    compress::Encoder::compress(impl_->encoder.jobs_of(inputs), place, runner);
}
void Compressor::compress_each(std::span<const Job> jobs, const BatchPlacer& place, const TaskRunner& runner) {
    const StageScope scope(Stage::compress);
    std::vector<compress::Encoder::Job> encoder_jobs;
    for (const Job& job : jobs) encoder_jobs.push_back({&job.codec->impl_->encoder, job.input});
    compress::Encoder::compress(encoder_jobs, place, runner);
}
std::vector<std::size_t> Compressor::compress_to(std::span<const ByteView> inputs,
                                                 std::span<const std::span<std::byte>> outputs,
                                                 const TaskRunner& runner) const {
    const StageScope scope(Stage::compress);
    return compress::Encoder::compress_to(impl_->encoder.jobs_of(inputs), outputs, runner);
}
std::vector<std::size_t> Compressor::decompressed_sizes(std::span<const ByteView> streams) const {
    return impl_->decoder.decompressed_sizes(streams);
}
void Compressor::decompress(std::span<const ByteView> streams, std::span<const std::span<std::byte>> outputs,
                            const TaskRunner& runner) const {
    const StageScope scope(Stage::decompress);
    impl_->decoder.decompress(streams, outputs, runner);
}
void Compressor::decompress_range(ByteView stream, std::uint64_t begin, std::uint64_t end, const Placer& place) const {
    const StageScope scope(Stage::decompress);
    impl_->decoder.decompress_range(stream, begin, end, place);
}
CompressedInfo Compressor::inspect(ByteView stream) const {
    return impl_->decoder.inspect(stream);
}

}  // namespace tricodec
