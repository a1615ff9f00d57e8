// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "compress/bytes.h"
#include "compress/chunk_codec.h"
#include "compress/container.h"
#include "compress/crc32c.h"
#include "compress/runs.h"
#include "compress/trailer.h"
#include "tricodec/buffer.h"
#include "tricodec/compress.h"
#include "tricodec/error.h"
#include "tricodec/limits.h"
#include "tricodec/log.h"

namespace tricodec {

using namespace compress;

namespace {

bool computes(ChecksumPolicy policy) {
    return policy == ChecksumPolicy::compute_no_verify || policy == ChecksumPolicy::compute_verify_if_present ||
           policy == ChecksumPolicy::compute_verify;
}
bool verifies(ChecksumPolicy policy) {
    return policy != ChecksumPolicy::no_compute_no_verify && policy != ChecksumPolicy::compute_no_verify;
}

std::size_t prefix_bytes(Compression algorithm, BitstreamKind bitstream) {
    if (bitstream != BitstreamKind::with_uncompressed_size) return 0;
    return algorithm == Compression::lz4 ? 4 : 8;
}

[[noreturn]] void rethrow_in(const Error& error, std::size_t index, std::size_t count) {
    throw BatchError(error, "stream", index, count);
}

/// A stream to decompress, checked.
struct Stream {
    Compression algorithm = Compression::lz4;
    Container container;  // of one chunk if there is none
    std::vector<ChunkPlace> places;
    std::vector<std::uint32_t> sums;
};

}  // namespace

class Compressor::Impl {
public:
    explicit Impl(const CodecOptions& options) : options_(options) {
        if (options.num_threads == 0) options_.num_threads = available_cores();
        TRICODEC_EXPECT(options_.num_threads > 0, invalid_argument,
                        "num_threads is " + std::to_string(options.num_threads) +
                            "; it must be positive, or 0 for as many as there are cores");
        TRICODEC_EXPECT(
            options.bitstream == BitstreamKind::native || options.checksums == ChecksumPolicy::no_compute_no_verify,
            invalid_argument,
            "Only ChecksumPolicy::NoComputeNoVerify is allowed when using bitstream kind different than NVCOMP_NATIVE "
            ": "
            "code=11.");
        if (options.algorithm) {
            chunk_options_ = resolve_options(options, *options.algorithm);
            static_cast<void>(pool(*options.algorithm));
        } else {
            TRICODEC_EXPECT(options.bitstream == BitstreamKind::native, invalid_argument,
                            "bitstream_kind RAW and WITH_UNCOMPRESSED_SIZE do not tell the algorithm; name it");
        }
    }

    const CodecOptions& options() const noexcept { return options_; }

    std::size_t max_compressed_bytes(std::size_t size) {
        const ChunkCodec& codec = encoder().codec();
        if (options_.bitstream != BitstreamKind::native) {
            return prefix_bytes(*options_.algorithm, options_.bitstream) + codec.bound(size);
        }
        const std::uint64_t chunks = ceil_div(size, options_.chunk_bytes);
        const std::uint64_t slot = align_up(codec.bound(std::min(size, options_.chunk_bytes)), kChunkAlignment);
        return head_bytes(*options_.algorithm, chunks) + chunks * slot +
               (computes(options_.checksums) ? trailer_bytes(chunks) : 0);
    }

    void compress(std::span<const ByteView> inputs, const BatchPlacer& place, const TaskRunner& runner) {
        WorkerPool& workers = encoder();
        const ChunkCodec& codec = workers.codec();
        std::vector<Chunks> items;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            try {
                items.push_back(chunks_of(inputs[i], codec));
            } catch (const Error& error) {
                throw BatchError(error, "input", i, inputs.size());
            }
        }
        const std::vector<Run> runs = cut_into_runs(items, options_.num_threads);

