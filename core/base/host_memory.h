// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/sized_pool.h"

namespace tricodec {

/// Host memory for a SizedPool: blocks of whole pages, aligned to them.
///
/// Note [Huge pages]: a 1080p picture spans 760 pages of 4 KiB, and both a decoder, which follows motion through
/// several pictures, and a Transform, which reads many rows at once, touch more of them than a core's TLB holds. So
/// blocks are cut from slabs of pages of 2 MiB, which madvise requests from Linux; if it has none, ordinary pages
/// serve. The blocks of a slab follow one another, so all but the last page of a slab is used. If each block had pages
/// of its own, all blocks would start at the same sets of the caches.
class HostMemory final : public MemorySource {
public:
    [[nodiscard]] std::size_t block_bytes(std::size_t requested_bytes) const noexcept override;
    /// Whole huge pages for one or more blocks, as many as leave least of the last page over.
    [[nodiscard]] std::size_t slab_bytes(std::size_t block_bytes) const noexcept override;
    [[nodiscard]] void* allocate(std::size_t size_bytes, StreamView stream) override;
    void free(void* data, std::size_t size_bytes, const std::vector<Block>& blocks) noexcept override;

    /// Lets the system have the pages of a block that lie past its first `used_bytes`, when it needs some: until then
    /// they stay, and a caller that writes to them again has them back at no cost. Huge pages are not split. Returns
    /// whether at most a quarter of what the block then takes lies idle.
    static bool give_up_tail(void* block, std::size_t size_bytes, std::size_t used_bytes) noexcept;

    static constexpr std::size_t kPageBytes = 4096;
};

}  // namespace tricodec
