// SPDX-License-Identifier: Apache-2.0
/// Replaces SwscaleRgb in a build without libswscale.
#include "tricodec/base/error.h"
#include "tricodec/swscale/swscale_rgb.h"

namespace tricodec {
namespace {

[[noreturn]] void refuse() {
    fail(ErrorCode::unsupported,
         "this build has no libswscale, which gives FFmpeg's RGB; install libswscale-dev and build tricodec again");
}

}  // namespace

SwscaleRgb::SwscaleRgb(SwscaleOptions /*options*/) {
    refuse();
}

Size SwscaleRgb::output_size(int /*width*/, int /*height*/, Orientation /*orientation*/) const {
    refuse();
}

void SwscaleRgb::operator()(const Frame& /*frame*/, const TensorView& /*out*/) const {
    refuse();
}

}  // namespace tricodec
