// SPDX-License-Identifier: Apache-2.0
#include "compress/cpu/deflate_library.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>

#include "base/bytes.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"

#ifdef TRICODEC_HAVE_DEFLATE
#include <libdeflate.h>
#endif
#ifdef TRICODEC_HAVE_ISAL
// Some versions install these headers without the folder's name in their own includes.
#include <isa-l/igzip_lib.h>
#endif

namespace tricodec::compress {

// Note [Literals alone]
// Strengths 2 and 3 are libdeflate's level 3, except for weights and random numbers. The matches of those are of three
// bytes, by chance, and cost as much as their literals. ISA-L's level 3, which takes no such match, is several times as
// fast and at most a little larger. A sample decides: what its matches save must be less than 0.75 % of the bits of its
// literals. Weights save less, most other data more.
namespace {

constexpr std::size_t kPieceBytes = 65536;
constexpr std::size_t kSampleBytes = 8192;
constexpr std::size_t kLeastBytes = 16384;  // below that, a sample costs too much
constexpr int kBit = 16;                    // bits are counted in sixteenths
constexpr int kLeastBits = 5;               // a byte: text has less
constexpr int kMatchBits = 9;               // of length and distance, without the extra bits of the distance
constexpr std::size_t kLongestMatch = 258;

/// The bits of each byte in an ideal code.
struct Costs {
    std::array<int, 256> of_byte{};
    std::int64_t total = 0;

    explicit Costs(ByteView bytes) {
        std::array<std::int64_t, 256> counts{};
        for (const std::byte value : bytes) ++counts[static_cast<std::size_t>(value)];
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] == 0) continue;
            const float share = static_cast<float>(counts[i]) / static_cast<float>(bytes.size());
            of_byte[i] = static_cast<int>(-kBit * std::log2(share));
            total += counts[i] * of_byte[i];
        }
    }
};

bool matches_pay(ByteView sample) {
    static_assert(kSampleBytes <= UINT16_MAX);
    const Costs costs(sample);
    if (costs.total < std::int64_t{kBit} * kLeastBits * std::ssize(sample)) return true;
    const std::int64_t most = costs.total / 1000 * 15 / 2;
    const auto three_at = [&](std::size_t i) { return load<std::uint32_t>(sample.data() + i) & 0xffffffU; };
    constexpr unsigned kHashBits = 12;
    std::array<std::uint16_t, 1 << kHashBits> last{};
    std::int64_t saved = 0;
    for (std::size_t i = 0; i + 4 <= sample.size() && saved <= most;) {
        const std::uint32_t three = three_at(i);
        std::uint16_t& place = last[three * 0x9E3779B1U >> (32 - kHashBits)];
        const std::size_t before = place;
        place = static_cast<std::uint16_t>(i);
        std::size_t length = 0;
        int gain = 0;
        if (before < i && three_at(before) == three) {
            gain = -kBit * (kMatchBits + std::max(static_cast<int>(std::bit_width(i - before - 1)), 2) - 2);
            for (; length < kLongestMatch && i + length < sample.size(); ++length) {
                if (sample[i + length] != sample[before + length]) break;
                gain += costs.of_byte[static_cast<std::size_t>(sample[i + length])];
            }
        }
        saved += std::max(gain, 0);
        i += gain > 0 ? length : 1;
    }
    return saved > most;
}

}  // namespace

bool literals_suffice(ByteView input) {
    if (input.size() < kLeastBytes) return false;
    for (std::size_t i = 0; i < input.size(); i += kPieceBytes) {
        const ByteView piece = input.subspan(i, std::min(kPieceBytes, input.size() - i));
        if (piece.size() < kLeastBytes) continue;
        // The middle: the header of a file does not represent it.
        if (matches_pay(piece.subspan((piece.size() - kSampleBytes) / 2, kSampleBytes))) return false;
    }
    return true;
}

#ifdef TRICODEC_HAVE_DEFLATE
namespace {

constexpr std::size_t kHeaders = 512;  // the frame of a gzip member, and the codes of a dynamic block without gain

/// libdeflate's level of each algorithm_type: the lowest that beats zlib's level 1 (2 and 3) and 6 (4) on text, source,
/// binaries and most numbers, in chunks of 64 KiB. GDeflate's lanes
/// add some 200 bytes to a chunk, so they need a higher level.
constexpr int kLevels[] = {1, 1, 3, 3, 7, 12};
constexpr int kLaneLevels[] = {1, 1, 4, 4, 9, 12};
constexpr int kLiteralsLevel = 1;  // without ISA-L; the sizes are nearly the same
constexpr int kIsalLiteralsLevel = 3;

using Compressor = std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)>;

#ifdef TRICODEC_HAVE_ISAL
// Note [ISA-L hashes its own address]
// At the start of an input, the assembly of ISA-L 2.30 enters position 2 into its match table under a wrong hash: that
// of bits 16 to 47 of the stream's address, which are left in the register. If the input needs that bucket, a match is
// missed. The stream is valid, but differs for one address in a hundred, and addresses differ by process. The hash is
// CRC-32C of those 32 bits; the table takes its low 13 bits or fewer, depending on the size of the input. So streams
// are mapped at addresses where the 13 bits are zero: position 2 then always goes to bucket 0. One place of 64 KiB in
// 8192 is such a place; the kernel is asked for one after the other.
constexpr std::uint64_t kPlace = 1 << 16;
#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t kFirstPlace = 0x40'0000'0000 / kPlace;  // the other addresses are the sanitizer's own
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

