// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "compress/cpu/host_engine.h"
#include "tricodec/base/buffer.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/log.h"

namespace tricodec::compress {
namespace {

Container read_head_of(ByteView stream) {
    return read_header(stream.first(std::min(stream.size(), kLargestHeader)), stream.size());
}

/// Throws Error(refused) if `what` of `size` bytes and `others` bytes together pass the limit; the others alone do not.
void expect_within_limit(std::uint64_t size, const char* what, std::uint64_t others = 0) {
    const auto most = static_cast<std::uint64_t>(limits().max_output_bytes);
    TRICODEC_EXPECT(size <= most - others, refused,
                    std::string(what) + " expand to " + std::to_string(size) + " bytes" +
                        (others > 0 ? " after " + std::to_string(others) + " of others" : std::string()) +
                        ", past the limit max_output_bytes of " + std::to_string(most) +
                        "; raise it with set_limits if the data are trusted");
}

/// Throws Error(corrupt_data) if a chunk declares another size than `size`.
void expect_declared_bytes(const ChunkCodec& codec, ByteView chunk, std::uint64_t size) {
    const std::optional<std::uint64_t> declared = codec.declared_bytes(chunk);
    if (!declared || *declared == size) return;
    fail(ErrorCode::corrupt_data,
         "the stream declares " + std::to_string(*declared) + " bytes, not " + std::to_string(size));
}

}  // namespace

std::vector<std::size_t> HostEngine::decompressed_sizes(std::span<const ByteView> streams,
                                                        const Execution& /*on*/) const {
    std::vector<std::size_t> sizes;
    const auto most = static_cast<std::uint64_t>(limits().max_output_bytes);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < streams.size(); ++i) {
        try {
            const std::uint64_t size = size_of_stream(streams[i], most - total);
            expect_within_limit(size, "the data", total);
            total += size;
            sizes.push_back(size);
        } catch (const Error& error) {
            throw BatchError(error, "stream", i, streams.size());
        }
    }
    return sizes;
}

std::unique_ptr<PendingDecompression> HostEngine::start_decompress(std::span<const ByteView> streams,
                                                                   const BatchPlacer& place, const Execution& on,
                                                                   std::span<const std::size_t> sizes) const {
    struct Done final : PendingDecompression {
        void finish() override {}
    };
    const std::vector<MutableBytes> outputs =
        place(sizes.empty() ? decompressed_sizes(streams, on) : std::vector(sizes.begin(), sizes.end()));
    TRICODEC_INVARIANT(outputs.size() == streams.size());
    decompress(streams, outputs, on.runner);
    return std::make_unique<Done>();
}

void HostEngine::decompress(std::span<const ByteView> streams, std::span<const MutableBytes> outputs,
                            const TaskRunner& runner) const {
    std::vector<Stream> opened;
    std::vector<Chunks> items;
    for (std::size_t i = 0; i < streams.size(); ++i) {
        try {
            opened.push_back(open(streams[i], outputs[i].size()));
        } catch (const Error& error) {
            throw BatchError(error, "stream", i, streams.size());
        }
        const Container& c = opened.back().container;
        items.push_back({c.uncompressed_bytes, c.chunk_bytes, opened.back().places.size()});
    }
    const std::vector<Run> runs = cut_into_runs(items, options_.num_threads);
    for_each_run(runs.size(), options_.num_threads, runner, [&](std::size_t index) {
        const Run& run = runs[index];
        try {
            const std::uint64_t begin = run.first * items[run.item].chunk_bytes;
            const std::uint64_t size =
                std::min(run.count * items[run.item].chunk_bytes, outputs[run.item].size() - begin);
            decode_chunks(opened[run.item], streams[run.item], run.first, run.count,
                          outputs[run.item].subspan(begin, size));
        } catch (const Error& error) {
            throw BatchError(error, "stream", run.item, streams.size());
        }
    });
}

