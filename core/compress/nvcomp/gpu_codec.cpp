// SPDX-License-Identifier: Apache-2.0
#include "tricodec/gpu_codec.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/cuda/context.h"
#include "compress/bytes.h"
#include "compress/container.h"
#include "compress/nvcomp/batch_api.h"
#include "compress/nvcomp/device_queue.h"
#include "compress/nvcomp/library.h"
#include "tricodec/error.h"
#include "tricodec/gpu.h"
#include "tricodec/limits.h"

namespace tricodec {

using namespace compress;
using compress::nvcomp::BatchApi;
using compress::nvcomp::check_status;
using compress::nvcomp::DeviceQueue;
using compress::nvcomp::GatherCopy;
using compress::nvcomp::Status;

namespace {

constexpr std::size_t kAlignment = 16;    // covers what any of the kernels asks for
constexpr std::size_t kPeekBytes = 1024;  // header, options and the table of up to 58 chunks
constexpr std::size_t kLeastBudget = 256 << 20;

std::size_t prefix_of(Compression algorithm, BitstreamKind bitstream) {
    if (bitstream != BitstreamKind::with_uncompressed_size) return 0;
    return algorithm == Compression::lz4 ? 4 : 8;
}

unsigned long long address(const void* pointer) {
    return reinterpret_cast<unsigned long long>(pointer);
}

/// One chunk on its way: where it is, where it goes.
struct Chunk {
    std::size_t item = 0;
    const std::byte* from = nullptr;
    std::size_t size = 0;
    std::byte* to = nullptr;
    std::size_t room = 0;
};

/// A stream to decompress, its header checked.
struct Opened {
    ChunkOptions options;
    std::uint64_t uncompressed_bytes = 0;
    std::uint64_t chunk_bytes = 0;
    std::vector<ChunkPlace> places;
};

DeviceBatchPlacer one_by_one(const DevicePlacer& place) {
    return [&place](std::span<const std::size_t> sizes) {
        std::vector<DeviceBytes> places;
        for (std::size_t i = 0; i < sizes.size(); ++i) places.push_back(place(i, sizes[i]));
        return places;
    };
}

struct OptionsOrder {
    bool operator()(const ChunkOptions& a, const ChunkOptions& b) const {
        return std::pair(a.algorithm, a.element_type) < std::pair(b.algorithm, b.element_type);
    }
};

}  // namespace

class GpuCodec::Impl {
public:
    Impl(const CodecOptions& options, Device device) : options_(options), device_(device) {
        const std::string reason = gpu_compression_unavailable_reason(device.index);
        TRICODEC_EXPECT(reason.empty(), unsupported, reason);
        TRICODEC_EXPECT(options.checksums == ChecksumPolicy::no_compute_no_verify, unsupported,
                        "checksums are computed and verified on the CPU; use NO_COMPUTE_NO_VERIFY on a GPU");
        if (options.algorithm) {
            chunk_options_ = resolve_options(options, *options.algorithm);
            static_cast<void>(api(chunk_options_));
            // What GPUs do not take, chunks of no bytes, is done on the CPU.
            if (compression_unavailable_reason(*options.algorithm).empty())
                host_ = std::make_unique<Compressor>(options);
        }
        TRICODEC_EXPECT(options.algorithm || options.bitstream == BitstreamKind::native, invalid_argument,
                        "bitstream_kind RAW and WITH_UNCOMPRESSED_SIZE do not tell the algorithm; name it");
    }

    Device device() const noexcept { return device_; }

    std::size_t max_compressed_bytes(std::size_t size) {
        const BatchApi& functions = api(encoder_options());
        const bool native = options_.bitstream == BitstreamKind::native;
        const std::size_t largest = native ? std::min(size, options_.chunk_bytes) : size;
        std::size_t bound = 0;
        check_status(functions.compress_bound(largest, functions.compress_options, &bound),
                     "asking for the largest chunk");
        if (!native) return prefix_of(*options_.algorithm, options_.bitstream) + bound;
        const std::uint64_t count = ceil_div(size, options_.chunk_bytes);
        return head_bytes(*options_.algorithm, count) + count * align_up(bound, kChunkAlignment);
    }

