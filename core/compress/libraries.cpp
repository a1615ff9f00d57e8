// SPDX-License-Identifier: Apache-2.0
#include <libdeflate.h>
#include <lz4.h>
#include <snappy-stubs-public.h>
#include <zstd.h>

#include <string>

#include "base/cuda/kernel_set.h"
#include "compress/nvcomp/batch_api.h"
#include "compress/nvcomp/library.h"
#include "tricodec/base/gpu.h"
#include "tricodec/compress/compress.h"

/// Which compression libraries are here, and what is missing.
namespace tricodec {

std::string compression_libraries() {
    const auto dotted = [](int major, int minor, int patch) {
        return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
    };
    return "lz4: " + std::string(LZ4_versionString()) +
           "\nsnappy: " + dotted(SNAPPY_MAJOR, SNAPPY_MINOR, SNAPPY_PATCHLEVEL) + "\nzstd: " + ZSTD_versionString() +
           "\nlibdeflate: " + LIBDEFLATE_VERSION_STRING + "\n";
}

std::string compression_unavailable_reason(Compression algorithm) {
    if (algorithm == Compression::bitcomp) {
        std::string reason;
        if (compress::nvcomp::find_library(&reason) != nullptr) return {};
        return "Bitcomp's bitstream is known to NVIDIA's library alone, and " + reason;
    }
    if (algorithm == Compression::ans) {
        return "ANS's bitstream is known to NVIDIA's library alone, which decodes it on GPUs only; use another "
               "algorithm for data that the CPU handles";
    }
    return {};
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