void HostEngine::decompress_range(ByteView stream, std::uint64_t begin, std::uint64_t end, const Placer& place) const {
    TRICODEC_EXPECT(options_.bitstream == BitstreamKind::native, invalid_argument,
                    "a range needs the container's chunk table; bitstream_kind must be NVCOMP_NATIVE");
    const Stream opened = open(stream, std::nullopt);
    const Container& c = opened.container;
    TRICODEC_EXPECT(begin <= end && end <= c.uncompressed_bytes, out_of_range,
                    "the range from " + std::to_string(begin) + " to " + std::to_string(end) +
                        " ends after the data, which have " + std::to_string(c.uncompressed_bytes) + " bytes");
    if (begin == end) return static_cast<void>(place(0, 0));
    const std::uint64_t first = begin / c.chunk_bytes;
    const std::uint64_t last = (end - 1) / c.chunk_bytes;
    expect_within_limit(last * c.chunk_bytes + c.chunk_size(last) - first * c.chunk_bytes, "the range's chunks");
    expect_declared(opened, stream, first, last - first + 1);
    const MutableBytes output = place(0, end - begin);
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

CompressedInfo HostEngine::inspect(ByteView stream) const {
    CompressedInfo info;
    info.bitstream = options_.bitstream;
    info.compressed_bytes = stream.size();
    if (options_.bitstream != BitstreamKind::native) {
        info.algorithm = *options_.algorithm;
        const auto most = static_cast<std::uint64_t>(limits().max_output_bytes);
        info.uncompressed_bytes = size_of_stream(stream, most);
        // At the limit the walk ends without the size.
        expect_within_limit(info.uncompressed_bytes, "the data");
        info.chunk_bytes = info.uncompressed_bytes;
        info.num_chunks = 1;
        return info;
    }
    const Stream opened = open(stream, std::nullopt);
    const Container& c = opened.container;
    info.algorithm = c.options.algorithm;
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
    if (info.algorithm == Compression::bitcomp || info.algorithm == Compression::cascaded) {
        info.element_type = c.options.element_type;
    }
    return info;
}

/// What a stream expands to. Checks all that needs no decoding, because callers allocate this size.
std::uint64_t HostEngine::size_of_stream(ByteView stream, std::uint64_t most) const {
    if (options_.bitstream == BitstreamKind::native) {
        const Stream opened = open_container(stream);
        expect_declared(opened, stream, 0, opened.places.size());
        return opened.container.uncompressed_bytes;
    }
    const Compression algorithm = *options_.algorithm;
    const std::size_t prefix = prefix_bytes(algorithm, options_.bitstream);
    if (prefix == 0) {
        const std::uint64_t size = pools_.of(pools_.chunk_options()).codec().measure(stream, most);
        expect_possible_ratio(algorithm, stream.size(), size);
        return size;
    }
    TRICODEC_EXPECT(
        stream.size() >= prefix, corrupt_data,
        "the stream has " + std::to_string(stream.size()) + " bytes; its size alone takes " + std::to_string(prefix));
    const std::uint64_t size = prefix == 4 ? load<std::uint32_t>(stream.data()) : load<std::uint64_t>(stream.data());
    expect_possible_ratio(algorithm, stream.size() - prefix, size);
    expect_declared_bytes(pools_.of(pools_.chunk_options()).codec(), stream.subspan(prefix), size);
    return size;
}

void HostEngine::expect_declared(const Stream& opened, ByteView stream, std::uint64_t first,
                                 std::uint64_t count) const {
    if (count == 0) return;
    const Container& c = opened.container;
    const ChunkCodec& codec = pools_.of(c.options).codec();
    for (std::uint64_t i = first; i < first + count; ++i) {
        try {
            expect_declared_bytes(codec, stream.subspan(opened.places[i].offset, opened.places[i].size),
                                  c.chunk_size(i));
        } catch (const Error& error) {
            fail(error.code(),
                 "in chunk " + std::to_string(i) + " of " + std::to_string(c.num_chunks) + ": " + error.what());
        }
    }
}

/// Reads and checks header and table.
HostEngine::Stream HostEngine::open_container(ByteView stream) {
    Stream result;
    result.container = read_head_of(stream);
    const Container& c = result.container;
    result.places = read_table(c, stream.subspan(c.table_offset, 16 * c.num_chunks));
    return result;
}

/// Checks a whole stream. `expected` is the size that it must expand to.
HostEngine::Stream HostEngine::open(ByteView stream, std::optional<std::size_t> expected) const {
    Stream result;
    if (options_.bitstream != BitstreamKind::native) {
        const std::size_t prefix = prefix_bytes(*options_.algorithm, options_.bitstream);
        TRICODEC_EXPECT(stream.size() > prefix, corrupt_data, "the stream is empty");
        if (prefix > 0 && expected) expect_size(size_of_stream(stream, UINT64_MAX), *expected);
        result.container.options = pools_.chunk_options();
        result.container.uncompressed_bytes = expected.value_or(0);
        result.container.chunk_bytes = std::max<std::uint64_t>(1, result.container.uncompressed_bytes);
        result.container.num_chunks = 1;
        result.places = {{prefix, stream.size() - prefix}};
        return result;
    }
    result = open_container(stream);
    if (expected) expect_size(result.container.uncompressed_bytes, *expected);
    if (verifies(options_.checksums)) read_sums(result, stream);
    return result;
}

/// Reads the checksums to verify.
void HostEngine::read_sums(Stream& opened, ByteView stream) const {
    const Container& c = opened.container;
    const std::uint64_t after = align_up(c.total_bytes(), 8);
    if (after < stream.size()) {
        opened.sums = read_trailer(stream.subspan(after), stream.first(c.data_offset), c.num_chunks);
    }
    TRICODEC_EXPECT(!opened.sums.empty() || options_.checksums != ChecksumPolicy::compute_verify, corrupt_data,
                    std::string("Cannot verify checksums: the stream carries none that can be read here") +
                        (c.has_foreign_checksums ? " (they are NVIDIA's, with a function that is not public)" : "") +
                        " : code=14.");
    if (opened.sums.empty() && c.has_foreign_checksums) {
        log(LogLevel::warning,
            "the stream's checksums are NVIDIA's, with a function that is not public: they are not verified");
    }
}

/// Decodes chunks to `output`, which has exactly their size.
void HostEngine::decode_chunks(const Stream& stream, ByteView bytes, std::uint64_t first, std::uint64_t count,
                               MutableBytes output) const {
    const Container& c = stream.container;
    const WorkerPool::Lease worker(pools_.of(stream.container.options));
    for (std::uint64_t i = first; i < first + count; ++i) {
        const ChunkPlace& place = stream.places[i];
        const std::uint64_t size = c.num_chunks == 1 ? c.uncompressed_bytes : c.chunk_size(i);
        const MutableBytes chunk = output.subspan((i - first) * c.chunk_bytes, size);
        const auto number = [&] { return std::to_string(i) + " of " + std::to_string(c.num_chunks); };
        try {
            worker->decompress(bytes.subspan(place.offset, place.size), chunk);
        } catch (const Error& error) {
            if (c.num_chunks <= 1) throw;
            fail(error.code(), "in chunk " + number() + ": " + error.what());
        }
        TRICODEC_EXPECT(stream.sums.empty() || checksum(chunk) == stream.sums[i], corrupt_data,
                        "Checksum doesn't match. Chunk " + number() + " is damaged. : code=13.");
    }
}

}  // namespace tricodec::compress