    void compress(std::span<const DeviceBytes> inputs, const DeviceBatchPlacer& place, StreamView stream) {
        const ChunkOptions& options = encoder_options();
        const BatchApi& functions = api(options);
        DeviceQueue queue(cuda::Context::of(stream, device_.index), stream);
        std::vector<Chunk> chunks = cut(inputs, functions, queue);
        std::size_t largest = 0;
        for (const Chunk& chunk : chunks) largest = std::max(largest, chunk.size);
        std::size_t bound = 0;
        check_status(functions.compress_bound(largest, functions.compress_options, &bound),
                     "asking for the largest chunk");
        const std::size_t slot = align_up(bound, kAlignment);
        const auto need = [&](std::size_t count) {
            return count * slot + temp_bytes(functions.compress_temp, functions.compress_options, count, largest);
        };
        const std::size_t step = batch_size(chunks.size(), queue.memory_budget(kLeastBudget), need);
        std::vector<std::size_t> sizes(chunks.size());
        for (std::size_t first = 0; first < chunks.size(); first += step) {
            const std::span<Chunk> batch(chunks.data() + first, std::min(step, chunks.size() - first));
            compress_batch(functions, batch, largest, slot, {sizes.data() + first, batch.size()}, queue,
                           step < chunks.size());
        }
        assemble(inputs, chunks, sizes, place, queue);
    }

    std::vector<std::size_t> decompressed_sizes(std::span<const DeviceBytes> streams, StreamView stream) {
        DeviceQueue queue(cuda::Context::of(stream, device_.index), stream);
        std::vector<std::size_t> sizes;
        for (const Opened& opened : open(streams, queue)) sizes.push_back(opened.uncompressed_bytes);
        return sizes;
    }

    void decompress(std::span<const DeviceBytes> streams, const DeviceBatchPlacer& place, StreamView stream) {
        DeviceQueue queue(cuda::Context::of(stream, device_.index), stream);
        const std::vector<Opened> opened = open(streams, queue);
        std::map<ChunkOptions, std::vector<Chunk>, OptionsOrder> groups;
        std::vector<GatherCopy> staged_in;
        std::vector<GatherCopy> staged_out;
        std::vector<std::size_t> totals;
        for (const Opened& item : opened) totals.push_back(item.uncompressed_bytes);
        const std::vector<DeviceBytes> outputs = place(totals);
        TRICODEC_INVARIANT(outputs.size() == opened.size());
        for (std::size_t i = 0; i < opened.size(); ++i) {
            const Opened& item = opened[i];
            const DeviceBytes output = outputs[i];
            if (item.uncompressed_bytes == 0) continue;
            const std::byte* base = streams[i].data;
            if (address(base) % kChunkAlignment != 0) {
                std::byte* copy = queue.allocate(streams[i].size);
                staged_in.push_back({address(base), address(copy), streams[i].size, 0});
                base = copy;
            }
            std::vector<Chunk>& chunks = groups[item.options];
            const bool aligned = address(output.data) % kChunkAlignment == 0 &&
                                 (item.places.size() == 1 || item.chunk_bytes % kChunkAlignment == 0);
            const std::size_t pitch = align_up(item.chunk_bytes, kAlignment);
            std::byte* slots = aligned ? nullptr : queue.allocate(pitch * item.places.size());
            for (std::size_t c = 0; c < item.places.size(); ++c) {
                const std::size_t begin = c * item.chunk_bytes;
                const std::size_t room = std::min<std::uint64_t>(item.chunk_bytes, item.uncompressed_bytes - begin);
                Chunk chunk{i, base + item.places[c].offset, item.places[c].size, output.data + begin, room};
                if (!aligned) {
                    chunk.to = slots + c * pitch;
                    staged_out.push_back({address(chunk.to), address(output.data + begin), room, 0});
                }
                chunks.push_back(chunk);
            }
        }
        queue.gather(staged_in);
        for (auto& [options, chunks] : groups) decompress_group(api(options), chunks, streams.size(), queue);
        queue.gather(staged_out);
    }

private:
    const ChunkOptions& encoder_options() const {
        TRICODEC_EXPECT(options_.algorithm.has_value(), invalid_argument,
                        "this codec has no algorithm, which is enough for decoding only; name one");
        return chunk_options_;
    }

