// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/checkpointing/stateless_operator.h>
#include <dali/pipeline/operator/error_reporting.h>
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "common/backend.h"
#include "common/errors.h"
#include "common/transform_arguments.h"
#include "tricodec/base/error.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/raw_frames.h"

namespace tricodec::plugin {

/// The request of fn.tricodec.transform for each sample: arguments and shapes, no pixels.
class TransformRequest {
public:
    explicit TransformRequest(const ::dali::OpSpec& spec);

    struct Sample {
        std::shared_ptr<const Transform> transform;
        RawFrames raw;
        Orientation orientation;
        std::vector<std::int64_t> frame_shape;  ///< of one transformed frame
    };
    /// Throws DALI's errors, which name the sample.
    [[nodiscard]] std::vector<Sample> read(const ::dali::ArgumentWorkspace& workspace,
                                           const ::dali::TensorListShape<>& input, ::dali::DALIDataType type) const;

    [[nodiscard]] const TransformOptions& options() const noexcept { return arguments_.options(); }
    /// The output for samples of an input of so many dimensions.
    [[nodiscard]] ::dali::OutputDesc output(const std::vector<Sample>& samples, int input_ndim) const;
    [[nodiscard]] std::string output_layout(int input_ndim) const;
    /// Frame number `index` of a sample with its pictures at `data`, and its place in the output.
    [[nodiscard]] Frame frame(const Sample& sample, std::byte* data, std::int64_t index, Device device) const;
    [[nodiscard]] TensorView place(const Sample& sample, std::byte* data, std::int64_t index, Device device) const;

private:
    [[nodiscard]] bool has_sequences(int input_ndim) const { return input_ndim == picture_ndim(format_) + 1; }
    [[nodiscard]] Sample read_sample(std::span<const std::int64_t> shape, std::int64_t width, std::int64_t height,
                                     std::int64_t rotation, const TransformArguments::Sample& arguments) const;

    TransformArguments arguments_;
    IntArgument width_;
    IntArgument height_;
    IntArgument rotation_;
    bool mirrored_;
    PixelFormat format_;
    ColorDescription color_;
};

namespace {

void expect_samples(PixelFormat format, ::dali::DALIDataType type) {
    const bool words = sample_dtype(format) == DType::uint16;
    if (type == (words ? DALI_UINT16 : DALI_UINT8)) return;
    throw ::dali::DaliTypeError(
        ::dali::make_string("the input \"frames\" holds ", type, "; the samples of ", std::string(to_string(format)),
                            " are ", words ? "uint16 (of bytes: fn.reinterpret(x, dtype=types.UINT16))" : "uint8"));
}

std::int64_t pixels_of(const RawFrames& raw) {
    return std::int64_t{raw.width} * raw.height;
}

/// Into how many bands a frame is cut, so that a batch of few large frames keeps all threads at work.
int parts_of_frame(const RawFrames& raw, std::int64_t num_frames, int num_threads) {
    constexpr std::int64_t kLeastPixels = 1 << 17;  // less work is not worth a task
    const std::int64_t wanted = (num_threads + num_frames - 1) / std::max<std::int64_t>(1, num_frames);
    return static_cast<int>(std::clamp<std::int64_t>(pixels_of(raw) / kLeastPixels, 1, wanted));
}

}  // namespace

TransformRequest::TransformRequest(const ::dali::OpSpec& spec)
    : arguments_(translate_errors("", [&] { return TransformArguments(spec, true); })),
      width_("width", spec),
      height_("height", spec),
      rotation_("rotation", spec),
      mirrored_(spec.GetArgument<bool>("mirrored")) {
    translate_errors("", [&] {
        format_ = parse_pixel_format(spec.GetArgument<std::string>("format"));
        color_.chroma_location = parse_chroma_location(spec.GetArgument<std::string>("chroma_location"));
    });
}

std::vector<TransformRequest::Sample> TransformRequest::read(const ::dali::ArgumentWorkspace& workspace,
                                                             const ::dali::TensorListShape<>& input,
                                                             ::dali::DALIDataType type) const {
    expect_samples(format_, type);
    const int num_samples = input.num_samples();
    const auto width = width_.values(workspace, num_samples);
    const auto height = height_.values(workspace, num_samples);
    const auto rotation = rotation_.values(workspace, num_samples);
    const auto arguments = arguments_.for_samples(workspace, num_samples);
    std::vector<Sample> samples;
    for (int i = 0; i < num_samples; ++i) {
        const auto n = static_cast<std::size_t>(i);
        const auto extents = input.tensor_shape_span(i);
        const std::vector<std::int64_t> shape(extents.begin(), extents.end());
        samples.push_back(translate_errors(context_of(i, num_samples), [&] {
            return read_sample(shape, width[n][0], height[n][0], rotation[n][0], arguments[n]);
        }));
    }
    return samples;
}

TransformRequest::Sample TransformRequest::read_sample(std::span<const std::int64_t> shape, std::int64_t width,
                                                       std::int64_t height, std::int64_t rotation,
                                                       const TransformArguments::Sample& arguments) const {
    if (arguments.error) std::rethrow_exception(arguments.error);
    TRICODEC_EXPECT(rotation == 0 || rotation == 90 || rotation == 180 || rotation == 270, invalid_argument,
                    "rotation is " + std::to_string(rotation) + "; it must be 0, 90, 180 or 270");
    Sample sample;
    sample.transform = arguments.transform;
    sample.raw = read_raw_shape(format_, shape, width, height);
    sample.orientation = {static_cast<int>(rotation), mirrored_};
    sample.frame_shape = sample.transform->output_shape(sample.raw.width, sample.raw.height, sample.orientation);
    auto whole = sample.frame_shape;
    whole.insert(whole.begin(), sample.raw.num_frames);
    check_output_bytes(whole, options().dtype);
    return sample;
}

Frame TransformRequest::frame(const Sample& sample, std::byte* data, std::int64_t index, Device device) const {
    const std::int64_t size = info(format_).packed_bytes(sample.raw.width, sample.raw.height);
    Frame result = frame_over(format_, sample.raw.width, sample.raw.height, data + index * size);
    result.device = device;
    result.color = color_;
    result.orientation = sample.orientation;
    return result;
}

TensorView TransformRequest::place(const Sample& sample, std::byte* data, std::int64_t index, Device device) const {
    std::int64_t size = static_cast<std::int64_t>(size_of(options().dtype));
    for (const std::int64_t extent : sample.frame_shape) size *= extent;
    return {.data = data + index * size,
            .dtype = options().dtype,
            .device = device,
            .shape = sample.frame_shape,
            .strides_bytes = contiguous_strides(sample.frame_shape, options().dtype)};
}

::dali::OutputDesc TransformRequest::output(const std::vector<Sample>& samples, int input_ndim) const {
    const bool sequences = has_sequences(input_ndim);
    const int ndim = static_cast<int>(layout_name(options().layout).size()) + (sequences ? 1 : 0);
    ::dali::TensorListShape<> shape(static_cast<int>(samples.size()), ndim);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        auto extents = samples[i].frame_shape;
        if (sequences) extents.insert(extents.begin(), samples[i].raw.num_frames);
        shape.set_tensor_shape(static_cast<int>(i), ::dali::TensorShape<>(extents));
    }
    translate_errors("", [&] { check_batch_bytes(shape, options().dtype); });
    return {std::move(shape), to_dali(options().dtype)};
}