/// The next place that was not taken yet; after some ten thousand it begins again.
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

/// Zeros for a stream of ISA-L and its buffers. If the kernel gives no such address, other memory: one stream in a
/// hundred then differs, and is as valid.
class IsalMemory {
public:
    /// Throws Error(out_of_memory).
    explicit IsalMemory(std::size_t size_bytes) : size_bytes_(size_bytes) {
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
    ~IsalMemory() { munmap(data_, size_bytes_); }
    IsalMemory(const IsalMemory&) = delete;
    IsalMemory& operator=(const IsalMemory&) = delete;

    [[nodiscard]] void* data() const noexcept { return data_; }

private:
    std::size_t size_bytes_;
    void* data_ = nullptr;
};
#endif

}  // namespace

std::size_t deflate_bound(std::size_t size_bytes) {
    return libdeflate_gzip_compress_bound(nullptr, size_bytes) + kHeaders;
}

bool deflate_available() noexcept {
    return true;
}

class DeflateCompressor::Impl {
public:
    Impl(int algorithm_type, DeflateUse use) : type_(algorithm_type), use_(use) {}

    std::size_t compress(ByteView input, MutableBytes output) {
        const bool literals = (type_ == 2 || type_ == 3) && literals_suffice(input);
#ifdef TRICODEC_HAVE_ISAL
        // At strengths 0 and 1 ISA-L is more than twice as fast as libdeflate, at a similar ratio.
        if ((type_ <= 1 || literals) && input.size() <= UINT32_MAX / 2) {
            if (const std::size_t size = compress_by_isal(input, output); size > 0) return size;
        }
#endif
        Compressor& compressor = literals ? for_literals_ : usual_;
        if (!compressor) {
            const int level = literals ? kLiteralsLevel : (use_ == DeflateUse::lanes ? kLaneLevels : kLevels)[type_];
            compressor.reset(libdeflate_alloc_compressor(level));
            TRICODEC_EXPECT(compressor != nullptr, out_of_memory, "no memory for a Deflate compressor");
        }
        const auto compress_all = use_ == DeflateUse::gzip ? libdeflate_gzip_compress : libdeflate_deflate_compress;
        const std::size_t size =
            compress_all(compressor.get(), input.data(), input.size(), output.data(), output.size());
        TRICODEC_INVARIANT(size > 0);
        return size;
    }

private:
#ifdef TRICODEC_HAVE_ISAL
    std::size_t compress_by_isal(ByteView input, MutableBytes output) {
        if (!fast_) fast_ = std::make_unique<IsalMemory>(sizeof(Fast));
        auto& fast = *static_cast<Fast*>(fast_->data());
        isal_zstream& stream = fast.stream;
        isal_deflate_stateless_init(&stream);
        // Note [ISA-L's window]. isal_deflate_stateless_init() of 2.30 does not set this, and a value of 1 to 14 makes
        // the window smaller: another stream for the same input. It does clear its match tables.
        stream.hist_bits = 0;
        stream.level = static_cast<std::uint32_t>(type_ >= 2 ? kIsalLiteralsLevel : type_);
        stream.level_buf = fast.level_buffer.data();
        stream.level_buf_size = type_ >= 2 ? ISAL_DEF_LVL3_DEFAULT : ISAL_DEF_LVL1_DEFAULT;
        stream.gzip_flag = use_ == DeflateUse::gzip ? IGZIP_GZIP : IGZIP_DEFLATE;
        stream.end_of_stream = 1;
        stream.flush = NO_FLUSH;
        stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(input.data()));
        stream.avail_in = static_cast<std::uint32_t>(input.size());
        stream.next_out = reinterpret_cast<std::uint8_t*>(output.data());
        stream.avail_out = static_cast<std::uint32_t>(std::min<std::size_t>(output.size(), UINT32_MAX));
        if (isal_deflate_stateless(&stream) != COMP_OK || stream.avail_in != 0) return 0;
        return stream.total_out;
    }

    /// 420 KiB, made once a worker, because clearing them for each chunk takes time. The stream is first, because
    /// IsalMemory chooses its address.
    struct Fast {
        isal_zstream stream;
        std::array<std::uint8_t, ISAL_DEF_LVL3_DEFAULT> level_buffer;
    };
    static_assert(std::is_trivially_default_constructible_v<Fast>);
    std::unique_ptr<IsalMemory> fast_;
#endif
    int type_;
    DeflateUse use_;
    Compressor usual_{nullptr, libdeflate_free_compressor};  // made when first needed
    Compressor for_literals_{nullptr, libdeflate_free_compressor};
};

DeflateCompressor::DeflateCompressor(int algorithm_type, DeflateUse use)
    : impl_(std::make_unique<Impl>(algorithm_type, use)) {}
DeflateCompressor::~DeflateCompressor() = default;

std::size_t DeflateCompressor::compress(ByteView input, MutableBytes output) {
    return impl_->compress(input, output);
}

#else  // without libdeflate

class DeflateCompressor::Impl {};
DeflateCompressor::DeflateCompressor(int, DeflateUse) {}
DeflateCompressor::~DeflateCompressor() = default;
std::size_t DeflateCompressor::compress(ByteView, MutableBytes) {
    fail(ErrorCode::unsupported, "this build lacks libdeflate");
}
std::size_t deflate_bound(std::size_t size_bytes) {
    return size_bytes;
}
bool deflate_available() noexcept {
    return false;
}
#endif

}  // namespace tricodec::compress
