// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/cuda/gpu_time.h"
#include "compress/nvcomp/gpu_jobs.h"
#include "tricodec/base/error.h"

namespace tricodec::compress::nvcomp {
namespace {

std::vector<ByteView> inputs_of(std::span<const Engine::Job> jobs) {
    std::vector<ByteView> inputs;
    inputs.reserve(jobs.size());
    for (const Engine::Job& job : jobs) inputs.push_back(job.input);
    return inputs;
}

/// Calls a function that works on some inputs of a batch. Its errors get the indices in the batch.
template <class Function>
auto in_batch(const std::vector<std::size_t>& indices, std::size_t count, Function&& function) {
    try {
        return function();
    } catch (const BatchError& error) {
        throw BatchError(Error(error.code(), error.reason()), "input", indices[error.index()], count);
    }
}

/// The chunks of the inputs. Those without the alignment that the kernels need are copied.
std::vector<Chunk> cut(const GpuEngine& engine, std::span<const ByteView> inputs, const BatchApi& functions,
                       DeviceQueue& queue) {
    const bool native = engine.is_native();
    const ChunkOptions& options = engine.chunk_options();
    const std::size_t element = size_of(options.element_type);
    const std::size_t alignment = chunk_alignment(options);
    const Compression algorithm = options.algorithm;
    const auto step_of = [&](ByteView input) {
        return native ? engine.options().chunk_bytes : std::max<std::size_t>(1, input.size());
    };
    const auto count_of = [](std::size_t size, std::size_t step) -> std::size_t {
        return size > step ? ceil_div(size, step) : size > 0 ? 1 : 0;  // a thousand small arrays need no division
    };
    std::size_t total = 0;
    for (const ByteView input : inputs) total += count_of(input.size(), step_of(input));
    std::vector<Chunk> chunks;
    chunks.reserve(total);
    std::vector<GatherCopy> staged;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const ByteView input = inputs[i];
        const auto refuse = [&](const std::string& why) {
            throw BatchError(Error(ErrorCode::invalid_argument, "the input has " + why), "input", i, inputs.size());
        };
        if ((algorithm == Compression::cascaded || algorithm == Compression::bitcomp) && input.size() % element != 0) {
            refuse(std::to_string(input.size()) + " bytes; " + std::string(to_string(algorithm)) +
                   " with data_type \"" + std::string(to_typestr(options.element_type)) + "\" needs a multiple of " +
                   std::to_string(element) + "; choose a data_type that fits");
        }
        const std::size_t step = step_of(input);
        const std::size_t largest = std::min(step, input.size());
        if (largest > functions.largest_chunk) {
            refuse("chunks of " + std::to_string(largest) + " bytes; " + std::string(to_string(algorithm)) + " takes " +
                   std::to_string(functions.largest_chunk) + " at most on a GPU : code=18.");
        }
        const std::size_t count = count_of(input.size(), step);
        const auto places = address(input.data()) | (count <= 1 ? 0 : step);
        const bool aligned = (places & (alignment - 1)) == 0;
        const std::size_t pitch = align_up(step, kAlignment);
        std::byte* copies = aligned ? nullptr : queue.allocate(pitch * count);
        for (std::size_t c = 0; c < count; ++c) {
            const std::byte* from = input.data() + c * step;
            const std::size_t size = std::min(step, input.size() - c * step);
            if (!aligned) {
                staged.push_back({address(from), address(copies + c * pitch), size, 0});
                from = copies + c * pitch;
            }
            chunks.push_back({i, from, size, nullptr, 0});
        }
    }
    queue.gather(staged);
    return chunks;
}

/// Reads the sizes, which must have arrived.
void take_sizes(const ChunkTable& results, std::size_t slot, std::span<std::uint64_t> sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        check_status(results.status(i), "compressing a chunk on the GPU");
        TRICODEC_INVARIANT(results.size(i) <= slot);
        sizes[i] = results.size(i);
    }
}

/// Moves the results of a sub-batch out of its slots, which the next sub-batch uses.
void compact(std::span<Chunk> batch, std::span<const std::uint64_t> sizes, std::size_t mark, DeviceQueue& queue) {
    std::size_t total = 0;
    for (const std::size_t size : sizes) total += align_up(size, kAlignment);
    std::byte* kept = queue.allocate(total);
    std::vector<GatherCopy> copies;
    std::size_t at = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        copies.push_back({address(batch[i].to), address(kept + at), sizes[i], 0});
        batch[i].to = kept + at;
        at += align_up(sizes[i], kAlignment);
    }
    queue.gather(copies);
    queue.keep_last_of(mark, kept);
}

}  // namespace

