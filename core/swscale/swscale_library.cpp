// SPDX-License-Identifier: Apache-2.0
#include "swscale/swscale_library.h"

#include <string>

#include "base/never_destroyed.h"
#include "base/shared_library.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

struct Opened {
    SwscaleLibrary functions;
    std::string reason = open_ffmpeg_library("libswscale", LIBSWSCALE_VERSION_MAJOR, ", which converts the colors,",
                                             [this](SharedLibrary& library) { find(library); });

    void find(SharedLibrary& library) {
#define TRICODEC_FIND(name) library.find(functions.name, #name);
        TRICODEC_EACH_SWSCALE_FUNCTION(TRICODEC_FIND)
#undef TRICODEC_FIND
    }
};

}  // namespace

const SwscaleLibrary& swscale() {
    static NeverDestroyed<Opened> opened;
    TRICODEC_EXPECT(opened->reason.empty(), unsupported, opened->reason);
    return opened->functions;
}

}  // namespace tricodec
