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

void open_sized(const Engine& engine, const DeviceBytes& stream, ByteView start, Opened& opened) {
    const std::size_t prefix = engine.prefix_bytes();
    TRICODEC_EXPECT(
        stream.size > prefix, corrupt_data,
        "the stream has " + std::to_string(stream.size) + " bytes; its size alone takes " + std::to_string(prefix));
    std::uint64_t size = 0;
    std::memcpy(&size, start.data(), prefix);
    expect_possible_ratio(engine.chunk_options().algorithm, stream.size - prefix, size);
    opened = {engine.chunk_options(), size, std::max<std::uint64_t>(1, size), {{prefix, stream.size - prefix}}};
}

void open_raw(const Engine& engine, std::span<const DeviceBytes> streams, std::vector<Opened>& opened,
              DeviceQueue& queue) {
    const BatchApi& functions = engine.api(engine.chunk_options());
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
        expect_possible_ratio(engine.chunk_options().algorithm, streams[i].size, host[i]);
        opened[i] = {engine.chunk_options(), host[i], std::max<std::uint64_t>(1, host[i]), {{0, streams[i].size}}};
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
