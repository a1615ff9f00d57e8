// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/cuda/gpu_time.h"
#include "compress/nvcomp/gpu_jobs.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec::compress::nvcomp {
namespace {

constexpr std::size_t kPeekBytes = 1024;  // header, options and the table of up to 58 chunks

std::vector<ByteView> peek(std::span<const ByteView> streams, DeviceQueue& queue) {
    std::byte* staging = queue.allocate(streams.size() * kPeekBytes);
    std::vector<GatherCopy> copies;
    copies.reserve(streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i) {
        copies.push_back({address(streams[i].data()), address(staging + i * kPeekBytes),
                          std::min(streams[i].size(), kPeekBytes), 0});
    }
    queue.gather(copies);
    const std::byte* host = queue.download(staging, streams.size() * kPeekBytes);
    queue.wait();
    std::vector<ByteView> starts;
    starts.reserve(streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i) {
        starts.emplace_back(host + i * kPeekBytes, std::min(streams[i].size(), kPeekBytes));
    }
    return starts;
}

void read_tables(std::span<const ByteView> streams, std::span<const ByteView> starts,
                 std::span<const Container> containers, std::vector<Opened>& opened, DeviceQueue& queue) {
    std::vector<const std::byte*> tables(streams.size());
    bool waits = false;
    for (std::size_t i = 0; i < streams.size(); ++i) {
        const Container& c = containers[i];
        const std::size_t size = 16 * c.num_chunks;
        if (c.table_offset + size <= starts[i].size()) {
            tables[i] = starts[i].data() + c.table_offset;
        } else {
            tables[i] = queue.download(streams[i].data() + c.table_offset, size);
            waits = true;
        }
    }
    if (waits) queue.wait();
    for (std::size_t i = 0; i < streams.size(); ++i) {
        const Container& c = containers[i];
        try {
            opened[i] = {c.options, c.uncompressed_bytes, c.chunk_bytes, read_table(c, {tables[i], 16 * c.num_chunks})};
        } catch (const Error& error) {
            throw BatchError(error, "stream", i, streams.size());
        }
    }
}

/// Whether the stream of an empty array has no bytes after its size (GpuEngine::empty_stream).
bool takes_nothing(const GpuEngine& engine) {
    return engine.chunk_options().algorithm == Compression::ans;
}

void open_sized(const GpuEngine& engine, ByteView stream, ByteView start, Opened& opened) {
    const std::size_t prefix = engine.prefix_bytes();
    std::uint64_t size = 0;
    if (start.size() >= prefix) std::memcpy(&size, start.data(), prefix);
    const bool nothing = takes_nothing(engine) && size == 0 && stream.size() == prefix;
    TRICODEC_EXPECT(
        stream.size() > prefix || nothing, corrupt_data,
        "the stream has " + std::to_string(stream.size()) + " bytes; its size alone takes " + std::to_string(prefix));
    expect_possible_ratio(engine.chunk_options().algorithm, stream.size() - prefix, size);
    opened = {engine.chunk_options(), size, std::max<std::uint64_t>(1, size), {{prefix, stream.size() - prefix}}};
}

constexpr std::size_t kLargestEmptyStream = 64;

/// Which raw streams are those of empty arrays, as this engine writes them. NVIDIA's functions do not compress empty
/// arrays, and what they report for such streams is undocumented.
std::vector<bool> find_empty(const GpuEngine& engine, std::span<const ByteView> streams, DeviceQueue& queue) {
    std::vector<bool> is_empty(streams.size());
    std::vector<ByteView> small;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < streams.size(); ++i) {
        if (streams[i].size() > kLargestEmptyStream) continue;
        small.push_back(streams[i]);
        indices.push_back(i);
    }
    if (small.empty() || !engine.makes_empty_streams()) return is_empty;
    const std::vector<std::byte> empty = engine.empty_stream();
    const std::vector<ByteView> starts = peek(small, queue);
    for (std::size_t s = 0; s < small.size(); ++s) is_empty[indices[s]] = std::ranges::equal(starts[s], empty);
    return is_empty;
}

