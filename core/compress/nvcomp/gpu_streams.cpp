// SPDX-License-Identifier: Apache-2.0
#include "compress/nvcomp/gpu_streams.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tricodec/error.h"
#include "tricodec/limits.h"

namespace tricodec::compress::nvcomp {
namespace {

constexpr std::size_t kPeekBytes = 1024;  // header, options and the table of up to 58 chunks

std::vector<ByteView> peek(std::span<const DeviceBytes> streams, DeviceQueue& queue) {
    std::byte* staging = queue.allocate(streams.size() * kPeekBytes);
    std::vector<GatherCopy> copies;
    for (std::size_t i = 0; i < streams.size(); ++i) {
        copies.push_back(
            {address(streams[i].data), address(staging + i * kPeekBytes), std::min(streams[i].size, kPeekBytes), 0});
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

void read_tables(std::span<const DeviceBytes> streams, std::span<const ByteView> starts,
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
            opened[i] = {c.options, c.uncompressed_bytes, c.chunk_bytes, read_table(c, {tables[i], 16 * c.num_chunks})};
        } catch (const Error& error) {
            throw BatchError(error, "stream", i, streams.size());
        }
    }
}

/// Whether what an empty array makes has no bytes behind the size (Engine::empty_stream).
bool takes_nothing(const Engine& engine) {
    return engine.chunk_options().algorithm == Compression::ans;
}

void open_sized(const Engine& engine, const DeviceBytes& stream, ByteView start, Opened& opened) {
    const std::size_t prefix = engine.prefix_bytes();
    std::uint64_t size = 0;
    if (start.size() >= prefix) std::memcpy(&size, start.data(), prefix);
    const bool nothing = takes_nothing(engine) && size == 0 && stream.size == prefix;
    TRICODEC_EXPECT(
        stream.size > prefix || nothing, corrupt_data,
        "the stream has " + std::to_string(stream.size) + " bytes; its size alone takes " + std::to_string(prefix));
    expect_possible_ratio(engine.chunk_options().algorithm, stream.size - prefix, size);
    opened = {engine.chunk_options(), size, std::max<std::uint64_t>(1, size), {{prefix, stream.size - prefix}}};
}

constexpr std::size_t kLargestEmptyStream = 64;

/// Which raw streams are those of empty arrays, as this engine writes them. What NVIDIA's functions, which compress no
/// empty array, say of them is not told.
std::vector<bool> find_empty(const Engine& engine, std::span<const DeviceBytes> streams, DeviceQueue& queue) {
    std::vector<bool> is_empty(streams.size());
    std::vector<DeviceBytes> small;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < streams.size(); ++i) {
        if (streams[i].size > kLargestEmptyStream) continue;
        small.push_back(streams[i]);
        indices.push_back(i);
    }
    if (small.empty() || !engine.makes_empty_streams()) return is_empty;
    const std::vector<std::byte> empty = engine.empty_stream();
    const std::vector<ByteView> starts = peek(small, queue);
    for (std::size_t s = 0; s < small.size(); ++s) is_empty[indices[s]] = std::ranges::equal(starts[s], empty);
    return is_empty;
}

void open_raw(const Engine& engine, std::span<const DeviceBytes> streams, std::vector<Opened>& opened,
              DeviceQueue& queue) {
    const BatchApi& functions = engine.api(engine.chunk_options());
    std::vector<const void*> inputs;
    std::vector<std::size_t> sizes;
    std::vector<std::size_t> asked;  // indices of the streams that have bytes
    const std::vector<bool> is_empty = find_empty(engine, streams, queue);
    for (std::size_t i = 0; i < streams.size(); ++i) {
        opened[i] = {engine.chunk_options(), 0, 1, {}};
        if (is_empty[i]) continue;
        TRICODEC_EXPECT(streams[i].size > 0, corrupt_data, "the stream is empty");
        inputs.push_back(streams[i].data);
        sizes.push_back(streams[i].size);
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
        expect_possible_ratio(engine.chunk_options().algorithm, streams[i].size, host[a]);
        opened[i] = {engine.chunk_options(), host[a], std::max<std::uint64_t>(1, host[a]), {{0, streams[i].size}}};
    }
}

}  // namespace

std::vector<Opened> open(const Engine& engine, std::span<const DeviceBytes> streams, DeviceQueue& queue) {
    std::vector<Opened> opened(streams.size());
    const bool native = engine.is_native();
    if (!native && engine.prefix_bytes() == 0) {
        open_raw(engine, streams, opened, queue);
    } else {
        const std::vector<ByteView> starts = peek(streams, queue);
        std::vector<Container> containers;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            try {
                if (native) {
                    containers.push_back(
                        read_header(starts[i].first(std::min(starts[i].size(), kLargestHeader)), streams[i].size));
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

}  // namespace tricodec::compress::nvcomp
