// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "compress/nvcomp/library.h"
#include "tricodec/compress.h"

namespace tricodec {

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
           ", whose headers were missing when this build of tricodec was made";
}

}  // namespace tricodec
