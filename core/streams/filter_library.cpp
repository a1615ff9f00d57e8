// SPDX-License-Identifier: Apache-2.0
#include "streams/filter_library.h"

#include <string>

#include "base/fork.h"
#include "base/shared_library.h"
#include "tricodec/error.h"

namespace tricodec::streams {
namespace {

struct Opened {
    FilterLibrary functions;
    std::string reason;

    Opened() {
        const std::string name =
            "libavfilter" TRICODEC_FFMPEG_SUFFIX ".so." + std::to_string(LIBAVFILTER_VERSION_MAJOR);
        SharedLibrary library(name);
        if (!library.is_open()) {
            reason = "FFmpeg's " + name + ", which streams are made of, is not installed (" + library.error() +
                     "); install it (Debian: apt-get install ffmpeg)";
            return;
        }
#define TRICODEC_FIND(name) library.find(functions.name, #name);
        TRICODEC_EACH_FILTER_FUNCTION(TRICODEC_FIND)
#undef TRICODEC_FIND
        if (!library.missing().empty()) reason = name + " has no " + library.missing();
    }
};

// Leaked on purpose: graphs may live to the end of the process.
const Opened& opened() {
    static const auto* library = make_without_fork<Opened>();
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

}  // namespace tricodec::streams
