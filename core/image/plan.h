// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "image/color_matrix.h"
#include "image/filter.h"
#include "tricodec/image/transform.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::image {

/// What of a frame a plan depends on; frames that agree in it share a plan.
struct FrameKey {
    PixelFormat format = PixelFormat::unknown;
    int width = 0;
    int height = 0;
    Orientation orientation{};
    ColorMatrix matrix = ColorMatrix::unspecified;
    ColorRange range = ColorRange::unspecified;
    ChromaLocation chroma_location = ChromaLocation::unspecified;

    friend bool operator==(const FrameKey&, const FrameKey&) = default;
};

/// Where a component's samples are and how they come to the output grid.
struct ComponentPlan {
    ComponentLayout layout{};
    int horizontal = 0;  ///< number of the filter in Plan::filters
    int vertical = 0;    ///< likewise
};

/// Where output sample (x, y) of the source's orientation lies in the upright output: column
/// column_0 + x * column_per_x + y * column_per_y, row likewise. The factors are -1, 0 and 1.
struct Placement {
    int column_0 = 0;
    int column_per_x = 1;
    int column_per_y = 0;
    int row_0 = 0;
    int row_per_x = 0;
    int row_per_y = 1;
};

/// Everything about one geometry that does not depend on the pixels: what an engine needs besides a frame's planes and
/// the output's address and strides. Plain data, immutable once made.
struct Plan {
    FrameKey key{};
    Crop crop{};    ///< in the source's orientation
    Size grid{};    ///< of the output, in the source's orientation
    Size output{};  ///< of the output, upright
    Placement placement{};
    int num_components = 0;
    std::array<ComponentPlan, 3> components{};
    std::vector<Filter> filters;  ///< luma's two; then chroma's two, where chroma has its own
    int depth = 8;                ///< significant bits of a sample
    int shift = 0;                ///< unused low bits of a stored sample
    int bytes_per_sample = 1;
    ColorPlan color{};
    DType dtype = DType::uint8;
    Layout layout = Layout::hwc;

    /// Whether a channel uses the component. Others are not read: a term with a zero factor may be left out
    /// (docs/reference/transform.md 5.3).
    [[nodiscard]] bool uses(std::size_t component) const noexcept;
};

[[nodiscard]] FrameKey frame_key(const Frame& frame, const TransformOptions& options);

/// The upright crop and output size that the options ask of a picture. Throws Error(invalid_argument) naming the
/// picture's size when the crop does not lie inside it.
struct UprightGeometry {
    Crop crop{};
    Size output{};
};
[[nodiscard]] UprightGeometry upright_geometry(int width, int height, Orientation orientation,
                                               const TransformOptions& options);

/// `options` are valid (Transform's constructor has looked at them).
[[nodiscard]] Plan make_plan(const FrameKey& key, const TransformOptions& options);

/// The oracle: docs/reference/transform.md in plain scalar C++. Every other engine gives these bytes.
/// `frame` has the plan's geometry and its planes in host memory; `out` has the plan's shape and dtype, any strides.
/// Makes the rows [begin, end) of the plan's grid.
void transform_ref(const Plan& plan, const Frame& frame, const TensorView& out, int begin, int end);

}  // namespace tricodec::image
