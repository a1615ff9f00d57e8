// SPDX-License-Identifier: Apache-2.0
#include "tricodec/gpu_codec.h"

#include <utility>

#include "base/stage_scope.h"
#include "compress/container.h"
#include "compress/nvcomp/gpu_engine.h"
#include "compress/nvcomp/gpu_jobs.h"
#include "compress/nvcomp/gpu_streams.h"
#include "compress/nvcomp/library.h"
#include "tricodec/gpu.h"

namespace tricodec {

using namespace compress;

namespace {

DeviceBatchPlacer one_by_one(const DevicePlacer& place) {
    return [&place](std::span<const std::size_t> sizes) {
        std::vector<DeviceBytes> places;
        for (std::size_t i = 0; i < sizes.size(); ++i) places.push_back(place(i, sizes[i]));
        return places;
    };
}

}  // namespace

GpuCodec::GpuCodec(const CodecOptions& options, Device device, StagingAllocator staging)
    : engine_(std::make_shared<const nvcomp::Engine>(options, device, std::move(staging))) {}
GpuCodec::~GpuCodec() = default;

Device GpuCodec::device() const noexcept {
    return engine_->device();
}

std::size_t GpuCodec::max_compressed_bytes(std::size_t size_bytes) const {
    const ChunkOptions& options = engine_->chunk_options();
    expect_addressable(size_bytes);
    if (size_bytes == 0)
        return engine_->is_native() ? head_bytes(options.algorithm, 0) : engine_->empty_stream().size();
    if (!engine_->is_native()) return engine_->prefix_bytes() + engine_->bound(size_bytes);
    const std::size_t chunk_bytes = engine_->options().chunk_bytes;
    const std::uint64_t count = ceil_div(size_bytes, chunk_bytes);
    const std::size_t bound = engine_->bound(std::min(size_bytes, chunk_bytes));
    return head_bytes(options.algorithm, count) + count * align_up(bound, kChunkAlignment);
}

void GpuCodec::compress(std::span<const DeviceBytes> inputs, const DevicePlacer& place, StreamView stream) const {
    compress(inputs, one_by_one(place), stream);
}

void GpuCodec::decompress(std::span<const DeviceBytes> streams, const DevicePlacer& place, StreamView stream) const {
    decompress(streams, one_by_one(place), stream);
}

void GpuCodec::compress(std::span<const DeviceBytes> inputs, const DeviceBatchPlacer& place, StreamView stream) const {
    const StageScope scope(Stage::compress);
    nvcomp::CompressJob(engine_, inputs, stream).finish(place);
}

void GpuCodec::decompress(std::span<const DeviceBytes> streams, const DeviceBatchPlacer& place,
                          StreamView stream) const {
    const StageScope scope(Stage::decompress);
    nvcomp::DecompressJob(engine_, streams, place, stream).finish();
}

std::unique_ptr<GpuCompression> GpuCodec::start_compress(std::span<const DeviceBytes> inputs, StreamView stream) const {
    const StageScope scope(Stage::compress);
    return std::make_unique<nvcomp::CompressJob>(engine_, inputs, stream);
}

std::unique_ptr<GpuDecompression> GpuCodec::start_decompress(std::span<const DeviceBytes> streams,
                                                             const DeviceBatchPlacer& place, StreamView stream) const {
    const StageScope scope(Stage::decompress);
    return std::make_unique<nvcomp::DecompressJob>(engine_, streams, place, stream);
}

std::vector<std::size_t> GpuCodec::decompressed_sizes(std::span<const DeviceBytes> streams, StreamView stream) const {
    const auto context = cuda::Context::of(stream, engine_->device().index);
    const cuda::ContextScope scope(*context);
    nvcomp::DeviceQueue queue(context, stream, engine_->staging());
    std::vector<std::size_t> sizes;
    for (const nvcomp::Opened& opened : nvcomp::open(*engine_, streams, queue)) {
        sizes.push_back(opened.uncompressed_bytes);
    }
    return sizes;
}

std::string gpu_compression_unavailable_reason(int index) {
    std::string reason;
    if (compress::nvcomp::find_library(&reason) == nullptr) return "compression on a GPU needs nvCOMP, and " + reason;
    if (reason = compress::nvcomp::missing_gather_reason(); !reason.empty()) return reason;
    const std::vector<GpuInfo> found = gpus();
    if (found.empty()) return "there is no GPU here";
    if (index < 0 || static_cast<std::size_t>(index) >= found.size()) {
        return "there is no GPU " + std::to_string(index) + "; there are " + std::to_string(found.size());
    }
    return {};
}

}  // namespace tricodec
