// SPDX-License-Identifier: Apache-2.0
#include "compress/encoder.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "compress/bytes.h"
#include "compress/container.h"
#include "compress/crc32c.h"
#include "compress/packing.h"
#include "compress/trailer.h"
#include "tricodec/buffer.h"
#include "tricodec/error.h"
#include "tricodec/parallel_copy.h"

namespace tricodec::compress {

/// One input on its way to its output.
struct Encoder::Item {
    Item(ByteView from, std::span<std::byte> to, const Chunks& its_chunks, std::size_t head, std::size_t num_runs)
        : input(from), output(to), chunks(its_chunks), head_bytes(head), packing(to.subspan(head), num_runs) {}

    ByteView input;
    std::span<std::byte> output;
    Chunks chunks;
    std::size_t head_bytes;
    Packing packing;
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint32_t> sums;
};

int Encoder::threads_of(std::span<const Job> jobs) noexcept {
    return jobs.empty() ? 1 : jobs.front().encoder->options_.num_threads;
}

std::size_t Encoder::head_of(std::size_t num_chunks) const {
    if (options_.bitstream == BitstreamKind::native) return head_bytes(*options_.algorithm, num_chunks);
    return prefix_bytes(*options_.algorithm, options_.bitstream);
}

std::size_t Encoder::max_compressed_bytes(std::size_t size_bytes) const {
    const ChunkCodec& codec = pools_.encoder().codec();
    expect_addressable(size_bytes);
    if (options_.bitstream != BitstreamKind::native) return head_of(1) + codec.bound(size_bytes);
    const std::uint64_t chunks = ceil_div(size_bytes, options_.chunk_bytes);
    const std::uint64_t slot = align_up(codec.bound(std::min(size_bytes, options_.chunk_bytes)), kChunkAlignment);
    return head_of(chunks) + chunks * slot + (computes(options_.checksums) ? trailer_bytes(chunks) : 0);
}

std::vector<Encoder::Job> Encoder::jobs_of(std::span<const ByteView> inputs) const {
    std::vector<Job> jobs;
    jobs.reserve(inputs.size());
    for (const ByteView input : inputs) jobs.push_back({this, input});
    return jobs;
}

void Encoder::compress(std::span<const Job> jobs, const BatchPlacer& place, const TaskRunner& runner) {
    std::vector<std::size_t> bounds;
    std::size_t total = 0;
    for (const Job& job : jobs) {
        bounds.push_back(job.encoder->max_compressed_bytes(job.input.size()));
        total += align_up(bounds.back(), kChunkAlignment);
    }
    const auto scratch = Buffer::allocate(total);
    std::vector<std::span<std::byte>> rooms;
    std::byte* next = scratch->data();
    for (const std::size_t bound : bounds) {
        rooms.emplace_back(next, bound);
        next += align_up(bound, kChunkAlignment);
    }
    const std::vector<std::size_t> sizes = compress_to(jobs, rooms, runner);

    const std::vector<std::span<std::byte>> places = place(sizes);
    TRICODEC_INVARIANT(places.size() == jobs.size());
    std::vector<ByteCopy> copies;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        TRICODEC_INVARIANT(places[i].size() == sizes[i]);
        copies.push_back({rooms[i].data(), places[i].data(), sizes[i]});
    }
    copy_parallel(copies, threads_of(jobs), runner);
}

std::vector<std::size_t> Encoder::compress_to(std::span<const Job> jobs, std::span<const std::span<std::byte>> outputs,
                                              const TaskRunner& runner) {
    TRICODEC_EXPECT(jobs.size() == outputs.size(), invalid_argument,
                    std::to_string(jobs.size()) + " inputs have " + std::to_string(outputs.size()) + " outputs");
    std::vector<Chunks> chunks;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const auto& [encoder, input] = jobs[i];
        try {
            chunks.push_back(encoder->chunks_of(input));
        } catch (const Error& error) {
            throw BatchError(error, "input", i, jobs.size());
        }
        const std::size_t bound = encoder->max_compressed_bytes(input.size());
        TRICODEC_EXPECT(outputs[i].size() >= bound, invalid_argument,
                        "output " + std::to_string(i) + " has " + std::to_string(outputs[i].size()) +
                            " bytes; it needs the " + std::to_string(bound) + " of max_compressed_bytes()");
    }
    const int num_threads = threads_of(jobs);
    const std::vector<Run> runs = cut_into_runs(chunks, num_threads);
    std::vector<std::size_t> num_runs(jobs.size());
    std::vector<std::size_t> index_in_item;
    for (const Run& run : runs) index_in_item.push_back(num_runs[run.item]++);
    std::vector<std::unique_ptr<Item>> items;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const auto& [encoder, input] = jobs[i];
        items.push_back(
            std::make_unique<Item>(input, outputs[i], chunks[i], encoder->head_of(chunks[i].count), num_runs[i]));
        items[i]->sizes.resize(chunks[i].count);
        if (computes(encoder->options_.checksums)) items[i]->sums.resize(chunks[i].count);
    }
    for_each_run(runs.size(), num_threads, runner, [&](std::size_t i) {
        const Encoder& encoder = *jobs[runs[i].item].encoder;
        encoder.compress_run(*items[runs[i].item], runs[i], index_in_item[i], encoder.pools_.encoder());
    });
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < jobs.size(); ++i) sizes.push_back(jobs[i].encoder->complete(*items[i]));
    return sizes;
}