std::string TransformRequest::output_layout(int input_ndim) const {
    return (has_sequences(input_ndim) ? "F" : "") + layout_name(options().layout);
}

/// fn.tricodec.transform: raw frames in, transformed frames out, the same bytes on the CPU and on the GPU. The kernels
/// write DALI's output themselves.
template <typename Backend>
class TransformFrames : public ::dali::StatelessOperator<Backend> {
public:
    explicit TransformFrames(const ::dali::OpSpec& spec)
        : ::dali::StatelessOperator<Backend>(spec), device_(device_of<Backend>(spec, "transform")), request_(spec) {}

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override {
        const auto& input = workspace.Input<Backend>(0);
        samples_ = request_.read(workspace, input.shape(), input.type());
        outputs = {request_.output(samples_, input.sample_dim())};
        return true;
    }
    void RunImpl(::dali::Workspace& workspace) override {
        const auto& input = workspace.Input<Backend>(0);
        auto& output = workspace.Output<Backend>(0);
        std::vector<Memory> memory;
        for (int i = 0; i < input.num_samples(); ++i) {
            // The pixels are only read, but a Frame has no other kind of pointer.
            memory.push_back({const_cast<std::byte*>(static_cast<const std::byte*>(input.raw_tensor(i))),
                              static_cast<std::byte*>(output.raw_mutable_tensor(i))});
        }
        run(memory, workspace);
        copy_source_info(input, output);
        output.SetLayout(request_.output_layout(input.sample_dim()));
        samples_.clear();
    }

private:
    struct Memory {
        std::byte* input;
        std::byte* output;
    };
    void run(const std::vector<Memory>& memory, ::dali::Workspace& workspace);

    Device device_;
    TransformRequest request_;
    std::vector<TransformRequest::Sample> samples_;
};

/// A task for each frame, or for each band of a large frame, on DALI's threads.
template <>
void TransformFrames<::dali::CPUBackend>::run(const std::vector<Memory>& memory, ::dali::Workspace& workspace) {
    auto& pool = workspace.GetThreadPool();
    std::int64_t num_frames = 0;
    for (const auto& sample : samples_) num_frames += sample.raw.num_frames;
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        const auto& sample = samples_[i];
        const int num_parts = parts_of_frame(sample.raw, num_frames, pool.NumThreads());
        for (std::int64_t task = 0; task < sample.raw.num_frames * num_parts; ++task) {
            const auto transform = [=, this, &sample, &places = memory[i]] {
                const std::int64_t index = task / num_parts;
                translate_errors(context_of(static_cast<int>(i), static_cast<int>(samples_.size())), [&] {
                    sample.transform->run_part(request_.frame(sample, places.input, index, {}),
                                               request_.place(sample, places.output, index, {}),
                                               static_cast<int>(task % num_parts), num_parts);
                });
            };
            tasks.push_back({transform, pixels_of(sample.raw) / num_parts});
        }
    }
    run_on_pool(std::move(tasks), pool);
}