void open_raw(const GpuEngine& engine, std::span<const ByteView> streams, std::vector<Opened>& opened,
              DeviceQueue& queue) {
    const BatchApi& functions = engine.api(engine.chunk_options());
    std::vector<const void*> inputs;
    std::vector<std::size_t> sizes;
    std::vector<std::size_t> asked;  // indices of the streams that have bytes
    const std::vector<bool> is_empty = find_empty(engine, streams, queue);
    for (std::size_t i = 0; i < streams.size(); ++i) {
        opened[i] = {engine.chunk_options(), 0, 1, {}};
        if (is_empty[i]) continue;
        TRICODEC_EXPECT(streams[i].size() > 0, corrupt_data, "the stream is empty");
        inputs.push_back(streams[i].data());
        sizes.push_back(streams[i].size());
        asked.push_back(i);
    }
    if (asked.empty()) return;
    auto* found = reinterpret_cast<std::size_t*>(queue.allocate(asked.size() * sizeof(std::size_t)));
    check_status(
        functions.decompressed_size(queue.upload(inputs), queue.upload(sizes), found, asked.size(), queue.handle()),
        "asking for decompressed sizes");
    const std::size_t* host = queue.download(found, asked.size());
    queue.wait();
    for (std::size_t a = 0; a < asked.size(); ++a) {
        const std::size_t i = asked[a];
        expect_possible_ratio(engine.chunk_options().algorithm, streams[i].size(), host[a]);
        opened[i] = {engine.chunk_options(), host[a], std::max<std::uint64_t>(1, host[a]), {{0, streams[i].size()}}};
    }
}

/// Chunks by algorithm, and the copies that give them the alignment that the kernels need.
struct Layout {
    std::map<ChunkOptions, std::vector<Chunk>, OptionsOrder> groups;
    std::vector<GatherCopy> copies_in;
    std::vector<GatherCopy> copies_out;

    void add(std::size_t item, const Opened& opened, ByteView stream, MutableBytes output, DeviceQueue& queue) {
        const std::size_t alignment = chunk_alignment(opened.options);
        const auto lies_well = [&](const ChunkPlace& place) {
            return (address(stream.data() + place.offset) & (alignment - 1)) == 0;  // a division takes 3 ns
        };
        std::byte* copies = nullptr;
        if (!std::ranges::all_of(opened.places, lies_well)) {
            std::size_t total = 0;
            for (const ChunkPlace& place : opened.places) total += align_up(place.size, kAlignment);
            copies = queue.allocate(total);
        }
        std::vector<Chunk>& chunks = groups[opened.options];
        const auto places = address(output.data()) | (opened.places.size() == 1 ? 0 : opened.chunk_bytes);
        const bool aligned = (places & (alignment - 1)) == 0;
        const std::size_t pitch = align_up(opened.chunk_bytes, kAlignment);
        std::byte* slots = aligned ? nullptr : queue.allocate(pitch * opened.places.size());
        for (std::size_t c = 0; c < opened.places.size(); ++c) {
            const std::size_t begin = c * opened.chunk_bytes;
            const std::size_t room = std::min<std::uint64_t>(opened.chunk_bytes, opened.uncompressed_bytes - begin);
            const ChunkPlace& place = opened.places[c];
            Chunk chunk{item, stream.data() + place.offset, place.size, output.data() + begin, room};
            if (copies != nullptr) {
                copies_in.push_back({address(chunk.from), address(copies), place.size, 0});
                chunk.from = copies;
                copies += align_up(place.size, kAlignment);
            }
            if (!aligned) {
                chunk.to = slots + c * pitch;
                copies_out.push_back({address(chunk.to), address(output.data() + begin), room, 0});
            }
            chunks.push_back(chunk);
        }
    }
};

}  // namespace

