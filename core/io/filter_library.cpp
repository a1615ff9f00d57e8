// SPDX-License-Identifier: Apache-2.0
#include "io/filter_library.h"

#include <dlfcn.h>

#include <string>

#include "tricodec/error.h"

namespace tricodec::io {
namespace {

struct Opened {
    FilterLibrary functions;
    std::string reason;

    Opened() {
        const std::string name = "libavfilter.so." + std::to_string(LIBAVFILTER_VERSION_MAJOR);
        void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* text = dlerror();
            reason = "FFmpeg's " + name + ", which streams are made of, is not installed (" +
                     (text == nullptr ? "" : text) + "); install it (Debian: apt-get install ffmpeg)";
            return;
        }
        const auto find = [&]<class Function>(Function*& function, const char* symbol) {
            function = reinterpret_cast<Function*>(dlsym(library, symbol));
            if (function == nullptr && reason.empty()) reason = name + " has no " + symbol;
        };
#define TRICODEC_FIND(name) find(functions.name, #name);
        TRICODEC_EACH_FILTER_FUNCTION(TRICODEC_FIND)
#undef TRICODEC_FIND
    }
};

// Leaked on purpose: graphs may live to the end of the process.
const Opened& opened() {
    static const auto* library = new Opened;
    return *library;
}

}  // namespace

const FilterLibrary& filters() {
    TRICODEC_EXPECT(opened().reason.empty(), unsupported, opened().reason);
    return opened().functions;
}

const FilterLibrary* find_filters() {
    return opened().reason.empty() ? &opened().functions : nullptr;
}

}  // namespace tricodec::io
