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
#include <utility>
#include <vector>

#include "tricodec/base/device.h"
#include "tricodec/base/error.h"
#include "tricodec/base/thread_pool.h"

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

/// What surrounds the compressed chunks.
enum class BitstreamKind : std::uint8_t {
    native = 0,                  ///< nvCOMP's container: a header, a table, chunks that are independent of each other
    raw = 1,                     ///< the algorithm's own stream, the whole input as one chunk
    with_uncompressed_size = 2,  ///< a little-endian size (4 bytes for LZ4, else 8), then the raw stream
};

/// Whether checksums are written and verified. Only the container has room for them.
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

/// The elements that the typed algorithms (Bitcomp, Cascaded, ANS) assume, with nvCOMP's numbers.
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
/// The type of such a string. Throws Error(invalid_argument) listing the accepted ones.
[[nodiscard]] ElementType parse_element_type(std::string_view typestr);

/// Whether LZ4 first gathers the bits of one significance of neighboring elements: nvCOMP's bitshuffle_mode. Containers
/// hold it. To decompress other streams, give the same mode and element type.
enum class BitShuffle : std::uint8_t { none = 0, msb_first = 1, lsb_first = 2 };
/// "NVCOMP_BITSHUFFLE_NONE" and so on, in any case. Throws Error(invalid_argument) listing them.
[[nodiscard]] BitShuffle parse_bit_shuffle(std::string_view name);

/// What decompresses on a GPU, with nvCOMP's numbers. Its decompression engine (1) is not used.
enum class DecompressBackend : std::uint8_t { automatic = 0, cuda = 2 };

/// The algorithm of a `Codec`, its strength, and the form of its streams.
struct CodecOptions {
    /// None: the container has it when decompressing, and compressing is refused.
    std::optional<Compression> algorithm;
    std::size_t chunk_bytes = 65536;
    BitstreamKind bitstream = BitstreamKind::native;
    ChecksumPolicy checksums = ChecksumPolicy::no_compute_no_verify;
    /// None: the algorithm's default, int32 for Cascaded and uint8 for the others.
    std::optional<ElementType> element_type;
    /// Deflate, Gzip, GDeflate: 0 (fastest) to 5 (smallest), 1 if none. Bitcomp: 0, or 1 for sparse data.
    std::optional<int> algorithm_type;
    int num_rles = 2;         ///< Cascaded: run-length layers, 0 to 7
    int num_deltas = 1;       ///< Cascaded: delta layers, 0 to 3
    bool use_bitpack = true;  ///< Cascaded: pack the last layer's bits
    /// CPU only. LZ4: 0 fast, 3 to 12 smaller. Zstd: its own levels, 3 if none.
    std::optional<int> level;
    BitShuffle bit_shuffle = BitShuffle::none;  ///< LZ4
    /// False: the streams may be malicious. Bitcomp is then refused, because NVIDIA's decoder may fault on it.
    bool trusted = true;
    int num_threads = 0;                                                  ///< 0: as many as there are cores
    DecompressBackend decompress_backend = DecompressBackend::automatic;  ///< of GPUs
};

/// Bytes to read, and bytes to write: in host memory for a codec of the CPU, in the GPU's memory for one of a GPU.
using ByteView = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;
/// Gives memory for result `index` when its size is known. Called on the caller's thread, in order. Memory of a GPU is
/// aligned to 8 and is written by work on the call's stream.
using Placer = std::function<MutableBytes(std::size_t index, std::size_t size_bytes)>;
/// Gives memory for all results when their sizes are known. Called once, on the caller's thread.
using BatchPlacer = std::function<std::vector<MutableBytes>(std::span<const std::size_t> sizes_bytes)>;

/// Host memory that the GPU copies to and from; page-locked memory is fast.
struct HostMemory {
    void* data = nullptr;
    std::shared_ptr<void> owner;  ///< keeps the memory; null: the codec uses its own memory
};
/// Gives such memory for a call on a stream. May be called from any thread.
using StagingAllocator = std::function<HostMemory(std::size_t size_bytes, StreamView stream)>;

