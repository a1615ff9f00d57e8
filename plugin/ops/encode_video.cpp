// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/checkpointing/stateless_operator.h>
#include <dali/pipeline/operator/error_reporting.h>
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "common/backend.h"
#include "common/errors.h"
#include "ops/encode_arguments.h"
#include "tricodec/base/buffer.h"

namespace tricodec::plugin {
namespace {

/// The times of each sample, from the second input, float64 or float32 of one dimension; nothing without that input.
/// Throws DALI's errors.
std::vector<std::vector<double>> read_pts(const ::dali::Workspace& workspace) {
    if (workspace.NumInput() < 2) return {};
    const auto& list = workspace.Input<::dali::CPUBackend>(1);
    if ((list.type() != DALI_FLOAT64 && list.type() != DALI_FLOAT) || list.sample_dim() != 1) {
        throw ::dali::DaliTypeError(::dali::make_string("the input \"pts\" holds ", list.type(), " of ",
                                                        list.sample_dim(),
                                                        " dimensions; it takes the frames' times in seconds, float64 "
                                                        "[F], as fn.tricodec.decode_video gives them"));
    }
    std::vector<std::vector<double>> times;
    for (int i = 0; i < list.num_samples(); ++i) {
        times.push_back(numbers_of(list, i, "pts"));
        if (times.back().empty())
            throw_dali(ErrorCode::invalid_argument, "Sample " + std::to_string(i) + " has no times");
    }
    return times;
}

}  // namespace

/// fn.tricodec.encode_video: pictures in, whole files out, one task a sample. On a GPU NVENC encodes the pictures where
/// they are, if the GPU has it for the codec; else each picture is copied to page-locked memory once and the CPU
/// encodes it. The host waits for the pictures, because it feeds the encoders.
template <typename Backend>
class EncodeVideo : public ::dali::StatelessOperator<Backend> {
public:
    explicit EncodeVideo(const ::dali::OpSpec& spec)
        : ::dali::StatelessOperator<Backend>(spec),
          device_(device_of<Backend>(spec, "encode_video")),
          arguments_(spec, preferred_engine(device_)) {}

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/, const ::dali::Workspace& /*workspace*/) override {
        return false;  // the sizes of the files are known when they are complete
    }
    void RunImpl(::dali::Workspace& workspace) override;

private:
    using File = std::shared_ptr<std::vector<std::byte>>;

    /// The pictures of a sample of the input.
    [[nodiscard]] Tensor pixels_of(const ::dali::Workspace& workspace, int sample) const;

    Device device_;
    EncodeArguments arguments_;
};

template <typename Backend>
Tensor EncodeVideo<Backend>::pixels_of(const ::dali::Workspace& workspace, int sample) const {
    const auto& frames = workspace.Input<Backend>(0);
    const auto extents = frames.shape().tensor_shape_span(sample);
    auto* data = const_cast<void*>(frames.raw_tensor(sample));  // only read, but a Frame has no other kind of pointer
    Tensor pixels;
    pixels.view.data = data;
    pixels.view.dtype = frames.type() == DALI_UINT8 ? DType::uint8 : DType::uint16;
    pixels.view.device = device_;
    pixels.view.shape = {extents.begin(), extents.end()};
    pixels.view.strides_bytes = contiguous_strides(pixels.view.shape, pixels.view.dtype);
    if constexpr (kOnGpu<Backend>) {
        pixels.buffer = Buffer::borrow(data, bytes_of(frames, sample), nullptr, device_, stream_of(workspace));
    }
    return pixels;
}

