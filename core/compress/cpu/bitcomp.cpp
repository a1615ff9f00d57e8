// SPDX-License-Identifier: Apache-2.0
/// Bitcomp by the host functions of NVIDIA's library. Its bitstream is not public.
///
/// Note [Bitcomp stream]. "NVZ", u8 type, u8 mode (low half) and algorithm (high half), u8 signed, 2 bytes; u64 32-bit
/// words of payload; u64 uncompressed bytes; u64 0 (the lossy modes' delta); one u64 for each 8192 bytes, its low 48
/// bits the block's offset in the payload in words, the 15 bits above eight times the block's words, the top bit set
/// if the block is stored uncompressed; the payload. The library trusts all of it, so everything but the payload is
/// checked here. The effect of a damaged payload is unknown, so only trusted streams are decoded. The library needs
/// input and output at multiples of 8, and reads past the end of a damaged payload.
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "compress/chunk_codec.h"
#include "compress/nvcomp/library.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

constexpr std::size_t kHead = 32;
constexpr std::size_t kBlock = 8192;
constexpr std::size_t kBlockBound = 8200;
constexpr std::size_t kSlack = 4 * kBlockBound;  // bytes that the decoder reads past the end of a block
constexpr int kLossless = 0;

[[noreturn]] void damaged(const std::string& what) {
    fail(ErrorCode::corrupt_data, "the Bitcomp stream is damaged: " + what);
}

struct StreamHead {
    int type = 0;
    int algorithm = 0;
    std::uint64_t uncompressed_bytes = 0;
    std::uint64_t total_bytes = 0;
};

StreamHead read_head(ByteView stream) {
    if (stream.size() < kHead || std::memcmp(stream.data(), "NVZ", 3) != 0) damaged("it does not start with NVZ");
    StreamHead head;
    head.type = static_cast<int>(stream[3]);
    const auto modes = static_cast<unsigned>(stream[4]);
    head.algorithm = static_cast<int>(modes >> 4);
    if (head.type > 7) damaged("its data type is " + std::to_string(head.type) + "; 0 to 7 are lossless");
    if ((modes & 15u) != kLossless || head.algorithm > 1) damaged("its mode is not lossless");
    const auto words = load<std::uint64_t>(stream.data() + 8);
    head.uncompressed_bytes = load<std::uint64_t>(stream.data() + 16);
    const std::uint64_t num_blocks = ceil_div(head.uncompressed_bytes, kBlock);
    if (num_blocks > (stream.size() - kHead) / 8) damaged("its index is cut off");
    if (words > (stream.size() - kHead - 8 * num_blocks) / 4) damaged("its payload is cut off");
    head.total_bytes = kHead + 8 * num_blocks + 4 * words;
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < num_blocks; ++i) {
        const auto entry = load<std::uint64_t>(stream.data() + kHead + 8 * i);
        const std::uint64_t offset = entry & 0xffff'ffff'ffffu;
        const std::uint64_t scaled = entry >> 48 & 0x7fffu;
        if (offset != expected || scaled % 8 != 0) damaged("its index has a gap at block " + std::to_string(i));
        expected = offset + scaled / 8;
    }
    if (expected != words) damaged("its index does not cover the payload");
    return head;
}

/// Bitcomp's number of a type: nvCOMP's, with signed and unsigned types exchanged.
int bitcomp_type(ElementType type) {
    if (type == ElementType::float16) return 2;
    return type == ElementType::float8_e4m3 || type == ElementType::bits ? 0 : static_cast<int>(type) ^ 1;
}

/// A plan for chunks of one size.
class Plan {
public:
    explicit Plan(const nvcomp::HostApi& api) : api_(api) {}
    ~Plan() { reset(); }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    [[nodiscard]] nvcomp::BitcompHandle get(std::size_t size, int type, int algorithm) {
        if (handle_ == nullptr || size != size_ || type != type_ || algorithm != algorithm_) {
            reset();
            const int status = api_.bitcomp_create_plan(&handle_, size, type, kLossless, algorithm);
            TRICODEC_EXPECT(status == 0, invalid_argument,
                            "Bitcomp refuses " + std::to_string(size) + " bytes of type " + std::to_string(type) +
                                " (its status " + std::to_string(status) + ")");
            size_ = size;
            type_ = type;
            algorithm_ = algorithm;
        }
        return handle_;
    }

private:
    void reset() {
        if (handle_ != nullptr) api_.bitcomp_destroy_plan(handle_);
        handle_ = nullptr;
    }
    const nvcomp::HostApi& api_;
    nvcomp::BitcompHandle handle_ = nullptr;
    std::size_t size_ = 0;
    int type_ = 0;
    int algorithm_ = 0;
};