    const BatchApi& api(const ChunkOptions& options) {
        const std::lock_guard lock(mutex_);
        auto found = apis_.find(options);
        if (found == apis_.end()) found = apis_.emplace(options, nvcomp::load_batch_api(options)).first;
        return found->second;
    }

    template <class Function>
    static std::size_t temp_bytes(Function function, const nvcomp::BatchOptions& options, std::size_t count,
                                  std::size_t largest) {
        std::size_t bytes = 0;
        check_status(function(count, largest, options, &bytes, count * largest), "asking for scratch memory");
        return bytes;
    }

    /// The largest part of `count` whose memory fits into the budget.
    template <class Need>
    static std::size_t batch_size(std::size_t count, std::size_t budget, const Need& need) {
        std::size_t step = std::max<std::size_t>(1, count);
        while (step > 1 && need(step) > budget) step = (step + 1) / 2;
        return step;
    }

    std::vector<Chunk> cut(std::span<const DeviceBytes> inputs, const BatchApi& functions, DeviceQueue& queue) const {
        const bool native = options_.bitstream == BitstreamKind::native;
        const std::size_t element = size_of(chunk_options_.element_type);
        const Compression algorithm = chunk_options_.algorithm;
        std::vector<Chunk> chunks;
        std::vector<GatherCopy> staged;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const DeviceBytes& input = inputs[i];
            const auto refuse = [&](const std::string& why) {
                throw BatchError(Error(ErrorCode::invalid_argument, "the input has " + why), "input", i, inputs.size());
            };
            if ((algorithm == Compression::cascaded || algorithm == Compression::bitcomp) &&
                input.size % element != 0) {
                refuse(std::to_string(input.size) + " bytes; " + std::string(to_string(algorithm)) +
                       " with data_type \"" + std::string(to_typestr(chunk_options_.element_type)) +
                       "\" needs a multiple of " + std::to_string(element) + "; choose a data_type that fits");
            }
            const std::size_t step = native ? options_.chunk_bytes : std::max<std::size_t>(1, input.size);
            const std::size_t largest = std::min(step, input.size);
            if (largest > functions.largest_chunk) {
                refuse("chunks of " + std::to_string(largest) + " bytes; " + std::string(to_string(algorithm)) +
                       " takes " + std::to_string(functions.largest_chunk) + " at most on a GPU : code=18.");
            }
            const std::size_t count = ceil_div(input.size, step);
            const bool aligned =
                address(input.data) % kChunkAlignment == 0 && (count <= 1 || step % kChunkAlignment == 0);
            const std::size_t pitch = align_up(step, kAlignment);
            std::byte* copies = aligned ? nullptr : queue.allocate(pitch * count);
            for (std::size_t c = 0; c < count; ++c) {
                const std::byte* from = input.data + c * step;
                const std::size_t size = std::min(step, input.size - c * step);
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

    /// Compresses to slots; leaves in each chunk where its bytes are. With `compact` they are moved together, for the
    /// slots to be used again.
    static void compress_batch(const BatchApi& functions, std::span<Chunk> batch, std::size_t largest, std::size_t slot,
                               std::span<std::size_t> sizes, DeviceQueue& queue, bool compact) {
        const std::size_t mark = queue.mark();
        std::byte* slots = queue.allocate(batch.size() * slot);
        const std::size_t temp = temp_bytes(functions.compress_temp, functions.compress_options, batch.size(), largest);
        std::byte* scratch = queue.allocate(temp);
        std::vector<const void*> inputs;
        std::vector<std::size_t> input_sizes;
        std::vector<void*> outputs;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            batch[i].to = slots + i * slot;
            inputs.push_back(batch[i].from);
            input_sizes.push_back(batch[i].size);
            outputs.push_back(batch[i].to);
        }
        auto* device_sizes = reinterpret_cast<std::size_t*>(queue.allocate(batch.size() * sizeof(std::size_t)));
        auto* statuses = reinterpret_cast<Status*>(queue.allocate(batch.size() * sizeof(Status)));
        cuda::check(cuda::api().set_bytes_async(address(statuses), 0, batch.size() * sizeof(Status), queue.handle()),
                    "clearing statuses");
        check_status(functions.compress(queue.upload(inputs), queue.upload(input_sizes), largest, batch.size(), scratch,
                                        temp, queue.upload(outputs), device_sizes, functions.compress_options, statuses,
                                        queue.handle()),
                     "compressing on the GPU");
        const std::size_t* actual = queue.download(device_sizes, batch.size());
        const Status* results = queue.download(statuses, batch.size());
        queue.wait();
        std::size_t total = 0;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            check_status(results[i], "compressing a chunk on the GPU");
            TRICODEC_INVARIANT(actual[i] <= slot);
            sizes[i] = actual[i];
            total += align_up(actual[i], kAlignment);
        }
        if (!compact) return;
        // Memory that outlives the slots: allocated as one piece before they are given back.
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

    /// Heads and chunks to where the caller wants them, in one launch.
    void assemble(std::span<const DeviceBytes> inputs, std::span<const Chunk> chunks,
                  std::span<const std::size_t> sizes, const DeviceBatchPlacer& place, DeviceQueue& queue) {
        const Compression algorithm = *options_.algorithm;
        const bool native = options_.bitstream == BitstreamKind::native;
        std::vector<std::byte> heads;
        struct Target {
            std::byte* data;
            std::size_t offset;
            std::size_t size;
        };
        std::vector<std::vector<std::byte>> own_heads;
        std::vector<std::size_t> totals;
        std::size_t next = 0;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const std::size_t first = next;
            while (next < chunks.size() && chunks[next].item == i) ++next;
            const std::span<const std::size_t> own = sizes.subspan(first, next - first);
            std::vector<std::byte> head;
            if (native) {
                const std::vector<std::uint64_t> wide(own.begin(), own.end());
                head.resize(head_bytes(algorithm, wide.size()));
                write_head(head.data(), chunk_options_, inputs[i].size, options_.chunk_bytes, wide);
            } else if (own.empty()) {
                head = empty_stream();
            } else {
                head.resize(prefix_of(algorithm, options_.bitstream));
                const std::uint64_t size = inputs[i].size;
                std::memcpy(head.data(), &size, head.size());
            }
            std::size_t data = 0;
            for (const std::size_t size : own) data = align_up(data, kChunkAlignment) + size;
            totals.push_back(head.size() + data);
            own_heads.push_back(std::move(head));
        }
        const std::vector<DeviceBytes> places = place(totals);
        TRICODEC_INVARIANT(places.size() == inputs.size());
        std::vector<Target> targets;
        std::vector<GatherCopy> copies;
        next = 0;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const std::vector<std::byte>& head = own_heads[i];
            std::byte* const to = places[i].data;
            targets.push_back({to, heads.size(), head.size()});
            std::size_t at = head.size();
            for (; next < chunks.size() && chunks[next].item == i; ++next) {
                const bool last = next + 1 == chunks.size() || chunks[next + 1].item != i;
                const std::size_t end = at + sizes[next];
                const std::size_t zeros = last ? 0 : align_up(end - head.size(), kChunkAlignment) + head.size() - end;
                copies.push_back({address(chunks[next].to), address(to + at), sizes[next], zeros});
                at = end + zeros;
            }
            heads.insert(heads.end(), head.begin(), head.end());
            heads.resize(align_up(heads.size(), kAlignment));
        }
        const std::byte* uploaded = queue.upload(heads);
        for (const Target& target : targets) {
            if (target.size > 0)
                copies.push_back({address(uploaded + target.offset), address(target.data), target.size, 0});
        }
        queue.gather(copies);
    }

