// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "compress/cpu/host_engine.h"
#include "tricodec/base/buffer.h"
#include "tricodec/base/error.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec::compress {
namespace {

const HostEngine& host_engine_of(const Engine::Job& job) {
    return static_cast<const HostEngine&>(*job.engine);
}

/// Keeps results in memory for their worst cases until their places are known.
class HostCompression final : public PendingCompression {
public:
    HostCompression(const HostEngine& engine, std::span<const Engine::Job> jobs, const Execution& on)
        : num_threads_(engine.options().num_threads), runner_(on.runner) {
        std::vector<std::size_t> bounds;
        std::size_t total = 0;
        for (const Engine::Job& job : jobs) {
            bounds.push_back(job.engine->max_compressed_bytes(job.input.size()));
            total += align_up(bounds.back(), kChunkAlignment);
        }
        scratch_ = Buffer::allocate(total);
        std::byte* next = scratch_->data();
        for (const std::size_t bound : bounds) {
            rooms_.emplace_back(next, bound);
            next += align_up(bound, kChunkAlignment);
        }
        sizes_ = engine.compress_to(jobs, rooms_, on);
    }

    void finish(const BatchPlacer& place) override {
        const std::vector<MutableBytes> places = place(sizes_);
        TRICODEC_INVARIANT(places.size() == sizes_.size());
        std::vector<ByteCopy> copies;
        for (std::size_t i = 0; i < sizes_.size(); ++i) {
            TRICODEC_INVARIANT(places[i].size() == sizes_[i]);
            copies.push_back({rooms_[i].data(), places[i].data(), sizes_[i]});
        }
        copy_parallel(copies, num_threads_, runner_);
    }

private:
    int num_threads_;
    TaskRunner runner_;
    std::shared_ptr<Buffer> scratch_;
    std::vector<MutableBytes> rooms_;
    std::vector<std::size_t> sizes_;
};

}  // namespace

struct HostEngine::Item {
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

std::size_t HostEngine::head_of(std::size_t num_chunks) const {
    if (options_.bitstream == BitstreamKind::native) return head_bytes(pools_.chunk_options(), num_chunks);
    return prefix_bytes(*options_.algorithm, options_.bitstream);
}

std::size_t HostEngine::max_compressed_bytes(std::size_t size_bytes) const {
    const ChunkCodec& codec = pools_.encoder().codec();
    expect_addressable(size_bytes);
    if (options_.bitstream != BitstreamKind::native) return head_of(1) + codec.bound(size_bytes);
    const std::uint64_t chunks = ceil_div(size_bytes, options_.chunk_bytes);
    const std::uint64_t slot = align_up(codec.bound(std::min(size_bytes, options_.chunk_bytes)), kChunkAlignment);
    return head_of(chunks) + chunks * slot + (computes(options_.checksums) ? trailer_bytes(chunks) : 0);
}

std::unique_ptr<PendingCompression> HostEngine::start_compress(std::span<const Job> jobs, const Execution& on) const {
    return std::make_unique<HostCompression>(*this, jobs, on);
}

void HostEngine::compress_each(std::span<const Job> jobs, const BatchPlacer& place, const Execution& on) const {
    HostCompression(*this, jobs, on).finish(place);
}

std::vector<std::size_t> HostEngine::compress_to(std::span<const Job> jobs, std::span<const MutableBytes> outputs,
                                                 const Execution& on) const {
    std::vector<Chunks> chunks;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        try {
            chunks.push_back(host_engine_of(jobs[i]).chunks_of(jobs[i].input));
        } catch (const Error& error) {
            throw BatchError(error, "input", i, jobs.size());
        }
    }
    const std::vector<Run> runs = cut_into_runs(chunks, options_.num_threads);
    std::vector<std::size_t> num_runs(jobs.size());
    std::vector<std::size_t> index_in_item;
    for (const Run& run : runs) index_in_item.push_back(num_runs[run.item]++);
    std::vector<std::unique_ptr<Item>> items;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const HostEngine& engine = host_engine_of(jobs[i]);
        items.push_back(
            std::make_unique<Item>(jobs[i].input, outputs[i], chunks[i], engine.head_of(chunks[i].count), num_runs[i]));
        items[i]->sizes.resize(chunks[i].count);
        if (computes(engine.options_.checksums)) items[i]->sums.resize(chunks[i].count);
    }
    for_each_run(runs.size(), options_.num_threads, on.runner, [&](std::size_t i) {
        host_engine_of(jobs[runs[i].item]).compress_run(*items[runs[i].item], runs[i], index_in_item[i]);
    });
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < jobs.size(); ++i) sizes.push_back(host_engine_of(jobs[i]).complete(*items[i]));
    return sizes;
}

void HostEngine::compress_run(Item& item, const Run& run, std::size_t index) const {
    WorkerPool& workers = pools_.encoder();
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
        if (!item.sums.empty()) item.sums[chunk] = checksum(input);
    }
    item.packing.finish(index, std::move(target), used);
}

/// Writes what is before and after the chunks. Returns the size of the stream.
std::size_t HostEngine::complete(Item& item) const {
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

Chunks HostEngine::chunks_of(ByteView input) const {
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
                        invalid_argument, "the input is larger than LZ4's 4-byte size field can say");
    }
    const std::uint64_t largest = std::min(chunks.chunk_bytes, chunks.total_bytes);
    TRICODEC_EXPECT(largest <= codec.largest_chunk(), invalid_argument,
                    "the input has chunks of " + std::to_string(largest) + " bytes; " +
                        std::string(to_string(algorithm)) + " takes " + std::to_string(codec.largest_chunk()) +
                        " at most : code=18.");
    return chunks;
}

}  // namespace tricodec::compress