CompressJob::CompressJob(std::shared_ptr<const GpuEngine> engine, std::span<const ByteView> inputs, StreamView stream)
    : engine_(std::move(engine)),
      context_(cuda::Context::of(stream, engine_->device().index)),
      queue_(context_, stream, engine_->staging()) {
    const cuda::ContextScope scope(*context_);
    const BatchApi& functions = engine_->api(engine_->chunk_options());
    input_sizes_.reserve(inputs.size());
    for (const ByteView input : inputs) input_sizes_.push_back(input.size());
    chunks_ = cut(*engine_, inputs, functions, queue_);
    sizes_.resize(chunks_.size());
    if (chunks_.empty()) return;
    std::size_t largest = 0;
    for (const Chunk& chunk : chunks_) largest = std::max(largest, chunk.size);
    slot_ = align_up(engine_->bound(largest), kAlignment);
    const auto need = [&](std::size_t count) { return count * slot_ + engine_->compress_scratch(count, largest); };
    const auto budget = [&](std::size_t wanted) { return queue_.memory_budget(wanted, kLeastBudget); };
    const std::size_t step = batch_size(chunks_.size(), budget, need);
    if (step == chunks_.size()) {
        results_.emplace(compress_batch(functions, chunks_, largest));
        ready_ = queue_.record();
        return;
    }
    for (std::size_t first = 0; first < chunks_.size(); first += step) {
        const std::span<Chunk> batch(chunks_.data() + first, std::min(step, chunks_.size() - first));
        const std::span<std::uint64_t> sizes(sizes_.data() + first, batch.size());
        const std::size_t mark = queue_.mark();
        const ChunkTable results = compress_batch(functions, batch, largest);
        queue_.wait_for(queue_.record());
        take_sizes(results, slot_, sizes);
        compact(batch, sizes, mark, queue_);
    }
}

/// Queues the compression to slots, and the copy of sizes and statuses to the host. Sets the place of each result.
ChunkTable CompressJob::compress_batch(const BatchApi& functions, std::span<Chunk> batch, std::size_t largest) {
    const std::size_t temp = engine_->compress_scratch(batch.size(), largest);
    std::byte* slots = queue_.allocate(batch.size() * slot_);
    std::byte* scratch = queue_.allocate(temp);
    ChunkTable table(batch.size(), queue_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        batch[i].to = slots + i * slot_;
        table.set(i, batch[i].from, batch[i].size, batch[i].to, slot_);
    }
    table.send();
    const cuda::GpuTime time(context_, Stage::compress, static_cast<std::int64_t>(input_sizes_.size()),
                             queue_.stream());
    check_status(
        functions.compress(table.inputs(), table.input_sizes(), largest, batch.size(), scratch, temp, table.outputs(),
                           table.device_sizes(), functions.compress_options, table.device_statuses(), queue_.handle()),
        "compressing on the GPU");
    table.fetch();
    return table;
}

void CompressJob::finish(const BatchPlacer& place) {
    const cuda::ContextScope scope(*context_);
    if (results_) {
        queue_.wait_for(ready_);
        take_sizes(*results_, slot_, sizes_);
    }
    assemble(place);
}

/// Writes the bytes before the chunks of an item.
void CompressJob::write_head_of(std::size_t item, std::byte* to) const {
    const auto& [first, count, head_bytes] = items_[item];
    if (engine_->is_native()) {
        write_head(to, engine_->chunk_options(), input_sizes_[item], engine_->options().chunk_bytes,
                   {sizes_.data() + first, count});
    } else if (count == 0) {
        std::copy(empty_stream_.begin(), empty_stream_.end(), to);
    } else {
        const std::uint64_t size = input_sizes_[item];
        std::memcpy(to, &size, head_bytes);
    }
}