    /// The stream of no bytes, which the GPU's compressors do not make.
    std::vector<std::byte> empty_stream() const {
        TRICODEC_EXPECT(host_ != nullptr, invalid_argument, "ANS takes no empty array");
        std::vector<std::byte> stream;
        const ByteView nothing;
        host_->compress({&nothing, 1}, [&](std::size_t, std::size_t size) {
            stream.resize(size);
            return std::span<std::byte>(stream);
        });
        return stream;
    }

    /// Headers to the host and checked; tables of many chunks in a second round.
    std::vector<Opened> open(std::span<const DeviceBytes> streams, DeviceQueue& queue) {
        std::vector<Opened> opened(streams.size());
        const bool native = options_.bitstream == BitstreamKind::native;
        if (!native && prefix_of(encoder_options().algorithm, options_.bitstream) == 0) {
            open_raw(streams, opened, queue);
        } else {
            const std::vector<ByteView> starts = peek(streams, queue);
            std::vector<Container> containers;
            for (std::size_t i = 0; i < streams.size(); ++i) {
                try {
                    if (native) {
                        containers.push_back(
                            read_header(starts[i].first(std::min(starts[i].size(), kLargestHeader)), streams[i].size));
                    } else {
                        open_sized(streams[i], starts[i], opened[i]);
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

    static std::vector<ByteView> peek(std::span<const DeviceBytes> streams, DeviceQueue& queue) {
        std::byte* staging = queue.allocate(streams.size() * kPeekBytes);
        std::vector<GatherCopy> copies;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            copies.push_back({address(streams[i].data), address(staging + i * kPeekBytes),
                              std::min(streams[i].size, kPeekBytes), 0});
        }
        queue.gather(copies);
        const std::byte* host = queue.download(staging, streams.size() * kPeekBytes);
        queue.wait();
        std::vector<ByteView> starts;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            starts.emplace_back(host + i * kPeekBytes, std::min(streams[i].size, kPeekBytes));
        }
        return starts;
    }

    static void read_tables(std::span<const DeviceBytes> streams, std::span<const ByteView> starts,
                            std::span<const Container> containers, std::vector<Opened>& opened, DeviceQueue& queue) {
        std::vector<const std::byte*> tables(streams.size());
        bool waits = false;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            const Container& c = containers[i];
            const std::size_t size = 16 * c.num_chunks;
            if (c.table_offset + size <= starts[i].size()) {
                tables[i] = starts[i].data() + c.table_offset;
            } else {
                tables[i] = queue.download(streams[i].data + c.table_offset, size);
                waits = true;
            }
        }
        if (waits) queue.wait();
        for (std::size_t i = 0; i < streams.size(); ++i) {
            const Container& c = containers[i];
            try {
                opened[i] = {c.options, c.uncompressed_bytes, c.chunk_bytes,
                             read_table(c, {tables[i], 16 * c.num_chunks})};
            } catch (const Error& error) {
                throw BatchError(error, "stream", i, streams.size());
            }
        }
    }

    void open_sized(const DeviceBytes& stream, ByteView start, Opened& opened) const {
        const std::size_t prefix = prefix_of(chunk_options_.algorithm, options_.bitstream);
        TRICODEC_EXPECT(
            stream.size > prefix, corrupt_data,
            "the stream has " + std::to_string(stream.size) + " bytes; its size alone takes " + std::to_string(prefix));
        std::uint64_t size = 0;
        std::memcpy(&size, start.data(), prefix);
        expect_possible_ratio(chunk_options_.algorithm, stream.size - prefix, size);
        opened = {chunk_options_, size, std::max<std::uint64_t>(1, size), {{prefix, stream.size - prefix}}};
    }

    void open_raw(std::span<const DeviceBytes> streams, std::vector<Opened>& opened, DeviceQueue& queue) {
        const BatchApi& functions = api(chunk_options_);
        std::vector<const void*> inputs;
        std::vector<std::size_t> sizes;
        for (const DeviceBytes& stream : streams) {
            TRICODEC_EXPECT(stream.size > 0, corrupt_data, "the stream is empty");
            inputs.push_back(stream.data);
            sizes.push_back(stream.size);
        }
        auto* found = reinterpret_cast<std::size_t*>(queue.allocate(streams.size() * sizeof(std::size_t)));
        if (!streams.empty()) {
            check_status(functions.decompressed_size(queue.upload(inputs), queue.upload(sizes), found, streams.size(),
                                                     queue.handle()),
                         "asking for decompressed sizes");
        }
        const std::size_t* host = queue.download(found, streams.size());
        queue.wait();
        for (std::size_t i = 0; i < streams.size(); ++i) {
            expect_possible_ratio(chunk_options_.algorithm, streams[i].size, host[i]);
            opened[i] = {chunk_options_, host[i], std::max<std::uint64_t>(1, host[i]), {{0, streams[i].size}}};
        }
    }

    static void decompress_group(const BatchApi& functions, std::span<const Chunk> chunks, std::size_t num_streams,
                                 DeviceQueue& queue) {
        std::size_t largest = 0;
        for (const Chunk& chunk : chunks) largest = std::max(largest, chunk.room);
        const auto need = [&](std::size_t count) {
            return temp_bytes(functions.decompress_temp, functions.decompress_options, count, largest);
        };
        const std::size_t step = batch_size(chunks.size(), queue.memory_budget(kLeastBudget), need);
        for (std::size_t first = 0; first < chunks.size(); first += step) {
            const std::span<const Chunk> batch = chunks.subspan(first, std::min(step, chunks.size() - first));
            const std::size_t mark = queue.mark();
            decompress_batch(functions, batch, need(batch.size()), num_streams, queue);
            queue.release_from(mark);
        }
    }

    static void decompress_batch(const BatchApi& functions, std::span<const Chunk> batch, std::size_t temp,
                                 std::size_t num_streams, DeviceQueue& queue) {
        std::vector<const void*> inputs;
        std::vector<std::size_t> sizes;
        std::vector<void*> outputs;
        std::vector<std::size_t> rooms;
        for (const Chunk& chunk : batch) {
            inputs.push_back(chunk.from);
            sizes.push_back(chunk.size);
            outputs.push_back(chunk.to);
            rooms.push_back(chunk.room);
        }
        std::byte* scratch = queue.allocate(temp);
        auto* device_actual = reinterpret_cast<std::size_t*>(queue.allocate(batch.size() * sizeof(std::size_t)));
        auto* statuses = reinterpret_cast<Status*>(queue.allocate(batch.size() * sizeof(Status)));
        cuda::check(cuda::api().set_bytes_async(address(statuses), 0, batch.size() * sizeof(Status), queue.handle()),
                    "clearing statuses");
        check_status(functions.decompress(queue.upload(inputs), queue.upload(sizes), queue.upload(rooms), device_actual,
                                          batch.size(), scratch, temp, queue.upload(outputs),
                                          functions.decompress_options, statuses, queue.handle()),
                     "decompressing on the GPU");
        const std::size_t* actual = queue.download(device_actual, batch.size());
        const Status* results = queue.download(statuses, batch.size());
        queue.wait();
        for (std::size_t i = 0; i < batch.size(); ++i) {
            if (results[i] == 0 && actual[i] == batch[i].room) continue;
            const Error damage(ErrorCode::corrupt_data, "a chunk is damaged: it gave " + std::to_string(actual[i]) +
                                                            " bytes, not " + std::to_string(batch[i].room) +
                                                            " : code=" + std::to_string(results[i]) + ".");
            throw BatchError(damage, "stream", batch[i].item, num_streams);
        }
    }

    CodecOptions options_;
    Device device_;
    ChunkOptions chunk_options_;
    std::unique_ptr<Compressor> host_;
    std::mutex mutex_;
    std::map<ChunkOptions, BatchApi, OptionsOrder> apis_;
};

GpuCodec::GpuCodec(const CodecOptions& options, Device device) : impl_(std::make_unique<Impl>(options, device)) {}
GpuCodec::~GpuCodec() = default;

Device GpuCodec::device() const noexcept {
    return impl_->device();
}
std::size_t GpuCodec::max_compressed_bytes(std::size_t size_bytes) const {
    return impl_->max_compressed_bytes(size_bytes);
}
void GpuCodec::compress(std::span<const DeviceBytes> inputs, const DevicePlacer& place, StreamView stream) const {
    impl_->compress(inputs, one_by_one(place), stream);
}
void GpuCodec::compress(std::span<const DeviceBytes> inputs, const DeviceBatchPlacer& place, StreamView stream) const {
    impl_->compress(inputs, place, stream);
}
void GpuCodec::decompress(std::span<const DeviceBytes> streams, const DevicePlacer& place, StreamView stream) const {
    impl_->decompress(streams, one_by_one(place), stream);
}
void GpuCodec::decompress(std::span<const DeviceBytes> streams, const DeviceBatchPlacer& place,
                          StreamView stream) const {
    impl_->decompress(streams, place, stream);
}
std::vector<std::size_t> GpuCodec::decompressed_sizes(std::span<const DeviceBytes> streams, StreamView stream) const {
    return impl_->decompressed_sizes(streams, stream);
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
