// SPDX-License-Identifier: Apache-2.0
#include "compress/nvcomp/batch_api.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "compress/container.h"
#include "compress/nvcomp/library.h"
#include "tricodec/base/error.h"

namespace tricodec::compress::nvcomp {
namespace {

constexpr std::uint32_t kTypeOfStream = 255;  // NVCOMP_TYPE_BITS

template <class T>
void set(BatchOptions& options, std::size_t offset, T value) {
    std::memcpy(options.bytes + offset, &value, sizeof value);
}

/// The largest chunk that each compressor accepts (constants of nvCOMP's headers).
std::uint64_t largest_chunk(Compression algorithm) {
    switch (algorithm) {
        case Compression::deflate:
        case Compression::gdeflate:
            return std::uint64_t{1} << 31;
        case Compression::gzip:
            return std::uint64_t{0x7fffffff} << 15;
        case Compression::zstd:
            return (std::uint64_t{1} << 31) - 1;
        default:
            return std::uint64_t{1} << 24;
    }
}

BatchOptions compress_options(const ChunkOptions& options, int release) {
    BatchOptions result;
    const std::uint32_t type = type_number(options.element_type, release);
    switch (options.algorithm) {
        case Compression::lz4:
            set(result, 0, type);
            set(result, 4, static_cast<std::uint32_t>(options.bit_shuffle));
            break;
        case Compression::deflate:
        case Compression::gdeflate:
        case Compression::gzip:
            set(result, 0, static_cast<std::int32_t>(options.algorithm_type));
            break;
        case Compression::ans:
            set(result, 4, type);
            break;
        case Compression::bitcomp:
            set(result, 0, static_cast<std::int32_t>(options.algorithm_type));
            set(result, 4, type);
            break;
        case Compression::cascaded:
            if (options.release != 5) break;  // such streams are only read
            set(result, 0, std::uint64_t{4096});
            set(result, 8, type);
            set(result, 12, static_cast<std::int32_t>(options.num_rles));
            set(result, 16, static_cast<std::int32_t>(options.num_deltas));
            set(result, 20, static_cast<std::int32_t>(options.use_bitpack ? 1 : 0));
            break;
        case Compression::snappy:
        case Compression::zstd:
            break;
    }
    return result;
}

BatchOptions decompress_options(const ChunkOptions& options, DecompressBackend backend, int release) {
    BatchOptions result;
    set(result, 0, static_cast<std::uint32_t>(backend));
    const std::uint32_t type = type_number(options.element_type, release);
    if (options.algorithm == Compression::lz4) {
        set(result, 8, type);
        set(result, 12, static_cast<std::uint32_t>(options.bit_shuffle));
    }
    // 6.0 takes the types of ANS and Cascaded from the stream.
    if (options.algorithm == Compression::ans) set(result, 4, release == 5 ? type : kTypeOfStream);
    if (options.algorithm == Compression::cascaded && release != 5) set(result, 8, kTypeOfStream);
    return result;
}

}  // namespace

std::string other_release_reason(const ChunkOptions& options) {
    const Library* library = find_library();
    const bool differs = options.algorithm == Compression::ans || options.algorithm == Compression::cascaded;
    if (!differs || library == nullptr || library->version / 1000 == options.release) return {};
    const std::string release = std::to_string(options.release);
    return std::string(to_string(options.algorithm)) + " of nvCOMP " + release + " is another stream than that of " +
           library->path + ", which is of version " + version_text(library->version) +
           "; install nvidia-libnvcomp-cu13 of version " + release +
           (options.algorithm == Compression::cascaded && options.release == 5 ? ", or use device='cpu'" : "");
}

BatchApi load_batch_api(const ChunkOptions& options, DecompressBackend backend) {
    std::string reason;
    const Library* library = find_library(&reason);
    TRICODEC_EXPECT(library != nullptr, unsupported, "compression on a GPU needs nvCOMP, and " + reason);
    const int release = library->version / 1000;
    reason = other_release_reason(options);
    TRICODEC_EXPECT(reason.empty(), unsupported, reason);
    const bool gdeflate = options.algorithm == Compression::gdeflate;  // which the functions spell in their own way
    const std::string prefix = "nvcompBatched" + (gdeflate ? "Gdeflate" : std::string(to_string(options.algorithm)));
    BatchApi api{};
    const auto find = [&](auto& function, const char* name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(library->symbol((prefix + name).c_str()));
    };
    if (release == 5) {
        find(api.compress_temp.of_5, "CompressGetTempSizeAsync");
        find(api.decompress_temp.of_5, "DecompressGetTempSizeAsync");
    } else {
        find(api.compress_temp.of_6, "CompressGetTempSize");
        find(api.decompress_temp.of_6, "DecompressGetTempSize");
    }
    find(api.compress_bound, "CompressGetMaxOutputChunkSize");
    find(api.compress, "CompressAsync");
    find(api.decompressed_size, "GetDecompressSizeAsync");
    find(api.decompress, "DecompressAsync");
    api.compress_options = compress_options(options, release);
    api.decompress_options = decompress_options(options, backend, release);
    api.largest_chunk = largest_chunk(options.algorithm);
    return api;
}

void check_status(Status status, const char* what) {
    if (status == 0) return;
    const std::string text = std::string(what) + " failed : code=" + std::to_string(status) + ".";
    constexpr Status kArguments[] = {10, 11, 17, 18, 20, 21};
    const bool argument = std::ranges::find(kArguments, status) != std::end(kArguments);
    const bool damage = status >= 12 && status <= 16;
    fail(argument ? ErrorCode::invalid_argument : damage ? ErrorCode::corrupt_data : ErrorCode::device, text);
}

}  // namespace tricodec::compress::nvcomp
