// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tricodec/base/device.h"
#include "tricodec/base/option.h"
#include "tricodec/tensor/dtype.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {

namespace image {
class PreparedPlan;
}

/// A rectangle of the upright picture, in pixels.
struct Crop {
    int top = 0;
    int left = 0;
    int height = 0;
    int width = 0;
    friend bool operator==(const Crop&, const Crop&) = default;
};

/// Extent of a picture in pixels.
struct Size {
    int height = 0;
    int width = 0;
    friend bool operator==(const Size&, const Size&) = default;
};
/// The size of a stored picture when it is upright.
[[nodiscard]] inline Size upright(int width, int height, const Orientation& orientation) noexcept {
    return orientation.swaps_axes() ? Size{width, height} : Size{height, width};
}

enum class Resize : std::uint8_t { nearest, bilinear, bicubic };
/// What the channels of the output are. `yuv` keeps the stream's samples (4:4:4, limited or full as they are),
/// `rgba` is RGB and the picture's opacity, which is full for streams without transparency.
enum class OutputColor : std::uint8_t { rgb, bgr, gray, yuv, rgba };
/// The order of a frame's channels in memory. chw2 and hwc8 are TensorRT's N(C/2)HW2 and NHWC8: channels in pairs,
/// [ceil(C / 2), H, W, 2], and channels padded to eights, [H, W, 8 * ceil(C / 8)]. Elements of no channel are zero.
enum class Layout : std::uint8_t { hwc, chw, chw2, hwc8 };
/// How a stream that does not name its matrix is read.
enum class UnspecifiedMatrix : std::uint8_t { bt601, bt709, by_height };
/// How subsampled chroma comes to the pixels of luma: `interpolated` from the samples around a pixel, as they are
/// sited; `nearest` gives each pixel the sample that covers it, as libswscale does by default.
enum class ChromaUpsampling : std::uint8_t { interpolated, nearest };

/// The names of values in all front ends, and back. Parsing throws Error(invalid_argument) listing what is accepted.
[[nodiscard]] std::string_view to_string(Resize resize) noexcept;
[[nodiscard]] std::string_view to_string(OutputColor color) noexcept;
[[nodiscard]] std::string_view to_string(Layout layout) noexcept;
[[nodiscard]] std::string_view to_string(UnspecifiedMatrix matrix) noexcept;
[[nodiscard]] OutputColor parse_output_color(std::string_view name);  // "rgb" "bgr" "gray" "yuv" "rgba"
/// "HWC", "CHW", "CHW2", "HWC8", each also with a leading N, F or T, and "N(C/2)HW2" for "CHW2".
[[nodiscard]] Layout parse_layout(std::string_view name);

/// The steps from a frame to a tensor; docs/reference/transform.md defines them.
struct TransformOptions {
    std::optional<Crop> crop;  ///< default: the whole picture
    std::optional<Size> size;  ///< default: the size of the crop
    Resize resize = Resize::bilinear;
    bool antialias = true;  ///< widen the filter when shrinking (ignored by nearest)
    ChromaUpsampling chroma = ChromaUpsampling::interpolated;
    OutputColor color = OutputColor::rgb;
    std::optional<ColorMatrix> matrix;  ///< overrides the stream's
    std::optional<ColorRange> range;    ///< overrides the stream's
    UnspecifiedMatrix unspecified = UnspecifiedMatrix::bt601;
    bool rotate = true;          ///< turn the picture upright as its metadata say
    DType dtype = DType::uint8;  ///< uint8, float16, bfloat16 or float32
    Layout layout = Layout::hwc;
    /// Float outputs are (value * scale - mean) / std with value in 0..255; empty mean and std are 0 and 1.
    /// One number for all channels or one a channel. uint8 takes none of them.
    std::optional<float> scale;  ///< default 1/255
    std::vector<float> mean;
    std::vector<float> std;
};

/// The table of the fields: Note [Options].
[[nodiscard]] Options<TransformOptions> transform_options();

/// How the steps of a Transform run for frames of one geometry.
struct FusionReport {
    std::string name;                    ///< the steps that are left: "yuv420p_to_rgb + resize + normalize + chw"
    std::string engine;                  ///< image_engine() of the frame's device
    std::string path;                    ///< "fused rows", "generic rows", "scalar"; a kernel and its grid
    std::vector<std::string> fused;      ///< steps without a pass of their own, and the steps that include them
    std::vector<std::string> erased;     ///< steps that change nothing, and why
    std::vector<std::string> not_fused;  ///< steps with work of their own, and why

    /// The name, the path and the engine in one line, then one line for each entry of the lists.
    [[nodiscard]] std::string to_string() const;
};

/// Crop, resize, colour conversion, normalisation, dtype and layout as one declared pass from a decoded frame to a
/// tensor. docs/reference/transform.md defines the arithmetic; every engine gives the same bytes.
/// Thread safety: const and safe from any number of threads.
class Transform {
public:
    /// Throws Error(invalid_argument) naming the option that is not accepted.
    explicit Transform(TransformOptions options = {});

