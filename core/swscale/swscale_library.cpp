// SPDX-License-Identifier: Apache-2.0
#include "swscale/swscale_library.h"

#include <string>

#include "base/fork.h"
#include "base/never_destroyed.h"
#include "base/shared_library.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

struct Opened {
    SwscaleLibrary functions;
    std::string reason;

    Opened() {
        const ForkGuard guard;
        const std::string name = "libswscale" TRICODEC_FFMPEG_SUFFIX ".so." + std::to_string(LIBSWSCALE_VERSION_MAJOR);
        SharedLibrary library(name);
        if (!library.is_open()) {
            reason = "FFmpeg's " + name + ", which converts the colors, is not installed (" + library.error() +
                     "); install it (Debian: apt-get install ffmpeg)";
            return;
        }
#define TRICODEC_FIND(name) library.find(functions.name, #name);
        TRICODEC_EACH_SWSCALE_FUNCTION(TRICODEC_FIND)
#undef TRICODEC_FIND
        if (!library.missing().empty()) reason = name + " has no " + library.missing();
    }
};

}  // namespace

const SwscaleLibrary& swscale() {
    static NeverDestroyed<Opened> opened;
    TRICODEC_EXPECT(opened->reason.empty(), unsupported, opened->reason);
    return opened->functions;
}

}  // namespace tricodec