template <typename Backend>
void EncodeVideo<Backend>::RunImpl(::dali::Workspace& workspace) {
    const auto& frames = workspace.Input<Backend>(0);
    if (frames.type() != DALI_UINT8 && frames.type() != DALI_UINT16) {
        throw ::dali::DaliTypeError(::dali::make_string(
            "the input \"frames\" holds ", frames.type(),
            "; frames to encode are uint8, 0 to 255 (undo a normalization, then fn.cast), and raw planes of more than "
            "8 bits uint16"));
    }
    const auto options = arguments_.for_samples(workspace, frames.num_samples());
    const PictureLayout layout = arguments_.pictures(frames.GetLayout().str());
    const auto times = read_pts(workspace);
    std::vector<File> files(options.size());
    std::vector<std::exception_ptr> errors(options.size());
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const int sample = static_cast<int>(i);
        const auto encode = [&, i, pixels = pixels_of(workspace, sample)] {
            try {
                const std::span<const double> pts = times.empty() ? std::span<const double>{} : times[i];
                files[i] = encode_video(PictureArray(pixels, layout), pts, options[i]);
            } catch (...) {
                errors[i] = std::current_exception();
            }
        };
        tasks.push_back({encode, frames.shape().tensor_size(sample)});
    }
    run_tasks<Backend>(std::move(tasks), workspace, this->num_threads_);
    const auto num_failed = std::ranges::count_if(errors, [](const auto& error) { return error != nullptr; });
    for (std::size_t i = 0; i < errors.size(); ++i) {
        if (!errors[i]) continue;
        const Failure failure = describe_failure(errors[i]);
        std::string message = context_of(static_cast<int>(i), frames.num_samples()) + failure.message;
        if (num_failed > 1) message += " [" + std::to_string(num_failed - 1) + " more of this batch failed]";
        throw_dali(failure.code, message);
    }
    write_output<Backend>(workspace, 0, flat_shape(files, [](const File& file) { return file->size(); }), DALI_UINT8,
                          [&](auto& output) {
                              for (int i = 0; i < output.num_samples(); ++i) {
                                  std::ranges::copy(*files[static_cast<std::size_t>(i)],
                                                    static_cast<std::byte*>(output.raw_mutable_tensor(i)));
                              }
                          });
    copy_source_info(frames, workspace.Output<Backend>(0));
}

namespace {

constexpr const char* kEncodeVideoDoc = R"(Encodes frames to whole video files in memory.

H.264, HEVC, AV1 and every other codec of the FFmpeg in use, into MP4, MOV, MKV, WebM, MPEG-TS, IVF or as a bare stream. The
arguments that describe the frames of ``fn.tricodec.decode_video`` describe them here: ``color`` and ``layout``, or ``format`` for
raw planes. Sequences of different sizes and lengths may share a batch. A sample without an axis of frames is a video of one frame.

The output is the file, 1-D uint8: byte for byte what ``tricodec.encode_video`` returns in Python for the same arguments, and what
``tricodec.Encoder`` and ``tricodec.Muxer`` make of the frames. The threads of the pipeline encode samples side by side, each
sample with ``encoder_threads`` threads of its codec. With the default, 1, the bytes do not depend on the machine.

With ``device="gpu"`` NVENC encodes frames where they are, if the GPU has it for the codec. If not, each frame is copied once to
the host, the CPU encodes it, and the log says so. The file is then in the GPU's memory, like the output of every GPU operator:
``.cpu()`` brings it back.

Example::

    import nvidia.dali.fn as fn
    import tricodec.dali  # registers the operator
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def small_copies(files):
        encoded, _ = fn.readers.file(files=files)
        frames, pts = fn.tricodec.decode_video(encoded, count=64, size=(240, 320))
        return fn.tricodec.encode_video(frames, pts, codec="h264", crf=28, preset="veryfast")
)";

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__EncodeVideo)
    .DocStr(tricodec::plugin::kEncodeVideoDoc)
    .NumInput(1, 2)
    .NumOutput(1)
    .InputDox(
        0, "frames", "TensorList of uint8 or uint16",
        "``FHWC`` or ``FCHW`` frames by ``color`` and ``layout``, or the planes of ``format``; uint16 for formats "
        "of more than 8 bits.")
    .InputDox(1, "pts", "1D TensorList of float64, on the CPU",
              "The frames' times in seconds; the first becomes 0. Without them the times follow ``frame_rate``.")
    .InputDevice(1, ::dali::InputDevice::CPU)
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
    .OutputDType(0, DALI_UINT8)
    .OutputNDim(0, 1)