std::vector<Opened> open(const GpuEngine& engine, std::span<const ByteView> streams, DeviceQueue& queue) {
    std::vector<Opened> opened(streams.size());
    const bool native = engine.is_native();
    if (!native && engine.prefix_bytes() == 0) {
        open_raw(engine, streams, opened, queue);
    } else {
        const std::vector<ByteView> starts = peek(streams, queue);
        std::vector<Container> containers;
        if (native) containers.reserve(streams.size());
        for (std::size_t i = 0; i < streams.size(); ++i) {
            try {
                if (native) {
                    containers.push_back(
                        read_header(starts[i].first(std::min(starts[i].size(), kLargestHeader)), streams[i].size()));
                } else {
                    open_sized(engine, streams[i], starts[i], opened[i]);
                }
            } catch (const Error& error) {
                throw BatchError(error, "stream", i, streams.size());
            }
        }
        if (native) read_tables(streams, starts, containers, opened, queue);
    }
    std::uint64_t total = 0;
    const auto most = static_cast<std::uint64_t>(limits().max_output_bytes);
    for (const Opened& item : opened) {
        TRICODEC_EXPECT(item.uncompressed_bytes <= most - total, refused,
                        "the data expand to " + std::to_string(item.uncompressed_bytes) +
                            " bytes, past the limit max_output_bytes of " + std::to_string(most) +
                            "; raise it with set_limits if the data are trusted");
        total += item.uncompressed_bytes;
    }
    return opened;
}

DecompressJob::DecompressJob(std::shared_ptr<const GpuEngine> engine, std::span<const ByteView> streams,
                             const BatchPlacer& place, StreamView stream, std::span<const std::size_t> sizes)
    : engine_(std::move(engine)),
      context_(cuda::Context::of(stream, engine_->device().index)),
      queue_(context_, stream, engine_->staging()),
      num_streams_(streams.size()) {
    const cuda::ContextScope scope(*context_);
    const std::vector<Opened> opened = open(*engine_, streams, queue_);
    std::vector<std::size_t> totals;
    totals.reserve(opened.size());
    for (const Opened& item : opened) totals.push_back(item.uncompressed_bytes);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        try {
            expect_size(totals[i], sizes[i]);
        } catch (const Error& error) {
            throw BatchError(error, "stream", i, sizes.size());
        }
    }
    const std::vector<MutableBytes> outputs = place(totals);
    TRICODEC_INVARIANT(outputs.size() == opened.size());
    Layout layout;
    for (std::size_t i = 0; i < opened.size(); ++i) {
        if (totals[i] > 0) layout.add(i, opened[i], streams[i], outputs[i], queue_);
    }
    queue_.gather(layout.copies_in);
    for (const auto& [options, chunks] : layout.groups) decompress_group(options, chunks);
    queue_.gather(layout.copies_out);
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

ChunkTable DecompressJob::decompress_batch(const BatchApi& functions, std::span<const Chunk> batch, std::size_t temp) {
    ChunkTable table(batch.size(), queue_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        table.set(i, batch[i].from, batch[i].size, batch[i].to, batch[i].room);
    }
    table.send();
    const std::size_t mark = queue_.mark();
    std::byte* scratch = queue_.allocate(temp);
    const cuda::GpuTime time(context_, Stage::decompress, static_cast<std::int64_t>(num_streams_), queue_.stream());
    check_status(functions.decompress(table.inputs(), table.input_sizes(), table.rooms(), table.device_sizes(),
                                      batch.size(), scratch, temp, table.outputs(), functions.decompress_options,
                                      table.device_statuses(), queue_.handle()),
                 "decompressing on the GPU");
    table.fetch();
    queue_.release_from(mark);  // the scratch memory of the next batch is used after this one's in stream order
    return table;
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

std::vector<std::size_t> GpuEngine::decompressed_sizes(std::span<const ByteView> streams, const Execution& on) const {
    const auto context = cuda::Context::of(on.stream, device_.index);
    const cuda::ContextScope scope(*context);
    DeviceQueue queue(context, on.stream, staging_);
    std::vector<std::size_t> sizes;
    for (const Opened& opened : open(*this, streams, queue)) sizes.push_back(opened.uncompressed_bytes);
    return sizes;
}

std::unique_ptr<PendingDecompression> GpuEngine::start_decompress(std::span<const ByteView> streams,
                                                                  const BatchPlacer& place, const Execution& on,
                                                                  std::span<const std::size_t> sizes) const {
    return std::make_unique<DecompressJob>(shared_from_this(), streams, place, on.stream, sizes);
}

}  // namespace tricodec::compress::nvcomp