/// An error of one input or stream of a batch. The text gives the index if there are several.
class BatchError : public Error {
public:
    BatchError(const Error& error, const char* what, std::size_t index, std::size_t count);
    [[nodiscard]] std::size_t index() const noexcept { return index_; }
    /// The text without the index, for callers that name the items themselves.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

private:
    std::size_t index_;
    std::string reason_;
};

/// The properties of a stream, from its headers.
struct CompressedInfo {
    Compression algorithm = Compression::lz4;
    BitstreamKind bitstream = BitstreamKind::native;
    std::uint64_t uncompressed_bytes = 0;
    std::uint64_t compressed_bytes = 0;  ///< of the stream itself, without what follows it
    std::uint64_t chunk_bytes = 0;
    std::uint64_t num_chunks = 0;
    int container_version = 0;  ///< 5 or 6; 0 without a container
    bool has_checksums = false;
    std::optional<ElementType> element_type;  ///< Bitcomp, Cascaded
};

namespace compress {

/// What a call runs on: tasks of a runner on the CPU, a stream on a GPU.
struct Execution {
    Execution() = default;
    Execution(TaskRunner its_runner) : runner(std::move(its_runner)) {}
    Execution(StreamView its_stream) : stream(its_stream) {}

    TaskRunner runner;  ///< none: the library's threads, CodecOptions::num_threads of them
    StreamView stream;
};

/// A started compression. It keeps its scratch memory until it is destroyed. One thread at a time.
class PendingCompression {
public:
    virtual ~PendingCompression() = default;
    /// Waits until the sizes are known, asks for memory, and copies the results there; on a GPU the copies are queued
    /// on the call's stream. Call it once: without it there are no results.
    virtual void finish(const BatchPlacer& place) = 0;
};

/// A started decompression. One thread at a time.
class PendingDecompression {
public:
    virtual ~PendingDecompression() = default;
    /// Waits until it is done. Throws Error(corrupt_data) naming the stream if the result is wrong.
    virtual void finish() = 0;
};

class Engine;

/// Lossless compression of bytes on one device. Every device writes and reads the same formats. One set of options
/// gives the same bytes on any number of threads.
///
/// On the CPU the codec checks every size and table of a stream before it takes memory or starts a decoder.
///
/// On a GPU NVIDIA's libnvcomp does the work; the first codec of a GPU opens it. It has no checksums, and only it has
/// ANS. The codec checks headers and chunk tables before it starts a kernel, and the status and size of every chunk
/// after. It cannot check the bytes of the chunks: malicious bytes can make NVIDIA's decoders fault, which ends
/// the use of the GPU in the process. Decompress streams from strangers on the CPU. The work of a call is queued on its
/// stream; calls wait for sizes and statuses, except those that start.
///
/// Thread safety: safe.
class Codec {
public:
    /// `staging` gives the host memory for copies from and to a GPU.
    /// Throws Error(invalid_argument) naming the option, Error(unsupported) if the device cannot do the algorithm,
    /// Error(device) if the GPU is not there.
    explicit Codec(const CodecOptions& options, Device device = {}, StagingAllocator staging = {});
    Codec(const Codec&) = delete;
    Codec& operator=(const Codec&) = delete;
    ~Codec();

    [[nodiscard]] const CodecOptions& options() const noexcept;
    [[nodiscard]] Device device() const noexcept;

    /// The most bytes that `size_bytes` compress to.
    [[nodiscard]] std::size_t max_compressed_bytes(std::size_t size_bytes) const;

    /// Compresses each input to the memory that `place` gives. Throws Error(invalid_argument) for an input that is not
    /// a multiple of the element type or is too large for the algorithm.
    void compress(std::span<const ByteView> inputs, const BatchPlacer& place, const Execution& on = {}) const;
    void compress(std::span<const ByteView> inputs, const Placer& place, const Execution& on = {}) const;