    [[nodiscard]] const TransformOptions& options() const noexcept { return options_; }
    [[nodiscard]] int num_channels() const noexcept;
    /// The size that a frame of this size and orientation comes out in. Throws Error(invalid_argument) if the crop does
    /// not lie inside the picture.
    [[nodiscard]] Size output_size(int width, int height, Orientation orientation) const;
    /// Of options().layout: [H, W, C], [C, H, W], [ceil(C / 2), H, W, 2] or [H, W, 8 * ceil(C / 8)].
    [[nodiscard]] std::vector<std::int64_t> output_shape(int width, int height, Orientation orientation) const;

    /// Writes one frame. `out` must have output_shape() and options().dtype and be where the frame is; any strides.
    /// On a GPU the work is queued on `stream`, after the work that writes the frame, and the call does not wait; on
    /// the CPU `stream` is ignored. Throws Error(unsupported) where this build has no kernels for the GPU.
    void operator()(const Frame& frame, const TensorView& out, StreamView stream = {}) const;
    /// Writes the elements of part `part` of `num_parts`, 0 <= part < num_parts: bands of rows of the frame of about
    /// the same height. All parts, in any order or at the same time on several threads, make what operator() makes.
    /// Throws Error(unsupported) for a frame on a GPU.
    void run_part(const Frame& frame, const TensorView& out, int part, int num_parts) const;
    /// Allocates the result where the frame is.
    [[nodiscard]] Tensor operator()(const Frame& frame, StreamView stream = {}) const;
    /// Writes frame i to out[i]. All frames are on one device and come out in one size; on a GPU frames of the same
    /// geometry that follow one another share one launch, up to 64 of them.
    void operator()(std::span<const Frame> frames, const TensorView& out, StreamView stream = {}) const;
    /// The same with an output for each frame, wherever they lie.
    void operator()(std::span<const Frame> frames, std::span<const TensorView> outs, StreamView stream = {}) const;
    /// Allocates the result, [N, ...]. Throws Error(invalid_argument) if there is no frame.
    [[nodiscard]] Tensor operator()(std::span<const Frame> frames, StreamView stream = {}) const;

    /// What is fused for frames of this format, size, color and orientation, and what is not and why; the planes are
    /// not read. The log reports each new geometry at level debug. Throws what operator() throws.
    [[nodiscard]] FusionReport explain(const Frame& geometry) const;
    /// What is done, for people: "crop 480x480+20+0, resize bilinear antialiased to 224x224, rgb, float32 CHW".
    [[nodiscard]] std::string describe() const;

private:
    struct Cache;
    [[nodiscard]] std::shared_ptr<const image::PreparedPlan> prepared(const Frame& frame) const;
    template <class Run>
    void run_rgba(const Frame& frame, const TensorView& out, StreamView stream, const Run& run) const;
    void run_on_gpu(std::span<const Frame> frames, std::span<const TensorView> outs, StreamView stream) const;

    TransformOptions options_;
    std::shared_ptr<Cache> cache_;  // plans by frame geometry
};

/// What runs transforms in this process: "highway AVX3" (or AVX2, SSE4, NEON), or "scalar" where the machine or the
/// build has no kernels. The environment variable TRICODEC_DISABLE_CPU_FEATURES takes instruction sets away: a
/// comma-separated list of avx512, avx2, sse4 and neon, each with those that build on it. It is read once, when first
/// needed.
[[nodiscard]] std::string image_engine();
/// The same for a device: "cuda" for a GPU. Throws Error(unsupported) where this build has no kernels for GPUs.
[[nodiscard]] std::string image_engine(Device device);

/// The same picture in another layout of its samples, values unchanged except for their position in the word: planar to
/// semi-planar and back (yuv420p -> nv12, yuv420p10le -> p010le or p016le), and between depths by shifting.
/// Throws Error(unsupported) where samples would have to be resampled or colours converted.
[[nodiscard]] Frame convert_layout(const Frame& frame, PixelFormat format);
/// The same into memory of the caller's: planes of `out` must be set, its format and size say what is wanted.
void convert_layout_into(const Frame& frame, const Frame& out);
/// The same by work on `stream` for an `out` on a GPU. For a frame of the same format there the call does
/// not wait; other frames take their new layout on the host, in page-locked memory. Throws what convert_layout_into()
/// throws, and Error(device, out_of_memory).
void convert_layout_into(const Frame& frame, const Frame& out, StreamView stream);

/// How a size is reached that does not have the proportions of the picture, as DALI's resize defines it.
enum class ResizeMode : std::uint8_t {
    normal,      ///< exactly the size; an extent that is not given keeps the proportions
    stretch,     ///< exactly the size; an extent that is not given stays as it is
    not_larger,  ///< keeps the proportions; no extent is larger than asked
    not_smaller  ///< keeps the proportions; no extent is smaller than asked
};
/// "default" "stretch" "not_larger" "not_smaller". Throws Error(invalid_argument).
[[nodiscard]] ResizeMode parse_resize_mode(std::string_view name);

/// A size that depends on the picture. In pixels; 0 is an extent that is not given.
struct ResizeRequest {
    float height = 0;
    float width = 0;
    ResizeMode mode = ResizeMode::normal;
    std::optional<float> max_height{};
    std::optional<float> max_width{};
};

/// The size for a picture, rounded half up, at least 1x1. In single precision and the order of DALI's resize, so that
/// sizes are the same. Throws Error(invalid_argument) for extents that are negative, not finite or all 0.
[[nodiscard]] Size resized_size(const ResizeRequest& request, Size picture);

}  // namespace tricodec
