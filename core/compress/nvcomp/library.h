// SPDX-License-Identifier: Apache-2.0
/// NVIDIA's libnvcomp, opened at run time. Nothing of it is linked or shipped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tricodec::compress::nvcomp {

struct BitcompContext;
using BitcompHandle = BitcompContext*;

/// The functions that work on host memory, without CUDA.
struct HostApi {
    int (*bitcomp_create_plan)(BitcompHandle*, std::size_t, int type, int mode, int algorithm) = nullptr;
    int (*bitcomp_destroy_plan)(BitcompHandle) = nullptr;
    int (*bitcomp_compress)(BitcompHandle, const void*, void*) = nullptr;
    int (*bitcomp_uncompress)(BitcompHandle, const void*, void*) = nullptr;
    int (*bitcomp_compressed_size)(const void*, std::size_t*) = nullptr;
};

/// An opened library of a version that is understood.
struct Library {
    void* handle = nullptr;
    HostApi host;
    int version = 0;  ///< 5300 for 5.3
    std::string path;

    /// A function's address. Throws Error(unsupported) if the library has none of this name.
    [[nodiscard]] void* symbol(const char* name) const;
};

/// The library, or null with the reason. Looked for once, where TRICODEC_LIBNVCOMP says, else where
/// set_nvcomp_library() said, else where the loader looks for libnvcomp.so.5.
[[nodiscard]] const Library* find_library(std::string* reason = nullptr);

}  // namespace tricodec::compress::nvcomp
