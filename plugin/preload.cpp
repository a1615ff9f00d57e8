// SPDX-License-Identifier: Apache-2.0
// A plugin of no code but this, for programs that load the operators without the Python package: DALI_PRELOAD_PLUGINS
// and the plugin_libs option of Triton's DALI backend.
//
// Note [Loading the core first]: a library that dlopen brings in is bound against everything that the opened library
// needs. The operators need libdali.so, and behind it stands a library that exports an OpenSSL of its own
// (libgoogle_cloud_cpp_storage of DALI 2.4). Were the operators opened first, the system's libcrypto, which FFmpeg may
// need, would be bound to half of that one, and whoever used it next, like Python's hashlib, would crash. The core is
// therefore opened by itself, where DALI is not among what it is bound against. In Python `import tricodec` has done
// that.
#include <dlfcn.h>

#include <cstdio>

namespace {

bool load(const char* name) {
    if (dlopen(name, RTLD_NOW | RTLD_LOCAL) != nullptr) return true;  // found by the run path of this library
    // Nothing may be thrown through dlopen, and DALI asks plugins for no result.
    std::fprintf(stderr, "tricodec: the DALI operators are not loaded: %s\n", dlerror());
    return false;
}

[[maybe_unused]] const bool g_loaded = load(TRICODEC_CORE) && load(TRICODEC_DALI_OPERATORS);

}  // namespace
