// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tricodec/error.h"
#include "tricodec/thread_pool.h"

namespace tricodec {

/// Lossless compression formats, with the numbers that NVIDIA's container gives them.
enum class Compression : std::uint8_t {
    lz4 = 0,
    snappy = 1,
    ans = 2,
    gdeflate = 3,
    cascaded = 4,
    bitcomp = 5,
    zstd = 6,
    deflate = 7,
    gzip = 8,
};
inline constexpr int kNumCompressions = 9;

/// "LZ4", "Snappy", ..., as nvCOMP spells them.
[[nodiscard]] std::string_view to_string(Compression algorithm) noexcept;
/// Any case. Throws Error(invalid_argument) listing the names.
[[nodiscard]] Compression parse_compression(std::string_view name);

/// What stands around the compressed chunks.
enum class BitstreamKind : std::uint8_t {
    native = 0,                  ///< nvCOMP's container: a header, a table, chunks that are independent of each other
    raw = 1,                     ///< the algorithm's own stream, the whole input as one chunk
    with_uncompressed_size = 2,  ///< a little-endian size (4 bytes for LZ4, else 8), then the raw stream
};

/// Whether checksums are written and verified; the container alone has room for them.
enum class ChecksumPolicy : std::uint8_t {
    no_compute_no_verify = 0,
    compute_no_verify = 1,
    no_compute_verify_if_present = 2,
    compute_verify_if_present = 3,
    compute_verify = 4,  ///< a stream without checksums is an error
};

/// "NVCOMP_NATIVE", "RAW", "WITH_UNCOMPRESSED_SIZE", in any case. Throws Error(invalid_argument) listing them.
[[nodiscard]] BitstreamKind parse_bitstream_kind(std::string_view name);
/// "NO_COMPUTE_NO_VERIFY" and so on, in any case. Throws Error(invalid_argument) listing them.
[[nodiscard]] ChecksumPolicy parse_checksum_policy(std::string_view name);

/// Elements that the typed algorithms (Bitcomp, Cascaded, ANS) look at, with nvCOMP's numbers.
enum class ElementType : std::uint8_t {
    int8 = 0,
    uint8 = 1,
    int16 = 2,
    uint16 = 3,
    int32 = 4,
    uint32 = 5,
    int64 = 6,
    uint64 = 7,
    float16 = 9,
    float8_e4m3 = 10,
    bits = 255,
};

[[nodiscard]] std::size_t size_of(ElementType type) noexcept;
/// numpy's array protocol string: "<i4".
[[nodiscard]] std::string_view to_typestr(ElementType type) noexcept;
/// From such a string. Throws Error(invalid_argument) listing the accepted ones.
[[nodiscard]] ElementType parse_element_type(std::string_view typestr);

/// Whether like bits of neighbouring elements are put side by side before LZ4: nvCOMP's bitshuffle_mode. Containers
/// tell; who decompresses other streams must know it, and the element type.
enum class BitShuffle : std::uint8_t { none = 0, msb_first = 1, lsb_first = 2 };
/// "NVCOMP_BITSHUFFLE_NONE" and so on, in any case. Throws Error(invalid_argument) listing them.
[[nodiscard]] BitShuffle parse_bit_shuffle(std::string_view name);

/// What decompresses on a GPU, with nvCOMP's numbers; its decompression engine (1) is not used.
enum class DecompressBackend : std::uint8_t { automatic = 0, cuda = 2 };

struct CodecOptions {
    /// None: told by the container while decompressing; compressing is refused.
    std::optional<Compression> algorithm;
    std::size_t chunk_bytes = 65536;
    BitstreamKind bitstream = BitstreamKind::native;
    ChecksumPolicy checksums = ChecksumPolicy::no_compute_no_verify;
    /// None is the algorithm's own: int32 for Cascaded, uint8 for others.
    std::optional<ElementType> element_type;
    /// Deflate, Gzip, GDeflate: 0 (fastest) to 5 (smallest), 1 if none. Bitcomp: 0, or 1 for sparse data.
    std::optional<int> algorithm_type;
    int num_rles = 2;                           ///< Cascaded: run-length layers, 0 to 7
    int num_deltas = 1;                         ///< Cascaded: delta layers, 0 to 3
    bool use_bitpack = true;                    ///< Cascaded: pack the last layer's bits
    std::optional<int> level;                   ///< LZ4: 0 fast, 3 to 12 smaller; Zstd: its own levels, 3 if none
    BitShuffle bit_shuffle = BitShuffle::none;  ///< LZ4
    /// False: the streams may be made to do harm. Decoders that only NVIDIA's library has then run in a child process.
    bool trusted = true;
    int num_threads = 0;                                                  ///< 0: as many as there are cores
    DecompressBackend decompress_backend = DecompressBackend::automatic;  ///< of GPUs
};

/// Memory for result `index` once its size is known. Called on the caller's thread, in order.
using Placer = std::function<std::span<std::byte>(std::size_t index, std::size_t size_bytes)>;
/// Memory for all results once their sizes are known. Called once, on the caller's thread.
using BatchPlacer = std::function<std::vector<std::span<std::byte>>(std::span<const std::size_t> sizes_bytes)>;
using ByteView = std::span<const std::byte>;

/// An error of one input or stream of a batch. The text says which if there are several.
class BatchError : public Error {
public:
    BatchError(const Error& error, const char* what, std::size_t index, std::size_t count);
    [[nodiscard]] std::size_t index() const noexcept { return index_; }
    /// The text without the index, for callers who name the items themselves.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

private:
    std::size_t index_;
    std::string reason_;
};

/// What a stream says of itself.
struct CompressedInfo {
    Compression algorithm = Compression::lz4;
    BitstreamKind bitstream = BitstreamKind::native;
    std::uint64_t uncompressed_bytes = 0;
    std::uint64_t compressed_bytes = 0;  ///< of the stream itself; what follows it is not counted
    std::uint64_t chunk_bytes = 0;
    std::uint64_t num_chunks = 0;
    int container_version = 0;  ///< 5 or 6; 0 without a container
    bool has_checksums = false;
    std::optional<ElementType> element_type;  ///< Bitcomp, Cascaded
};

/// Lossless compression of bytes on the CPU. One set of options always gives the same bytes, on any number of threads.
/// Every size and table of a stream is checked before memory is taken or a decoder sees it.
///
/// Thread safety: safe.
class Compressor {
public:
    /// Throws Error(invalid_argument) naming the option, Error(unsupported) if nothing here can do the algorithm.
    explicit Compressor(const CodecOptions& options);
    Compressor(const Compressor&) = delete;
    Compressor& operator=(const Compressor&) = delete;
    ~Compressor();

