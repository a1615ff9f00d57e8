// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "tricodec/image/transform.h"
#include "tricodec/tensor/dtype.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// The result of an `SwscaleRgb`.
struct SwscaleOptions {
    /// uint8 (rgb24), uint16 (rgb48, all 16 bits), or float32, which is the uint16 picture divided by 65535.
    DType dtype = DType::uint8;
    std::optional<Size> size;  ///< of the upright picture, in the same pass as the colors
    bool bilinear = false;     ///< that pass; else bicubic
    /// What is done with the upright RGB picture, in order: a Size resizes it (bilinear), a Crop cuts it.
    std::vector<std::variant<Size, Crop>> steps;
};

/// RGB pictures by FFmpeg's libswscale, bit for bit those of `ffmpeg -pix_fmt rgb24` (or rgb48) of the same FFmpeg,
/// which torchcodec, decord and PyAV give too. `Transform` has this project's own arithmetic, which differs from it at
/// edges of chroma. The first object opens libswscale. Thread safety: const and safe from any number of threads.
class SwscaleRgb {
public:
    /// Throws Error(invalid_argument) for options that are not accepted, Error(unsupported) without libswscale.
    explicit SwscaleRgb(SwscaleOptions options = {});

    [[nodiscard]] const SwscaleOptions& options() const noexcept { return options_; }
    /// The size that a frame of this size and orientation comes out in. Throws Error(invalid_argument) if a crop does
    /// not lie inside the picture.
    [[nodiscard]] Size output_size(int width, int height, Orientation orientation) const;
    /// Writes one frame. `out` is contiguous, [H, W, 3], of options().dtype, in host memory. A frame on a GPU is copied
    /// to the host first.
    void operator()(const Frame& frame, const TensorView& out) const;

private:
    struct Contexts;
    SwscaleOptions options_;
    std::shared_ptr<Contexts> contexts_;
};

}  // namespace tricodec