        // Each run packs its chunks into a part of the scratch memory that is large enough for the worst.
        std::vector<std::size_t> run_offsets;
        std::size_t scratch_bytes = 0;
        for (const Run& run : runs) {
            run_offsets.push_back(scratch_bytes);
            const Chunks& item = items[run.item];
            const std::size_t size = static_cast<std::size_t>(std::min(item.chunk_bytes, item.total_bytes));
            scratch_bytes += run.count * align_up(codec.bound(size), kChunkAlignment);
        }
        const auto scratch = Buffer::allocate(scratch_bytes);
        std::vector<std::vector<std::uint64_t>> sizes(inputs.size());
        std::vector<std::vector<std::uint32_t>> sums(inputs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            sizes[i].resize(items[i].count);
            if (computes(options_.checksums)) sums[i].resize(items[i].count);
        }
        std::vector<std::size_t> run_bytes(runs.size());
        for_each_run(runs.size(), options_.num_threads, runner, [&](std::size_t index) {
            const Run& run = runs[index];
            const Chunks& item = items[run.item];
            const WorkerPool::Lease worker(workers);
            std::byte* begin = scratch->data() + run_offsets[index];
            std::size_t used = 0;
            for (std::uint64_t chunk = run.first; chunk < run.first + run.count; ++chunk) {
                const std::uint64_t from = chunk * item.chunk_bytes;
                const ByteView input =
                    inputs[run.item].subspan(from, std::min(item.chunk_bytes, item.total_bytes - from));
                const std::size_t padded = align_up(used, kChunkAlignment);
                std::memset(begin + used, 0, padded - used);
                const std::size_t size = worker->compress(input, {begin + padded, codec.bound(input.size())});
                sizes[run.item][chunk] = size;
                used = padded + size;
                if (computes(options_.checksums)) sums[run.item][chunk] = crc32c(input);
            }
            run_bytes[index] = used;
        });
        gather(inputs, place, runner, {runs, run_offsets, run_bytes, scratch->data()}, sizes, sums);
    }

    std::vector<std::size_t> decompressed_sizes(std::span<const ByteView> streams) {
        std::vector<std::size_t> sizes;
        const auto most = static_cast<std::uint64_t>(limits().max_output_bytes);
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            try {
                const std::uint64_t size = size_of_stream(streams[i], most - total);
                TRICODEC_EXPECT(size <= most - total, refused,
                                "the data expand to " + std::to_string(size) + " bytes" +
                                    (total > 0 ? " after " + std::to_string(total) + " of others" : std::string()) +
                                    ", past the limit max_output_bytes of " + std::to_string(most) +
                                    "; raise it with set_limits if the data are trusted");
                total += size;
                sizes.push_back(size);
            } catch (const Error& error) {
                rethrow_in(error, i, streams.size());
            }
        }
        return sizes;
    }

    void decompress(std::span<const ByteView> streams, std::span<const std::span<std::byte>> outputs,
                    const TaskRunner& runner) {
        TRICODEC_EXPECT(
            streams.size() == outputs.size(), invalid_argument,
            std::to_string(streams.size()) + " streams have " + std::to_string(outputs.size()) + " outputs");
        std::vector<Stream> opened;
        std::vector<Chunks> items;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            try {
                opened.push_back(open(streams[i], outputs[i].size()));
            } catch (const Error& error) {
                rethrow_in(error, i, streams.size());
            }
            const Container& c = opened.back().container;
            items.push_back({c.uncompressed_bytes, c.chunk_bytes, opened.back().places.size()});
        }
        const std::vector<Run> runs = cut_into_runs(items, options_.num_threads);
        for_each_run(runs.size(), options_.num_threads, runner, [&](std::size_t index) {
            const Run& run = runs[index];
            try {
                decode_run(opened[run.item], streams[run.item], run.first, run.count, outputs[run.item]);
            } catch (const Error& error) {
                rethrow_in(error, run.item, streams.size());
            }
        });
    }

    void decompress_range(ByteView stream, std::uint64_t begin, std::span<std::byte> output) {
        TRICODEC_EXPECT(options_.bitstream == BitstreamKind::native, invalid_argument,
                        "a range needs the container's chunk table; bitstream_kind must be NVCOMP_NATIVE");
        const Stream opened = open(stream, std::nullopt);
        const Container& c = opened.container;
        TRICODEC_EXPECT(begin <= c.uncompressed_bytes && output.size() <= c.uncompressed_bytes - begin, out_of_range,
                        "bytes [" + std::to_string(begin) + ", " + std::to_string(begin + output.size()) +
                            ") are not all there; the data have " + std::to_string(c.uncompressed_bytes));
        if (output.empty()) return;
        const std::uint64_t end = begin + output.size();
        const std::uint64_t first = begin / c.chunk_bytes;
        const std::uint64_t last = (end - 1) / c.chunk_bytes;
        for_each_run(last - first + 1, options_.num_threads, {}, [&](std::size_t i) {
            const std::uint64_t chunk = first + i;
            const std::uint64_t chunk_begin = chunk * c.chunk_bytes;
            const std::uint64_t size = c.chunk_size(chunk);
            if (chunk_begin >= begin && chunk_begin + size <= end) {
                return decode_chunks(opened, stream, chunk, 1, output.subspan(chunk_begin - begin, size));
            }
            const auto whole = Buffer::allocate(size);
            decode_chunks(opened, stream, chunk, 1, whole->bytes());
            const std::uint64_t from = std::max(begin, chunk_begin);
            const std::uint64_t to = std::min(end, chunk_begin + size);
            std::memcpy(output.data() + (from - begin), whole->data() + (from - chunk_begin), to - from);
        });
    }

    CompressedInfo inspect(ByteView stream) {
        CompressedInfo info;
        info.bitstream = options_.bitstream;
        info.compressed_bytes = stream.size();
        if (options_.bitstream != BitstreamKind::native) {
            info.algorithm = *options_.algorithm;
            info.uncompressed_bytes = size_of_stream(stream, UINT64_MAX);
            info.chunk_bytes = info.uncompressed_bytes;
            info.num_chunks = 1;
            return info;
        }
        const Stream opened = open(stream, std::nullopt);
        const Container& c = opened.container;
        info.algorithm = opened.algorithm;
        info.uncompressed_bytes = c.uncompressed_bytes;
        info.chunk_bytes = c.chunk_bytes;
        info.num_chunks = c.num_chunks;
        info.container_version = c.version;
        info.compressed_bytes = c.total_bytes();
        const std::uint64_t after = align_up(c.total_bytes(), 8);
        if (after < stream.size() &&
            !read_trailer(stream.subspan(after), stream.first(c.data_offset), c.num_chunks).empty()) {
            info.has_checksums = true;
            info.compressed_bytes = after + trailer_bytes(c.num_chunks);
        }
        info.has_checksums = info.has_checksums || c.has_foreign_checksums;
        if (opened.algorithm == Compression::bitcomp || opened.algorithm == Compression::cascaded) {
            info.element_type = c.options.element_type;
        }
        return info;
    }

