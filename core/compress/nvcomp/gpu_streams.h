// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/container.h"
#include "compress/nvcomp/device_queue.h"
#include "compress/nvcomp/gpu_engine.h"

namespace tricodec::compress::nvcomp {

/// A stream to decompress, its header checked.
struct Opened {
    ChunkOptions options;
    std::uint64_t uncompressed_bytes = 0;
    std::uint64_t chunk_bytes = 0;
    std::vector<ChunkPlace> places;
};

/// Headers to the host and checked; tables of many chunks in a second round. The host waits for the copies.
[[nodiscard]] std::vector<Opened> open(const Engine& engine, std::span<const DeviceBytes> streams, DeviceQueue& queue);

}  // namespace tricodec::compress::nvcomp