    /// An input and its codec.
    struct Job {
        const Codec* codec = nullptr;
        ByteView input;
    };
    /// Compresses inputs of several codecs of one device as one batch; on the CPU on as many threads as the first codec
    /// has. Throws as compress() does; the error names the job.
    static void compress_each(std::span<const Job> jobs, const BatchPlacer& place, const Execution& on = {});

    /// Compresses each input to memory of at least max_compressed_bytes(its size). On the CPU this saves a copy.
    /// Returns the sizes of the results; the outputs past them are undefined.
    [[nodiscard]] std::vector<std::size_t> compress_to(std::span<const ByteView> inputs,
                                                       std::span<const MutableBytes> outputs,
                                                       const Execution& on = {}) const;

    /// The size that each stream expands to. A raw stream without a size is decoded to find it.
    /// Throws Error(corrupt_data), and Error(refused) past Limits::max_output_bytes.
    [[nodiscard]] std::vector<std::size_t> decompressed_sizes(std::span<const ByteView> streams,
                                                              const Execution& on = {}) const;

    /// Decompresses each stream to memory of exactly its decompressed size.
    /// Throws Error(corrupt_data) naming the stream and the chunk; the outputs are undefined then.
    void decompress(std::span<const ByteView> streams, std::span<const MutableBytes> outputs,
                    const Execution& on = {}) const;
    /// The same to memory that `place` gives when the sizes are known.
    void decompress(std::span<const ByteView> streams, const BatchPlacer& place, const Execution& on = {}) const;
    void decompress(std::span<const ByteView> streams, const Placer& place, const Execution& on = {}) const;

    /// compress() without the wait for a GPU. Inputs there must stay until what is queued on the stream is done.
    [[nodiscard]] std::unique_ptr<PendingCompression> start_compress(std::span<const ByteView> inputs,
                                                                     const Execution& on = {}) const;
    /// decompress() that waits for the headers alone: it calls `place` before it returns. `sizes`, if not empty, are
    /// the sizes that the streams must expand to, else Error(invalid_argument); on the CPU this saves reading them.
    [[nodiscard]] std::unique_ptr<PendingDecompression> start_decompress(std::span<const ByteView> streams,
                                                                         const BatchPlacer& place,
                                                                         const Execution& on = {},
                                                                         std::span<const std::size_t> sizes = {}) const;

    /// Bytes [begin, end) of the data of a container in host memory, whatever the device. Calls `place` when the
    /// stream is checked, and decodes only the chunks that hold the range. Throws Error(out_of_range).
    void decompress_range(ByteView stream, std::uint64_t begin, std::uint64_t end, const Placer& place) const;

    /// The properties of a stream in host memory, checked, whatever the device. Throws Error(refused) for a raw stream
    /// that expands past the limit max_output_bytes.
    [[nodiscard]] CompressedInfo inspect(ByteView stream) const;

private:
    std::shared_ptr<const Engine> engine_;
};

}  // namespace compress

/// The path of NVIDIA's libnvcomp.so.5 or libnvcomp.so.6, if the loader does not find it. The environment variable
/// TRICODEC_LIBNVCOMP has precedence. GPUs need it, and Bitcomp on the CPU.
void set_nvcomp_library(const std::string& path);

/// The libraries that compress on the CPU with their versions, one "name: value" a line, as build_info() has it. LZ4
/// and Zstd report the version in use; for the others it is the version of their headers.
[[nodiscard]] std::string compression_libraries();

/// Why this build or machine cannot do an algorithm on the CPU; empty if it can.
[[nodiscard]] std::string compression_unavailable_reason(Compression algorithm);
/// Why a device cannot compress here, or not by an algorithm; empty if it can.
[[nodiscard]] std::string compression_unavailable_reason(Device device, std::optional<Compression> algorithm = {});

}  // namespace tricodec
