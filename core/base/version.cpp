// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/version.h"

namespace tricodec {
const char* version() noexcept {
    return TRICODEC_VERSION;
}
}  // namespace tricodec