void Encoder::compress_run(Item& item, const Run& run, std::size_t index, WorkerPool& workers) const {
    const ChunkCodec& codec = workers.codec();
    const Chunks& chunks = item.chunks;
    const std::size_t slot = align_up(
        codec.bound(static_cast<std::size_t>(std::min(chunks.chunk_bytes, chunks.total_bytes))), kChunkAlignment);
    Packing::Target target = item.packing.start(index, run.count * slot);
    const WorkerPool::Lease worker(workers);
    std::byte* const begin = target.data();
    std::size_t used = 0;
    for (std::uint64_t chunk = run.first; chunk < run.first + run.count; ++chunk) {
        const std::uint64_t from = chunk * chunks.chunk_bytes;
        const ByteView input = item.input.subspan(from, std::min(chunks.chunk_bytes, chunks.total_bytes - from));
        const std::size_t padded = align_up(used, kChunkAlignment);
        std::memset(begin + used, 0, padded - used);
        const std::size_t size = worker->compress(input, {begin + padded, codec.bound(input.size())});
        item.sizes[chunk] = size;
        used = padded + size;
        if (!item.sums.empty()) item.sums[chunk] = crc32c(input);
    }
    item.packing.finish(index, std::move(target), used);
}

/// Writes what stands before and after the chunks. Returns the bytes of the whole.
std::size_t Encoder::complete(Item& item) const {
    std::byte* const to = item.output.data();
    const std::size_t head = item.head_bytes;
    const std::size_t total = head + item.packing.total_bytes();
    if (options_.bitstream == BitstreamKind::native) {
        write_head(to, pools_.chunk_options(), item.input.size(), options_.chunk_bytes, item.sizes);
        if (!computes(options_.checksums)) return total;
        const std::size_t trailer = align_up(total, 8);
        std::memset(to + total, 0, trailer - total);
        write_trailer(to + trailer, item.output.first(head), item.sums);
        return trailer + trailer_bytes(item.sizes.size());
    }
    if (head == 4) store<std::uint32_t>(to, static_cast<std::uint32_t>(item.input.size()));
    if (head == 8) store<std::uint64_t>(to, item.input.size());
    return total;
}

Chunks Encoder::chunks_of(ByteView input) const {
    const ChunkCodec& codec = pools_.encoder().codec();
    const Compression algorithm = *options_.algorithm;
    const std::size_t element = size_of(pools_.chunk_options().element_type);
    TRICODEC_EXPECT(
        (algorithm != Compression::cascaded && algorithm != Compression::bitcomp) || input.size() % element == 0,
        invalid_argument,
        "the input has " + std::to_string(input.size()) + " bytes; " + std::string(to_string(algorithm)) +
            " with data_type \"" + std::string(to_typestr(pools_.chunk_options().element_type)) +
            "\" needs a multiple of " + std::to_string(element) + "; choose a data_type that fits");
    Chunks chunks{input.size(), options_.chunk_bytes, ceil_div(input.size(), options_.chunk_bytes)};
    if (options_.bitstream != BitstreamKind::native) {
        chunks = {input.size(), std::max<std::uint64_t>(1, input.size()), 1};
        TRICODEC_EXPECT(algorithm != Compression::lz4 || prefix_bytes(algorithm, options_.bitstream) == 0 ||
                            input.size() <= UINT32_MAX,
                        invalid_argument, "the input is larger than LZ4's 4-byte size field tells");
    }
    const std::uint64_t largest = std::min(chunks.chunk_bytes, chunks.total_bytes);
    TRICODEC_EXPECT(largest <= codec.largest_chunk(), invalid_argument,
                    "the input has chunks of " + std::to_string(largest) + " bytes; " +
                        std::string(to_string(algorithm)) + " takes " + std::to_string(codec.largest_chunk()) +
                        " at most : code=18.");
    return chunks;
}

}  // namespace tricodec::compress
