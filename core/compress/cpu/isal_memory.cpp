// SPDX-License-Identifier: Apache-2.0
#include "compress/cpu/isal_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "tricodec/error.h"
#include "tricodec/log.h"

namespace tricodec::compress {
namespace {

// Note [ISA-L hashes its own address]
// Where there is no history yet, ISA-L 2.30's assembly enters position 2 of the input into its match table by the hash
// of bits 16 to 47 of the stream's address, left in the register where the input's bytes should be. If that bucket is
// one that the input needs, a match is missed: a valid stream, but another one, for one address in a hundred, and
// addresses differ from process to process. The hash is CRC-32C of those 32 bits, of which the table takes the low 13
// or fewer, as many as the input's size makes useful. So every stream is put where the 13 bits are zero: position 2
// then always goes to bucket 0. One place of 64 KiB in 8192 is such; the kernel is asked for one after the other.
constexpr std::uint64_t kPlace = 1 << 16;
#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t kFirstPlace = 0x40'0000'0000 / kPlace;  // its own memory lies where the others are
#else
constexpr std::uint64_t kFirstPlace = 0x2000'0000'0000 / kPlace;
#endif
constexpr std::uint64_t kNumPlaces = kFirstPlace;
constexpr std::uint32_t kTableMask = 0x1fff;
constexpr int kMostTries = 64;

std::uint32_t crc32c_of(std::uint32_t word) {
    for (int bit = 0; bit < 32; ++bit) word = word >> 1 ^ ((word & 1) != 0 ? 0x82F63B78U : 0U);
    return word;
}

/// The next place that no one was given yet; from the first again after some ten thousand.
void* next_place() {
    static std::atomic<std::uint64_t> next{0};
    for (;;) {
        const std::uint64_t place = kFirstPlace + next.fetch_add(1, std::memory_order_relaxed) % kNumPlaces;
        if ((crc32c_of(static_cast<std::uint32_t>(place)) & kTableMask) != 0) continue;
        return reinterpret_cast<void*>(static_cast<std::uintptr_t>(place * kPlace));
    }
}

void* map(void* hint, std::size_t size_bytes) {
    void* const memory = mmap(hint, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

IsalMemory::IsalMemory(std::size_t size_bytes) : size_bytes_(size_bytes) {
#ifdef __x86_64__
    bool chosen = false;
    for (int i = 0; i < kMostTries && !chosen; ++i) {
        void* const place = next_place();
        if (data_ != nullptr) munmap(data_, size_bytes_);
        data_ = map(place, size_bytes_);
        chosen = data_ == place;
    }
    if (!chosen) log(LogLevel::debug, "no address was free where ISA-L's streams are always the same");
#endif
    if (data_ == nullptr) data_ = map(nullptr, size_bytes_);
    TRICODEC_EXPECT(data_ != nullptr, out_of_memory,
                    "could not allocate " + std::to_string(size_bytes_) + " bytes for a Deflate compressor");
}

IsalMemory::~IsalMemory() {
    munmap(data_, size_bytes_);
}

}  // namespace tricodec::compress
