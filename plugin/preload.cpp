// SPDX-License-Identifier: Apache-2.0
// A plugin that only loads the operators, for programs without the Python package: DALI_PRELOAD_PLUGINS and the option
// plugin_libs of Triton's DALI backend.
//
// Note [Loading the core first]: dlopen binds a library to everything that the opened library needs. The operators need
// libdali.so, which needs a library that exports an OpenSSL of its own (libgoogle_cloud_cpp_storage of DALI 2.4). If
// the operators were opened first, the system's libcrypto, which FFmpeg may need, would be bound to half of that one,
// and the next user of libcrypto, like Python's hashlib, would crash. So the core is opened by itself, where DALI is
// not among the libraries that it is bound to. In Python `import tricodec` has done that.
#include <dlfcn.h>

#include <cstdio>

namespace {

bool load(const char* name) {
    if (dlopen(name, RTLD_NOW | RTLD_LOCAL) != nullptr) return true;  // the run path of this library finds it
    // An exception must not pass through dlopen, and DALI does not ask plugins for a result.
    std::fprintf(stderr, "tricodec: the DALI operators are not loaded: %s\n", dlerror());
    return false;
}

[[maybe_unused]] const bool g_loaded = load(TRICODEC_CORE) && load(TRICODEC_DALI_OPERATORS);

}  // namespace
