// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libswscale/swscale.h>
}

namespace tricodec {

#define TRICODEC_EACH_SWSCALE_FUNCTION(X) \
    X(sws_alloc_context)                  \
    X(sws_init_context)                   \
    X(sws_freeContext)                    \
    X(sws_getCoefficients)                \
    X(sws_getColorspaceDetails)           \
    X(sws_setColorspaceDetails)           \
    X(sws_scale)

/// The functions of libswscale, with the library's own names and types. The first use opens the library.
struct SwscaleLibrary {
#define TRICODEC_SWSCALE_FUNCTION(name) decltype(&::name) name = nullptr;
    TRICODEC_EACH_SWSCALE_FUNCTION(TRICODEC_SWSCALE_FUNCTION)
#undef TRICODEC_SWSCALE_FUNCTION
};

/// The library, in the version of the build. Throws Error(unsupported) if it is not installed.
[[nodiscard]] const SwscaleLibrary& swscale();

}  // namespace tricodec