    [[nodiscard]] const CodecOptions& options() const noexcept;

    /// The most bytes that compressing `size_bytes` gives.
    [[nodiscard]] std::size_t max_compressed_bytes(std::size_t size_bytes) const;

    /// Compresses each input; `place` gives the memory for the results, in order. Throws Error(invalid_argument) for an
    /// input that is no multiple of the element type or too large for the algorithm.
    void compress(std::span<const ByteView> inputs, const Placer& place, const TaskRunner& runner = {}) const;
    void compress(std::span<const ByteView> inputs, const BatchPlacer& place, const TaskRunner& runner = {}) const;

    /// An input and who compresses it.
    struct Job {
        const Compressor* codec = nullptr;
        ByteView input;
    };
    /// Compresses inputs of several codecs as one batch, side by side on as many threads as the first codec has. Errors
    /// are those of compress(), and tell the job.
    static void compress_each(std::span<const Job> jobs, const BatchPlacer& place, const TaskRunner& runner = {});

    /// Compresses each input to memory of at least max_compressed_bytes(its size), without the copy that compress()
    /// takes. Returns the results' sizes; what lies behind them in the outputs is of no meaning.
    [[nodiscard]] std::vector<std::size_t> compress_to(std::span<const ByteView> inputs,
                                                       std::span<const std::span<std::byte>> outputs,
                                                       const TaskRunner& runner = {}) const;

    /// What each stream expands to. A raw stream whose format does not say is decoded to find out.
    /// Throws Error(corrupt_data), and Error(refused) past Limits::max_output_bytes.
    [[nodiscard]] std::vector<std::size_t> decompressed_sizes(std::span<const ByteView> streams) const;

    /// Decompresses each stream to memory of exactly its decompressed size.
    /// Throws Error(corrupt_data) naming the stream and the chunk; nothing is promised of the outputs then.
    void decompress(std::span<const ByteView> streams, std::span<const std::span<std::byte>> outputs,
                    const TaskRunner& runner = {}) const;

    /// Bytes [begin, end) of what a stream of the container expands to, to the memory that `place` gives once the
    /// stream is checked; only the chunks that hold them are decoded. Throws Error(out_of_range).
    void decompress_range(ByteView stream, std::uint64_t begin, std::uint64_t end, const Placer& place) const;

    /// What a stream says of itself, checked. Throws Error(refused) for a raw one that expands past the limit
    /// max_output_bytes.
    [[nodiscard]] CompressedInfo inspect(ByteView stream) const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Where NVIDIA's libnvcomp.so.5 lies, if not where the loader looks; TRICODEC_LIBNVCOMP goes before. Bitcomp needs it.
void set_nvcomp_library(const std::string& path);

/// The libraries that compress on the CPU with their versions, one "name: value" a line, as build_info() has it: those
/// in use of LZ4 and Zstd, those of the headers of the others, which do not tell.
[[nodiscard]] std::string compression_libraries();

/// Why this build or machine cannot do an algorithm on the CPU; empty if it can.
[[nodiscard]] std::string compression_unavailable_reason(Compression algorithm);

}  // namespace tricodec
