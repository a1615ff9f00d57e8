// SPDX-License-Identifier: Apache-2.0
/// NVIDIA's libnvcomp, opened at run time. It is neither linked nor shipped.
#pragma once

#include <cstddef>
#include <string>

namespace tricodec::compress::nvcomp {

struct BitcompContext;
using BitcompHandle = BitcompContext*;

/// Functions for host memory, which need no CUDA.
struct HostApi {
    int (*bitcomp_create_plan)(BitcompHandle*, std::size_t, int type, int mode, int algorithm) = nullptr;
    int (*bitcomp_destroy_plan)(BitcompHandle) = nullptr;
    int (*bitcomp_compress)(BitcompHandle, const void*, void*) = nullptr;
    int (*bitcomp_uncompress)(BitcompHandle, const void*, void*) = nullptr;
    int (*bitcomp_compressed_size)(const void*, std::size_t*) = nullptr;
};

/// An open library of a supported version.
struct Library {
    void* handle = nullptr;
    HostApi host;
    int version = 0;  ///< 5300 for 5.3, 6000 for 6.0
    std::string path;

    /// The address of a function. Throws Error(unsupported) if the library lacks it.
    [[nodiscard]] void* symbol(const char* name) const;
};

/// "5.3" for 5300.
[[nodiscard]] std::string version_text(int version);

/// The library, or null with the reason. It is searched for once: in TRICODEC_LIBNVCOMP, else in the path of
/// set_nvcomp_library(), else by the loader as libnvcomp.so.5 or libnvcomp.so.6.
[[nodiscard]] const Library* find_library(std::string* reason = nullptr);

}  // namespace tricodec::compress::nvcomp
