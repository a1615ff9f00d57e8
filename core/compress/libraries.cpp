// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "tricodec/compress.h"
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

}  // namespace tricodec