private:
    /// What a run left in the scratch memory.
    struct Packed {
        const std::vector<Run>& runs;
        const std::vector<std::size_t>& offsets;
        const std::vector<std::size_t>& sizes;
        const std::byte* data;
    };

    WorkerPool& encoder() {
        TRICODEC_EXPECT(options_.algorithm.has_value(), invalid_argument,
                        "this codec has no algorithm, which is enough for decoding only; name one");
        return pool(*options_.algorithm);
    }

    WorkerPool& pool(Compression algorithm) {
        const std::lock_guard lock(mutex_);
        auto& slot = pools_.at(static_cast<std::size_t>(algorithm));
        if (!slot) {
            ChunkOptions options = chunk_options_;
            if (algorithm != options_.algorithm) {
                options = {};
                options.algorithm = algorithm;
                options.trusted = options_.trusted;
            }
            slot = std::make_unique<WorkerPool>(make_chunk_codec(options));
        }
        return *slot;
    }

    Chunks chunks_of(ByteView input, const ChunkCodec& codec) const {
        const Compression algorithm = *options_.algorithm;
        const std::size_t element = size_of(chunk_options_.element_type);
        TRICODEC_EXPECT(
            (algorithm != Compression::cascaded && algorithm != Compression::bitcomp) || input.size() % element == 0,
            invalid_argument,
            "the input has " + std::to_string(input.size()) + " bytes; " + std::string(to_string(algorithm)) +
                " with data_type \"" + std::string(to_typestr(chunk_options_.element_type)) +
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

    /// Puts head, chunks and checksums where the caller wants them.
    void gather(std::span<const ByteView> inputs, const BatchPlacer& place, const TaskRunner& runner,
                const Packed& packed, const std::vector<std::vector<std::uint64_t>>& sizes,
                const std::vector<std::vector<std::uint32_t>>& sums) {
        const Compression algorithm = *options_.algorithm;
        const bool native = options_.bitstream == BitstreamKind::native;
        const bool with_sums = native && computes(options_.checksums);
        const auto head_of = [&](std::size_t i) {
            return native ? head_bytes(algorithm, sizes[i].size()) : prefix_bytes(algorithm, options_.bitstream);
        };
        std::vector<std::uint64_t> ends;  // of the chunks
        std::vector<std::size_t> totals;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            std::uint64_t data = 0;
            for (const std::uint64_t size : sizes[i]) data = align_up(data, kChunkAlignment) + size;
            ends.push_back(head_of(i) + data);
            totals.push_back(with_sums ? align_up(ends[i], 8) + trailer_bytes(sizes[i].size()) : ends[i]);
        }
        const std::vector<std::span<std::byte>> places = place(totals);
        TRICODEC_INVARIANT(places.size() == inputs.size());
        std::vector<std::byte*> chunk_starts(inputs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const std::span<std::byte> to = places[i];
            TRICODEC_INVARIANT(to.size() == totals[i]);
            const std::uint64_t head = head_of(i);
            chunk_starts[i] = to.data() + head;
            if (native) {
                write_head(to.data(), chunk_options_, inputs[i].size(), options_.chunk_bytes, sizes[i]);
            } else if (head == 4) {
                store<std::uint32_t>(to.data(), static_cast<std::uint32_t>(inputs[i].size()));
            } else if (head == 8) {
                store<std::uint64_t>(to.data(), inputs[i].size());
            }
            if (with_sums) {
                const std::uint64_t trailer = align_up(ends[i], 8);
                std::memset(to.data() + ends[i], 0, trailer - ends[i]);
                write_trailer(to.data() + trailer, to.first(head), sums[i]);
            }
        }
        // Where each run goes follows from the chunks before it.
        std::vector<std::byte*> targets(packed.runs.size());
        std::vector<std::size_t> padding(packed.runs.size());
        std::uint64_t at = 0;
        for (std::size_t r = 0; r < packed.runs.size(); ++r) {
            if (r == 0 || packed.runs[r].item != packed.runs[r - 1].item) at = 0;
            const std::uint64_t aligned = align_up(at, kChunkAlignment);
            padding[r] = aligned - at;
            targets[r] = chunk_starts[packed.runs[r].item] + aligned;
            at = aligned + packed.sizes[r];
        }
        for_each_run(packed.runs.size(), options_.num_threads, runner, [&](std::size_t r) {
            std::memset(targets[r] - padding[r], 0, padding[r]);
            std::memcpy(targets[r], packed.data + packed.offsets[r], packed.sizes[r]);
        });
    }

    std::uint64_t size_of_stream(ByteView stream, std::uint64_t most) {
        if (options_.bitstream == BitstreamKind::native) return read_head_of(stream).uncompressed_bytes;
        const Compression algorithm = *options_.algorithm;
        const std::size_t prefix = prefix_bytes(algorithm, options_.bitstream);
        if (prefix == 0) return pool(algorithm).codec().measure(stream, most);
        TRICODEC_EXPECT(stream.size() >= prefix, corrupt_data,
                        "the stream has " + std::to_string(stream.size()) + " bytes; its size alone takes " +
                            std::to_string(prefix));
        const std::uint64_t size =
            prefix == 4 ? load<std::uint32_t>(stream.data()) : load<std::uint64_t>(stream.data());
        expect_possible_ratio(algorithm, stream.size() - prefix, size);
        return size;
    }

    static Container read_head_of(ByteView stream) {
        return read_header(stream.first(std::min(stream.size(), kLargestHeader)), stream.size());
    }

    /// Checks a stream whole. `expected` is what it must expand to.
    Stream open(ByteView stream, std::optional<std::size_t> expected) {
        Stream result;
        if (options_.bitstream != BitstreamKind::native) {
            const std::size_t prefix = prefix_bytes(*options_.algorithm, options_.bitstream);
            TRICODEC_EXPECT(stream.size() > prefix, corrupt_data, "the stream is empty");
            if (prefix > 0 && expected) expect_size(size_of_stream(stream, UINT64_MAX), *expected);
            result.algorithm = *options_.algorithm;
            result.container.uncompressed_bytes = expected.value_or(0);
            result.container.chunk_bytes = std::max<std::uint64_t>(1, result.container.uncompressed_bytes);
            result.container.num_chunks = 1;
            result.places = {{prefix, stream.size() - prefix}};
            return result;
        }
        result.container = read_head_of(stream);
        const Container& c = result.container;
        result.algorithm = c.options.algorithm;
        if (expected) expect_size(c.uncompressed_bytes, *expected);
        result.places = read_table(c, stream.subspan(c.table_offset, 16 * c.num_chunks));
        if (verifies(options_.checksums)) {
            const std::uint64_t after = align_up(c.total_bytes(), 8);
            if (after < stream.size()) {
                result.sums = read_trailer(stream.subspan(after), stream.first(c.data_offset), c.num_chunks);
            }
            TRICODEC_EXPECT(!result.sums.empty() || options_.checksums != ChecksumPolicy::compute_verify, corrupt_data,
                            std::string("Cannot verify checksums: the stream carries none that can be read here") +
                                (c.has_foreign_checksums ? " (NVIDIA's, whose function is not public)" : "") +
                                " : code=14.");
            if (result.sums.empty() && c.has_foreign_checksums) {
                log(LogLevel::warning,
                    "the stream's checksums are NVIDIA's, whose function is not public: they are not verified");
            }
        }
        return result;
    }

    static void expect_size(std::uint64_t size, std::size_t expected) {
        TRICODEC_EXPECT(
            size == expected, invalid_argument,
            "the output has " + std::to_string(expected) + " bytes; the stream expands to " + std::to_string(size));
    }

    void decode_run(const Stream& stream, ByteView bytes, std::uint64_t first, std::uint64_t count,
                    std::span<std::byte> output) {
        const Container& c = stream.container;
        const std::uint64_t begin = first * c.chunk_bytes;
        const std::uint64_t end = std::min(c.uncompressed_bytes, (first + count) * c.chunk_bytes);
        decode_chunks(stream, bytes, first, count, output.subspan(begin, end - begin));
    }

    /// Decodes chunks to `output`, which holds just them.
    void decode_chunks(const Stream& stream, ByteView bytes, std::uint64_t first, std::uint64_t count,
                       std::span<std::byte> output) {
        const Container& c = stream.container;
        std::vector<ChunkJob> jobs(count);
        for (std::uint64_t i = 0; i < count; ++i) {
            const ChunkPlace& place = stream.places[first + i];
            const std::uint64_t size = c.num_chunks == 1 ? c.uncompressed_bytes : c.chunk_size(first + i);
            jobs[i] = {bytes.subspan(place.offset, place.size), output.subspan(i * c.chunk_bytes, size)};
        }
        {
            const WorkerPool::Lease worker(pool(stream.algorithm));
            try {
                worker->decompress_all(jobs);
            } catch (const Error& error) {
                if (c.num_chunks <= 1) throw;
                fail(error.code(), "in chunks " + std::to_string(first) + " to " + std::to_string(first + count - 1) +
                                       " of " + std::to_string(c.num_chunks) + ": " + error.what());
            }
        }
        if (stream.sums.empty()) return;
        for (std::uint64_t i = 0; i < count; ++i) {
            TRICODEC_EXPECT(crc32c(jobs[i].output) == stream.sums[first + i], corrupt_data,
                            "Checksum doesn't match. Chunk " + std::to_string(first + i) + " of " +
                                std::to_string(c.num_chunks) + " is damaged. : code=13.");
        }
    }

    CodecOptions options_;
    ChunkOptions chunk_options_;
    std::mutex mutex_;
    std::array<std::unique_ptr<WorkerPool>, kNumCompressions> pools_;
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
    return impl_->options();
}
std::size_t Compressor::max_compressed_bytes(std::size_t size_bytes) const {
    return impl_->max_compressed_bytes(size_bytes);
}
void Compressor::compress(std::span<const ByteView> inputs, const Placer& place, const TaskRunner& runner) const {
    const auto place_all = [&](std::span<const std::size_t> sizes) {
        std::vector<std::span<std::byte>> places;
        for (std::size_t i = 0; i < sizes.size(); ++i) places.push_back(place(i, sizes[i]));
        return places;
    };
    impl_->compress(inputs, place_all, runner);
}
void Compressor::compress(std::span<const ByteView> inputs, const BatchPlacer& place, const TaskRunner& runner) const {
    impl_->compress(inputs, place, runner);
}
std::vector<std::size_t> Compressor::decompressed_sizes(std::span<const ByteView> streams) const {
    return impl_->decompressed_sizes(streams);
}
void Compressor::decompress(std::span<const ByteView> streams, std::span<const std::span<std::byte>> outputs,
                            const TaskRunner& runner) const {
    impl_->decompress(streams, outputs, runner);
}
void Compressor::decompress_range(ByteView stream, std::uint64_t begin, std::span<std::byte> output) const {
    impl_->decompress_range(stream, begin, output);
}
CompressedInfo Compressor::inspect(ByteView stream) const {
    return impl_->inspect(stream);
}

}  // namespace tricodec
