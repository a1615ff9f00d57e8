// SPDX-License-Identifier: Apache-2.0
#include "compress/nvcomp/library.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "base/fork.h"
#include "tricodec/base/error.h"
#include "tricodec/compress/compress.h"

namespace tricodec {
namespace compress::nvcomp {
namespace {

constexpr const char* kName = "libnvcomp.so.5";
constexpr int kOldest = 5000;
constexpr int kNewest = 5399;

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

// Leaked on purpose: codecs held by static objects of the application outlive this library's statics.
Slot& slot() {
    static auto* instance = new Slot;
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
        candidates.emplace_back(kName);
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
        if (library.version < kOldest || library.version > kNewest) {
            why = path + " is of version " + std::to_string(properties.version / 1000) + "." +
                  std::to_string(properties.version % 1000 / 100) + "; 5.0 to 5.3 are supported";
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
    return "NVIDIA's libnvcomp 5 was not found (" + why +
           "); install it with 'pip install nvidia-libnvcomp-cu13==5.3.0.16', or name the file in TRICODEC_LIBNVCOMP";
}

}  // namespace

void* Library::symbol(const char* name) const {
    void* address = dlsym(handle, name);
    TRICODEC_EXPECT(address != nullptr, unsupported, path + " has no function " + std::string(name));
    return address;
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
