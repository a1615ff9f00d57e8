// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "compress/nvcomp/gpu_jobs.h"
#include "tricodec/error.h"

namespace tricodec::compress::nvcomp {
namespace {

using Groups = std::map<ChunkOptions, std::vector<Chunk>, OptionsOrder>;

/// Chunks by algorithm, and the copies that bring them to where the kernels can read and write them.
struct Plan {
    Groups groups;
    std::vector<GatherCopy> copies_in;
    std::vector<GatherCopy> copies_out;

    void add(std::size_t item, const Opened& opened, const DeviceBytes& stream, const DeviceBytes& output,
             DeviceQueue& queue) {
        const std::byte* base = stream.data;
        if (address(base) % kChunkAlignment != 0) {
            std::byte* copy = queue.allocate(stream.size);
            copies_in.push_back({address(base), address(copy), stream.size, 0});
            base = copy;
        }
        std::vector<Chunk>& chunks = groups[opened.options];
        const bool aligned = address(output.data) % kChunkAlignment == 0 &&
                             (opened.places.size() == 1 || opened.chunk_bytes % kChunkAlignment == 0);
        const std::size_t pitch = align_up(opened.chunk_bytes, kAlignment);
        std::byte* slots = aligned ? nullptr : queue.allocate(pitch * opened.places.size());
        for (std::size_t c = 0; c < opened.places.size(); ++c) {
            const std::size_t begin = c * opened.chunk_bytes;
            const std::size_t room = std::min<std::uint64_t>(opened.chunk_bytes, opened.uncompressed_bytes - begin);
            Chunk chunk{item, base + opened.places[c].offset, opened.places[c].size, output.data + begin, room};
            if (!aligned) {
                chunk.to = slots + c * pitch;
                copies_out.push_back({address(chunk.to), address(output.data + begin), room, 0});
            }
            chunks.push_back(chunk);
        }
    }
};

}  // namespace

DecompressJob::DecompressJob(std::shared_ptr<const Engine> engine, std::span<const DeviceBytes> streams,
                             const DeviceBatchPlacer& place, StreamView stream)
    : engine_(std::move(engine)),
      context_(cuda::Context::of(stream, engine_->device().index)),
      queue_(context_, stream, engine_->staging()),
      num_streams_(streams.size()) {
    const cuda::ContextScope scope(*context_);
    const std::vector<Opened> opened = open(*engine_, streams, queue_);
    std::vector<std::size_t> totals;
    for (const Opened& item : opened) totals.push_back(item.uncompressed_bytes);
    const std::vector<DeviceBytes> outputs = place(totals);
    TRICODEC_INVARIANT(outputs.size() == opened.size());
    Plan plan;
    for (std::size_t i = 0; i < opened.size(); ++i) {
        if (totals[i] > 0) plan.add(i, opened[i], streams[i], outputs[i], queue_);
    }
    queue_.gather(plan.copies_in);
    for (const auto& [options, chunks] : plan.groups) decompress_group(options, chunks);
    queue_.gather(plan.copies_out);
    ready_ = queue_.record();
}

void DecompressJob::decompress_group(const ChunkOptions& options, std::span<const Chunk> chunks) {
    const BatchApi& functions = engine_->api(options);
    std::size_t largest = 0;
    for (const Chunk& chunk : chunks) largest = std::max(largest, chunk.room);
    const auto need = [&](std::size_t count) { return engine_->decompress_scratch(options, count, largest); };
    const auto budget = [&](std::size_t wanted) { return queue_.memory_budget(wanted, kLeastBudget); };
    const std::size_t step = batch_size(chunks.size(), budget, need);
    for (std::size_t first = 0; first < chunks.size(); first += step) {
        const std::span<const Chunk> batch = chunks.subspan(first, std::min(step, chunks.size() - first));
        batches_.push_back({{batch.begin(), batch.end()}, decompress_batch(functions, batch, need(batch.size()))});
    }
}

ChunkResults DecompressJob::decompress_batch(const BatchApi& functions, std::span<const Chunk> batch,
                                             std::size_t temp) {
    ChunkTable table(batch.size(), queue_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        table.set(i, batch[i].from, batch[i].size, batch[i].to, batch[i].room);
    }
    table.send();
    ChunkResults results(batch.size(), queue_);
    const std::size_t mark = queue_.mark();
    std::byte* scratch = queue_.allocate(temp);
    check_status(functions.decompress(table.inputs(), table.input_sizes(), table.rooms(), results.device_sizes(),
                                      batch.size(), scratch, temp, table.outputs(), functions.decompress_options,
                                      results.device_statuses(), queue_.handle()),
                 "decompressing on the GPU");
    results.fetch();
    queue_.release_from(mark);  // the next batch's scratch memory comes after this one's in the stream
    return results;
}

void DecompressJob::finish() {
    const cuda::ContextScope scope(*context_);
    queue_.wait_for(ready_);
    for (const Batch& batch : batches_) {
        for (std::size_t i = 0; i < batch.chunks.size(); ++i) {
            const Chunk& chunk = batch.chunks[i];
            const std::size_t size = batch.results.size(i);
            const Status status = batch.results.status(i);
            if (status == 0 && size == chunk.room) continue;
            const Error damage(ErrorCode::corrupt_data, "a chunk is damaged: it gave " + std::to_string(size) +
                                                            " bytes, not " + std::to_string(chunk.room) +
                                                            " : code=" + std::to_string(status) + ".");
            throw BatchError(damage, "stream", chunk.item, num_streams_);
        }
    }
}

}  // namespace tricodec::compress::nvcomp
