// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/cuda/kernel_set.h"
#include "compress/nvcomp/batch_api.h"
#include "compress/nvcomp/library.h"
#include "tricodec/base/gpu.h"
#include "tricodec/compress/compress.h"

#ifdef TRICODEC_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef TRICODEC_HAVE_SNAPPY
#include <snappy-stubs-public.h>
#endif
#ifdef TRICODEC_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef TRICODEC_HAVE_DEFLATE
#include <libdeflate.h>
#endif
#ifdef TRICODEC_HAVE_ISAL
#include <isa-l.h>
#endif

/// Which compression libraries are here, and what is missing.
namespace tricodec {

std::string compression_libraries() {
    std::string text;
    [[maybe_unused]] const auto add = [&](const char* name, const std::string& version) {
        text += std::string(name) + ": " + version + "\n";
    };
    [[maybe_unused]] const auto dotted = [](int major, int minor, int patch) {
        return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
    };
#ifdef TRICODEC_HAVE_LZ4
    add("lz4", LZ4_versionString());
#endif
#ifdef TRICODEC_HAVE_SNAPPY
    add("snappy", dotted(SNAPPY_MAJOR, SNAPPY_MINOR, SNAPPY_PATCHLEVEL));
#endif
#ifdef TRICODEC_HAVE_ZSTD
    add("zstd", ZSTD_versionString());
#endif
#ifdef TRICODEC_HAVE_DEFLATE
    add("libdeflate", LIBDEFLATE_VERSION_STRING);
#endif
#ifdef TRICODEC_HAVE_ISAL
    add("isa-l", dotted(ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION));
#endif
    return text;
}

std::string compression_unavailable_reason(Compression algorithm) {
    const char* library = nullptr;
    switch (algorithm) {
        case Compression::lz4:
#ifndef TRICODEC_HAVE_LZ4
            library = "liblz4";
#endif
            break;
        case Compression::snappy:
#ifndef TRICODEC_HAVE_SNAPPY
            library = "libsnappy";
#endif
            break;
        case Compression::zstd:
#ifndef TRICODEC_HAVE_ZSTD
            library = "libzstd";
#endif
            break;
        case Compression::deflate:
        case Compression::gzip:
        case Compression::gdeflate:
#ifndef TRICODEC_HAVE_DEFLATE
            library = "libdeflate";
#endif
            break;
        case Compression::bitcomp: {
            std::string reason;
            if (compress::nvcomp::find_library(&reason) != nullptr) return {};
            return "Bitcomp's bitstream is known to NVIDIA's library alone, and " + reason;
        }
        case Compression::ans:
            return "ANS's bitstream is known to NVIDIA's library alone, which decodes it on GPUs only; use another "
                   "algorithm for data that the CPU handles";
        case Compression::cascaded:
            break;
    }
    if (library == nullptr) return {};
    return std::string(to_string(algorithm)) + " needs " + library +
           "; its headers were missing when this build of tricodec was made";
}

std::string compression_unavailable_reason(Device device, std::optional<Compression> algorithm) {
    if (device.kind == Device::Kind::cpu) return {};
    std::string reason;
    if (compress::nvcomp::find_library(&reason) == nullptr) return "compression on a GPU needs nvCOMP, and " + reason;
    if (reason = cuda::missing_kernels_reason(); !reason.empty()) return reason;
    const std::vector<GpuInfo> found = gpus();
    if (found.empty()) return "there is no GPU here";
    if (device.index < 0 || static_cast<std::size_t>(device.index) >= found.size()) {
        return "there is no GPU " + std::to_string(device.index) + "; there are " + std::to_string(found.size());
    }
    if (algorithm == Compression::cascaded) {
        compress::ChunkOptions cascaded;
        cascaded.algorithm = Compression::cascaded;
        return compress::nvcomp::other_release_reason(cascaded);
    }
    return {};
}

}  // namespace tricodec