/// Bytes at a multiple of 8, with zeros after them.
class AlignedCopy {
public:
    [[nodiscard]] std::byte* room(std::size_t size) {
        const std::size_t needed = (size + kSlack) / 8 + 1;
        if (words_.size() < needed) words_.resize(needed);
        return reinterpret_cast<std::byte*>(words_.data());
    }
    [[nodiscard]] const std::byte* copy(ByteView bytes) {
        std::byte* to = room(bytes.size());
        if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
        std::memset(to + bytes.size(), 0, kSlack);
        return to;
    }

private:
    std::vector<std::uint64_t> words_;
};

class BitcompWorker final : public ChunkWorker {
public:
    BitcompWorker(const nvcomp::HostApi& api, const ChunkOptions& options) : api_(api), options_(options), plan_(api) {}

    std::size_t compress(ByteView input, std::span<std::byte> output) override {
        if (input.empty()) return write_empty(output);
        const auto handle = plan_.get(input.size(), bitcomp_type(options_.element_type), options_.algorithm_type);
        const std::byte* from = aligned(input) ? input.data() : input_.copy(input);
        std::byte* to = output_.room(output.size());
        const int status = api_.bitcomp_compress(handle, from, to);
        TRICODEC_EXPECT(status == 0, internal, "Bitcomp compression failed with status " + std::to_string(status));
        std::size_t size = 0;
        TRICODEC_INVARIANT(api_.bitcomp_compressed_size(to, &size) == 0 && size <= output.size());
        std::memcpy(output.data(), to, size);
        return size;
    }

    void decompress(ByteView input, std::span<std::byte> output) override {
        TRICODEC_EXPECT(options_.trusted, refused,
                        "Bitcomp streams that are not trusted are not decoded, because NVIDIA's decoder may fault on "
                        "damaged ones; decode them with trusted=True in a process that may end");
        const StreamHead head = read_head(input);
        if (head.uncompressed_bytes != output.size()) {
            damaged("it holds " + std::to_string(head.uncompressed_bytes) + " bytes, not " +
                    std::to_string(output.size()));
        }
        if (output.empty()) return;
        const bool direct = aligned(output);
        std::byte* to = direct ? output.data() : output_.room(output.size());
        const auto handle = plan_.get(head.uncompressed_bytes, head.type, head.algorithm);
        if (api_.bitcomp_uncompress(handle, input_.copy(input), to) != 0) damaged("its payload");
        if (!direct) std::memcpy(output.data(), to, output.size());
    }

private:
    static bool aligned(ByteView bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 == 0; }

    /// Writes the stream of no bytes, which the library refuses to make.
    std::size_t write_empty(std::span<std::byte> output) const {
        std::memset(output.data(), 0, kHead);
        std::memcpy(output.data(), "NVZ", 3);
        const int type = bitcomp_type(options_.element_type);
        output[3] = static_cast<std::byte>(type);
        output[4] = static_cast<std::byte>(options_.algorithm_type << 4);
        output[5] = static_cast<std::byte>(type & 1);
        return kHead;
    }

    const nvcomp::HostApi& api_;
    ChunkOptions options_;
    Plan plan_;
    AlignedCopy input_;
    AlignedCopy output_;
};

class Bitcomp final : public ChunkCodec {
public:
    Bitcomp(const nvcomp::HostApi& api, const ChunkOptions& options) : api_(api), options_(options) {}

    std::size_t bound(std::size_t size_bytes) const override {
        return kHead + kBlockBound * ceil_div(size_bytes, kBlock);
    }
    std::uint64_t largest_chunk() const noexcept override { return std::uint64_t{1} << 40; }
    std::unique_ptr<ChunkWorker> make_worker() const override {
        return std::make_unique<BitcompWorker>(api_, options_);
    }
    std::optional<std::uint64_t> declared_bytes(ByteView chunk) const override {
        return read_head(chunk).uncompressed_bytes;
    }

private:
    const nvcomp::HostApi& api_;
    ChunkOptions options_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_bitcomp(const ChunkOptions& options) {
    const auto* library = nvcomp::find_library();
    if (library == nullptr) return nullptr;
    return std::make_unique<Bitcomp>(library->host, options);
}

}  // namespace tricodec::compress