/// Copies heads and chunks to the memory of the caller, in one launch.
void CompressJob::assemble(const BatchPlacer& place) {
    const bool native = engine_->is_native();
    const std::size_t alignment = chunk_alignment(engine_->chunk_options());
    std::vector<std::size_t> totals;
    totals.reserve(input_sizes_.size());
    items_.reserve(input_sizes_.size());
    std::size_t all_heads = 0;
    std::size_t num_copies = chunks_.size();
    for (std::size_t i = 0, next = 0; i < input_sizes_.size(); ++i) {
        Item item{next, 0, 0};
        std::size_t data = 0;
        for (; next < chunks_.size() && chunks_[next].item == i; ++next) {
            data = align_up(data, alignment) + sizes_[next];
        }
        item.num_chunks = next - item.first_chunk;
        if (!native && item.num_chunks == 0 && empty_stream_.empty()) empty_stream_ = engine_->empty_stream();
        item.head_bytes = native                 ? head_bytes(engine_->chunk_options(), item.num_chunks)
                          : item.num_chunks == 0 ? empty_stream_.size()
                                                 : engine_->prefix_bytes();
        all_heads += align_up(item.head_bytes, kAlignment);
        num_copies += item.head_bytes > 0 ? 1 : 0;
        totals.push_back(item.head_bytes + data);
        items_.push_back(item);
    }
    const std::vector<MutableBytes> places = place(totals);
    TRICODEC_INVARIANT(places.size() == items_.size());

    // The list of copies, then the heads: one piece of memory and one copy to the GPU.
    std::size_t head_at = num_copies * sizeof(GatherCopy);
    const Staged<std::byte> staged = queue_.stage<std::byte>(head_at + all_heads);
    auto* copy = reinterpret_cast<GatherCopy*>(staged.host);
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const auto& [first, count, head_bytes] = items_[i];
        std::byte* to = places[i].data();
        if (head_bytes > 0) {
            write_head_of(i, staged.host + head_at);
            *copy++ = {address(staged.device + head_at), address(to), head_bytes, 0};
            head_at += align_up(head_bytes, kAlignment);
            to += head_bytes;
        }
        std::size_t at = 0;
        for (std::size_t c = first; c < first + count; ++c) {
            const std::size_t end = at + sizes_[c];
            const std::size_t zeros = c + 1 == first + count ? 0 : align_up(end, alignment) - end;
            *copy++ = {address(chunks_[c].to), address(to + at), sizes_[c], zeros};
            at = end + zeros;
        }
    }
    queue_.send(staged);
    queue_.gather(reinterpret_cast<const GatherCopy*>(staged.device), num_copies);
}

std::unique_ptr<PendingCompression> GpuEngine::start_compress(std::span<const Job> jobs, const Execution& on) const {
    return std::make_unique<CompressJob>(shared_from_this(), inputs_of(jobs), on.stream);
}

void GpuEngine::compress_each(std::span<const Job> jobs, const BatchPlacer& place, const Execution& on) const {
    std::map<const Engine*, std::vector<std::size_t>> indices_of;
    for (std::size_t i = 0; i < jobs.size(); ++i) indices_of[jobs[i].engine].push_back(i);
    if (indices_of.size() <= 1) return start_compress(jobs, on)->finish(place);
    // All engines queue their work before the first sizes are waited for. The places are known when all sizes are.
    struct Part {
        const std::vector<std::size_t>& indices;
        std::unique_ptr<PendingCompression> work;
    };
    std::vector<Part> parts;
    for (const auto& [engine, indices] : indices_of) {
        std::vector<Job> chosen;
        for (const std::size_t i : indices) chosen.push_back(jobs[i]);
        parts.push_back({indices, in_batch(indices, jobs.size(), [&] { return engine->start_compress(chosen, on); })});
    }
    const auto context = cuda::Context::of(on.stream, device_.index);
    const cuda::ContextScope scope(*context);
    DeviceQueue queue(context, on.stream, staging_);
    std::vector<std::size_t> sizes(jobs.size());
    std::vector<const std::byte*> results(jobs.size());
    for (const auto& [indices, work] : parts) {
        in_batch(indices, jobs.size(), [&] {
            work->finish([&](std::span<const std::size_t> found) {
                std::vector<MutableBytes> places;
                for (std::size_t i = 0; i < found.size(); ++i) {
                    places.emplace_back(queue.allocate(found[i]), found[i]);
                    results[indices[i]] = places.back().data();
                    sizes[indices[i]] = found[i];
                }
                return places;
            });
        });
    }
    const std::vector<MutableBytes> places = place(sizes);
    TRICODEC_INVARIANT(places.size() == jobs.size());
    std::vector<GatherCopy> copies;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        copies.push_back({address(results[i]), address(places[i].data()), sizes[i], 0});
    }
    queue.gather(copies);
}

}  // namespace tricodec::compress::nvcomp
