// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <utility>

#include "base/stage_scope.h"
#include "compress/cpu/host_engine.h"
#include "compress/nvcomp/gpu_engine.h"
#include "tricodec/compress/compress.h"

namespace tricodec {

BatchError::BatchError(const Error& error, const char* what, std::size_t index, std::size_t count)
    : Error(error.code(), count == 1 ? std::string(error.what())
                                     : std::string(what) + " " + std::to_string(index) + " of " +
                                           std::to_string(count) + ": " + error.what()),
      index_(index),
      reason_(error.what()) {}

namespace compress {
namespace {

std::shared_ptr<const Engine> make_engine(const CodecOptions& options, Device device, StagingAllocator staging) {
    if (device.kind == Device::Kind::cpu) return std::make_shared<const HostEngine>(options);
    return std::make_shared<const nvcomp::GpuEngine>(options, device, std::move(staging));
}

BatchPlacer one_by_one(const Placer& place) {
    return [&place](std::span<const std::size_t> sizes) {
        std::vector<MutableBytes> places;
        for (std::size_t i = 0; i < sizes.size(); ++i) places.push_back(place(i, sizes[i]));
        return places;
    };
}

std::int64_t count_of(const auto& arrays) noexcept {
    return static_cast<std::int64_t>(arrays.size());
}

std::vector<Engine::Job> jobs_of(const Engine& engine, std::span<const ByteView> inputs) {
    std::vector<Engine::Job> jobs;
    jobs.reserve(inputs.size());
    for (const ByteView input : inputs) jobs.push_back({&engine, input});
    return jobs;
}

}  // namespace

Codec::Codec(const CodecOptions& options, Device device, StagingAllocator staging)
    : engine_(make_engine(options, device, std::move(staging))) {}
Codec::~Codec() = default;

const CodecOptions& Codec::options() const noexcept {
    return engine_->options();
}
Device Codec::device() const noexcept {
    return engine_->device();
}
std::size_t Codec::max_compressed_bytes(std::size_t size_bytes) const {
    return engine_->max_compressed_bytes(size_bytes);
}

void Codec::compress(std::span<const ByteView> inputs, const Placer& place, const Execution& on) const {
    compress(inputs, one_by_one(place), on);
}
void Codec::compress(std::span<const ByteView> inputs, const BatchPlacer& place, const Execution& on) const {
    const StageScope scope(Stage::compress, count_of(inputs));
    engine_->compress_each(jobs_of(*engine_, inputs), place, on);
}
void Codec::compress_each(std::span<const Job> jobs, const BatchPlacer& place, const Execution& on) {
    const StageScope scope(Stage::compress, count_of(jobs));
    if (jobs.empty()) return static_cast<void>(place({}));
    std::vector<Engine::Job> engine_jobs;
    for (const Job& job : jobs) {
        TRICODEC_EXPECT(job.codec->device() == jobs.front().codec->device(), invalid_argument,
                        "the codecs of a batch are on " + jobs.front().codec->device().to_string() + " and " +
                            job.codec->device().to_string() + "; use codecs of one device");
        engine_jobs.push_back({job.codec->engine_.get(), job.input});
    }
    engine_jobs.front().engine->compress_each(engine_jobs, place, on);
}
std::vector<std::size_t> Codec::compress_to(std::span<const ByteView> inputs, std::span<const MutableBytes> outputs,
                                            const Execution& on) const {
    const StageScope scope(Stage::compress, count_of(inputs));
    TRICODEC_EXPECT(inputs.size() == outputs.size(), invalid_argument,
                    "there are " + std::to_string(inputs.size()) + " inputs and " + std::to_string(outputs.size()) +
                        " outputs; pass one output for each input");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::size_t bound = max_compressed_bytes(inputs[i].size());
        TRICODEC_EXPECT(outputs[i].size() >= bound, invalid_argument,
                        "output " + std::to_string(i) + " has " + std::to_string(outputs[i].size()) +
                            " bytes; it needs the " + std::to_string(bound) + " of max_compressed_bytes()");
    }
    return engine_->compress_to(jobs_of(*engine_, inputs), outputs, on);
}
std::unique_ptr<PendingCompression> Codec::start_compress(std::span<const ByteView> inputs, const Execution& on) const {
    const StageScope scope(Stage::compress, count_of(inputs));
    return engine_->start_compress(jobs_of(*engine_, inputs), on);
}

std::vector<std::size_t> Codec::decompressed_sizes(std::span<const ByteView> streams, const Execution& on) const {
    return engine_->decompressed_sizes(streams, on);
}
void Codec::decompress(std::span<const ByteView> streams, std::span<const MutableBytes> outputs,
                       const Execution& on) const {
    const StageScope scope(Stage::decompress, count_of(streams));
    TRICODEC_EXPECT(streams.size() == outputs.size(), invalid_argument,
                    "there are " + std::to_string(streams.size()) + " streams and " + std::to_string(outputs.size()) +
                        " outputs; pass one output for each stream");
    std::vector<std::size_t> sizes;
    for (const MutableBytes output : outputs) sizes.push_back(output.size());
    const auto place = [&](std::span<const std::size_t>) {
        return std::vector<MutableBytes>(outputs.begin(), outputs.end());
    };
    engine_->start_decompress(streams, place, on, sizes)->finish();
}
void Codec::decompress(std::span<const ByteView> streams, const BatchPlacer& place, const Execution& on) const {
    const StageScope scope(Stage::decompress, count_of(streams));
    engine_->start_decompress(streams, place, on, {})->finish();
}
void Codec::decompress(std::span<const ByteView> streams, const Placer& place, const Execution& on) const {
    decompress(streams, one_by_one(place), on);
}
std::unique_ptr<PendingDecompression> Codec::start_decompress(std::span<const ByteView> streams,
                                                              const BatchPlacer& place, const Execution& on,
                                                              std::span<const std::size_t> sizes) const {
    const StageScope scope(Stage::decompress, count_of(streams));
    TRICODEC_EXPECT(sizes.empty() || sizes.size() == streams.size(), invalid_argument,
                    "there are " + std::to_string(streams.size()) + " streams and " + std::to_string(sizes.size()) +
                        " sizes; pass one size for each stream");
    return engine_->start_decompress(streams, place, on, sizes);
}
void Codec::decompress_range(ByteView stream, std::uint64_t begin, std::uint64_t end, const Placer& place) const {
    const StageScope scope(Stage::decompress, 1);
    engine_->host().decompress_range(stream, begin, end, place);
}
CompressedInfo Codec::inspect(ByteView stream) const {
    return engine_->host().inspect(stream);
}

}  // namespace compress
}  // namespace tricodec
