// SPDX-License-Identifier: Apache-2.0
#include "video/unlike.h"

#include "tricodec/error.h"

namespace tricodec {

bool is_alike(const Frame& frame, const Transform& transform, const TensorView& place) {
    return transform.output_shape(frame.width, frame.height, frame.orientation) == place.shape;
}

std::string unlike_the_others(const Frame& frame, const TensorView& place) {
    return "frame " + std::to_string(frame.index) + " is " + std::to_string(frame.width) + "x" +
           std::to_string(frame.height) + ", unlike the others of the batch (" + describe(place) +
           "); pass size=(height, width) so that all come out alike";
}

void expect_alike(const Frame& frame, const Transform& transform, const TensorView& place) {
    TRICODEC_EXPECT(is_alike(frame, transform, place), unsupported, unlike_the_others(frame, place));
}

}  // namespace tricodec