/// On DALI's stream, up to 64 frames of one geometry in a launch; the host does not wait.
template <>
void TransformFrames<::dali::GPUBackend>::run(const std::vector<Memory>& memory, ::dali::Workspace& workspace) {
    std::vector<Frame> frames;
    std::vector<TensorView> places;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        const auto& sample = samples_[i];
        for (std::int64_t index = 0; index < sample.raw.num_frames; ++index) {
            frames.push_back(request_.frame(sample, memory[i].input, index, device_));
            places.push_back(request_.place(sample, memory[i].output, index, device_));
        }
        // Neighbors with the same Transform share launches.
        if (i + 1 < samples_.size() && samples_[i + 1].transform == sample.transform) continue;
        translate_errors(
            "", [&] { (*sample.transform)(frames, std::span<const TensorView>(places), stream_of(workspace)); });
        frames.clear();
        places.clear();
    }
}

namespace {

constexpr const char* kTransformDoc =
    R"(Crops, resizes, converts colors, normalizes, and makes data type and layout of raw frames, in one pass.

The frames are the planes of pictures, one after another without padding, from ``fn.tricodec.decode_video(format=...)`` or
any reader of raw video: ``[H * 3 / 2, W]`` for 4:2:0 (``yuv420p``, ``nv12``, ``p010le``, ...), ``[H * 2, W]`` for
4:2:2, ``[3, H, W]`` for three planes of full size (``yuv444p``, ``gbrp``, ...), ``[H * 3, W]`` for ``nv24``, ``[H, W]`` for
gray, ``[H, W, 3]`` for ``rgb24`` and ``bgr24``. Sequences have a first axis of frames. With ``width`` and ``height`` a picture
may have any other shape of as many dimensions, or of one, that holds its samples: pictures of odd sizes need that.

The output is ``HWC`` or ``CHW`` by ``layout``, or ``FHWC`` or ``FCHW`` for sequences, of type ``dtype``. It is byte for byte what
``tricodec.Transform`` gives in Python, and what ``fn.tricodec.decode_video`` gives when it transforms the frames itself.

Example::

    import nvidia.dali.fn as fn
    import nvidia.dali.types as types
    import tricodec.dali  # registers the operator
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def clips(files):
        encoded, _ = fn.readers.file(files=files)
        planes, pts = fn.tricodec.decode_video(encoded, count=16, format="nv12")
        return fn.tricodec.transform(planes, format="nv12", size=(224, 224), dtype=types.FLOAT, layout="CHW")
)";

#if TRICODEC_DALI_VERSION >= 202
std::optional<::dali::DALIDataType> transformed_dtype(const ::dali::OpSpec& spec) {
    return spec.GetArgument<::dali::DALIDataType>("dtype");
}
#endif

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__Transform)
    .DocStr(tricodec::plugin::kTransformDoc)
    .AddParent("tricodec__TransformArguments")
    .NumInput(1)
    .NumOutput(1)
    .InputDox(0, "frames", "TensorList of uint8 or uint16",
              "The planes of pictures; uint16 for formats of more than 8 bits.")
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for it
    .OutputDType(0, tricodec::plugin::transformed_dtype)
#endif
    .AddArg("format", "Layout of the planes, by FFmpeg's name: ``\"yuv420p\"``, ``\"nv12\"``, ``\"p010le\"``, ...",
            DALI_STRING)
    .AddOptionalArg("width", "Width of the pictures in pixels; 0 means that of the shape.", std::int64_t{0}, true)
    .AddOptionalArg("height", "Height of the pictures in pixels; 0 means that of the shape.", std::int64_t{0}, true)
    .AddOptionalArg(
        "rotation",
        "Degrees clockwise, 0, 90, 180 or 270, that turn the pictures upright; ``crop`` and ``size`` are in "
        "upright coordinates.",
        std::int64_t{0}, true)
    .AddOptionalArg("mirrored", "Mirror left and right before the rotation.", false)
    .AddOptionalArg("chroma_location",
                    "Position of the chroma samples: ``\"left\"``, ``\"center\"``, ``\"topleft\"``, ``\"top\"``, "
                    "``\"bottomleft\"``, ``\"bottom\"``; ``\"unspecified\"`` is read as left.",
                    "unspecified")
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__Transform, tricodec::plugin::TransformFrames<::dali::CPUBackend>, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__Transform, tricodec::plugin::TransformFrames<::dali::GPUBackend>, ::dali::GPU);