#endif
    .AddOptionalArg(
        "codec",
        "``\"h264\"``, ``\"hevc\"`` or ``\"av1\"``, for which the operator chooses an encoder, or the name of "
        "an encoder of libavcodec: ``\"libx264\"``, ``\"libvpx-vp9\"``.",
        "h264")
    .AddOptionalArg(
        "container",
        "``\"mp4\"``, ``\"mov\"``, ``\"mkv\"``, ``\"webm\"``, ``\"ts\"``, ``\"ivf\"``, ..., or ``\"raw\"``, the bare "
        "stream.",
        "mp4")
    .AddOptionalArg("color", "Channels of the frames: ``\"rgb\"``, ``\"bgr\"``, ``\"gray\"`` or ``\"yuv\"``.", "rgb")
    .AddOptionalArg<std::string>(
        "layout",
        "``\"HWC\"`` or ``\"CHW\"``; the default is DALI's layout of the input, else ``\"HWC\"``. A leading F is "
        "ignored.",
        nullptr)
    .AddOptionalArg<std::string>(
        "format",
        "Layout of raw planes, which the frames then are, as from ``fn.tricodec.decode_video(format=...)``: "
        "``\"yuv420p\"``, ``\"nv12\"``, ``\"p010le\"``, ...",
        nullptr)
    .AddOptionalArg<std::string>(
        "pixel_format",
        "Layout of the pictures as they are encoded. The default is ``\"yuv420p\"``; for raw planes it is the "
        "encoder's layout that is nearest to theirs.",
        nullptr)
    .AddOptionalArg<std::string>(
        "matrix",
        "Color matrix of the conversion from RGB, which the stream then states: ``\"bt601\"``, ``\"bt709\"``, "
        "``\"bt2020\"``, ... By default it is BT.601, and the stream states none.",
        nullptr)
    .AddOptionalArg<std::string>(
        "range", "Range of the samples, used and stated like ``matrix``: ``\"limited\"`` (default) or ``\"full\"``.",
        nullptr)
    .AddOptionalArg<float>("frame_rate",
                           "Frames per second; 29.97 is 30000/1001. The default is that of ``pts``, or 30.", nullptr,
                           true)
    .AddOptionalArg("bit_rate", "Bits per second; 0 is the encoder's own choice, mostly constant quality.",
                    std::int64_t{0}, true)
    .AddOptionalArg<float>(
        "crf", "Constant quality, the encoder's option \"crf\" (\"cq\" of NVENC): smaller is better and larger.",
        nullptr, true)
    .AddOptionalArg("gop_size",
                    "Maximum number of frames from a key frame to the next; -1 is the encoder's own choice.",
                    std::int64_t{-1}, true)
    .AddOptionalArg("num_b_frames", "Maximum number of B frames in a row; -1 is the encoder's own choice.", -1)
    .AddOptionalArg<std::string>("preset", "The encoder's option \"preset\": ``\"veryfast\"``.", nullptr)
    .AddOptionalArg<std::vector<std::string>>(
        "options", "More options of the encoder by FFmpeg's names: ``[\"tune=film\", \"refs=2\"]``.", nullptr)
    .AddOptionalArg("encoder_threads",
                    "Threads of the codec for a sample; 0 is its own choice. The encoded bytes may depend on it.", 1)
    .AddOptionalArg("rotation", "Rotation that the container states: degrees clockwise, 0, 90, 180 or 270.",
                    std::int64_t{0}, true)
    .AddOptionalArg("fast_start", "Write the index at the start of the file (mp4, mov, mkv, webm).", false)
    .AddOptionalArg("fragmented", "Write an mp4 or mov in fragments.", false)
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__EncodeVideo, tricodec::plugin::EncodeVideo<::dali::CPUBackend>, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__EncodeVideo, tricodec::plugin::EncodeVideo<::dali::GPUBackend>, ::dali::GPU);
