// SPDX-License-Identifier: Apache-2.0
#include "compress/nvcomp/library.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <vector>

#include "base/fork.h"
#include "base/never_destroyed.h"
#include "tricodec/base/error.h"
#include "tricodec/compress/compress.h"

namespace tricodec {
namespace compress::nvcomp {
namespace {

// 5 first: it also has the Cascaded and ANS of version 5.
constexpr const char* kNames[] = {"libnvcomp.so.5", "libnvcomp.so.6"};

bool is_supported(int version) {
    return (version >= 5000 && version <= 5399) || (version >= 6000 && version <= 6099);
}

/// nvcompProperties_t.
struct Properties {
    std::uint32_t version = 0;
    std::uint32_t cudart_version = 0;
    std::uint32_t reserved[14] = {};
};

struct Slot {
    ForkSafeMutex mutex;
    std::string configured_path;
    bool searched = false;
    Library library;
    std::string reason;
};

Slot& slot() {
    static NeverDestroyed<Slot> instance;
    return *instance;
}

template <class Function>
bool find(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
}

std::string open(Library& library, const std::string& configured) {
    std::vector<std::string> candidates;
    if (const char* path = std::getenv("TRICODEC_LIBNVCOMP"); path != nullptr && *path != '\0') {
        candidates = {path};
    } else {
        if (!configured.empty()) candidates.push_back(configured);
        candidates.insert(candidates.end(), std::begin(kNames), std::end(kNames));
    }
    std::string why;
    for (const std::string& path : candidates) {
        // Local: the library contains copies of LZ4 and others under their own names.
        void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            const char* text = dlerror();
            why = text == nullptr ? path : text;
            continue;
        }
        int (*properties_of)(Properties*) = nullptr;
        Properties properties;
        if (!find(handle, "nvcompGetProperties", properties_of) || properties_of(&properties) != 0) {
            why = path + " is not nvCOMP";
            dlclose(handle);
            continue;
        }
        library.version = static_cast<int>(properties.version);
        if (!is_supported(library.version)) {
            why = path + " is of version " + version_text(library.version) + "; 5.0 to 5.3 and 6.0 are supported";
            dlclose(handle);
            continue;
        }
        HostApi& host = library.host;
        if (!find(handle, "bitcompCreatePlan", host.bitcomp_create_plan) ||
            !find(handle, "bitcompDestroyPlan", host.bitcomp_destroy_plan) ||
            !find(handle, "bitcompHostCompressLossless", host.bitcomp_compress) ||
            !find(handle, "bitcompHostUncompress", host.bitcomp_uncompress) ||
            !find(handle, "bitcompGetCompressedSize", host.bitcomp_compressed_size)) {
            why = path + " lacks Bitcomp's functions for the host";
            dlclose(handle);
            continue;
        }
        library.handle = handle;
        library.path = path;
        return {};
    }
    return "NVIDIA's libnvcomp 5 or 6 was not found (" + why +
           "); install it with 'pip install nvidia-libnvcomp-cu13==5.3.0.16', or name the file in TRICODEC_LIBNVCOMP";
}

}  // namespace

void* Library::symbol(const char* name) const {
    void* address = dlsym(handle, name);
    TRICODEC_EXPECT(address != nullptr, unsupported, path + " has no function " + std::string(name));
    return address;
}

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 100);
}

const Library* find_library(std::string* reason) {
    Slot& s = slot();
    const std::lock_guard lock(s.mutex);
    if (!s.searched) {
        s.reason = open(s.library, s.configured_path);
        s.searched = true;
    }
    if (reason != nullptr) *reason = s.reason;
    return s.reason.empty() ? &s.library : nullptr;
}

}  // namespace compress::nvcomp

void set_nvcomp_library(const std::string& path) {
    auto& s = compress::nvcomp::slot();
    const std::lock_guard lock(s.mutex);
    if (s.configured_path == path) return;
    s.configured_path = path;
    if (s.library.handle == nullptr) s.searched = false;
}

}  // namespace tricodec
