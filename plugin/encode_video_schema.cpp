// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <string>
#include <vector>

#include "encode_video.h"
#include "encode_video_gpu.h"

namespace tricodec::plugin {
namespace {

constexpr const char* kEncodeVideoDoc = R"(Encodes frames to whole video files in memory.

H.264, HEVC, AV1 and what else the FFmpeg in use encodes, into MP4, MOV, MKV, WebM, MPEG-TS, IVF or as a bare stream. The words that
``fn.tricodec.decode_video`` makes frames by say how they lie here: ``color`` and ``layout``, or ``format`` for raw planes. Sequences
of different sizes and lengths may share a batch; a sample without an axis of frames is a video of one.

The output is the file, 1-D uint8: byte for byte what ``tricodec.encode_video`` returns in Python for the same arguments, and what
``tricodec.Encoder`` and ``tricodec.Muxer`` make of the frames. Samples are encoded side by side on the threads of the pipeline, each
by ``encoder_threads`` threads of its codec; with the default, 1, the bytes do not depend on the machine.

With ``device="gpu"`` NVENC encodes frames where they are, if the GPU has it for the codec; else each frame is copied once to
the host and the CPU encodes it, which the log tells. The file is in the GPU's memory then, where the operator's outputs
have to be: ``.cpu()`` brings it back.

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
    .InputDox(0, "frames", "TensorList of uint8 or uint16",
              "``FHWC`` or ``FCHW`` frames as ``color`` and ``layout`` say, or the planes of ``format``; uint16 for "
              "formats of "
              "more than 8 bits.")
    .InputDox(
        1, "pts", "1D TensorList of float64, on the CPU",
        "The frames' times in seconds; the first becomes 0. Without them frames follow one another by ``frame_rate``.")
    .InputDevice(1, ::dali::InputDevice::CPU)
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
    .OutputDType(0, DALI_UINT8)
    .OutputNDim(0, 1)
#endif
    .AddOptionalArg("codec",
                    "``\"h264\"``, ``\"hevc\"``, ``\"av1\"``, for which the encoder is chosen, or the name of one "
                    "of libavcodec's: ``\"libx264\"``, ``\"libvpx-vp9\"``.",
                    "h264")
    .AddOptionalArg(
        "container",
        "``\"mp4\"``, ``\"mov\"``, ``\"mkv\"``, ``\"webm\"``, ``\"ts\"``, ``\"ivf\"``, ... or ``\"raw\"``: the bare "
        "stream.",
        "mp4")
    .AddOptionalArg("color",
                    "What the channels of the frames are: ``\"rgb\"``, ``\"bgr\"``, ``\"gray\"`` or ``\"yuv\"``.",
                    "rgb")
    .AddOptionalArg<std::string>(
        "layout",
        "``\"HWC\"``, ``\"CHW\"``, ``\"CHW2\"`` or ``\"HWC8\"``; default what DALI calls the input's "
        "layout, else ``\"HWC\"``. A leading F changes nothing.",
        nullptr)
    .AddOptionalArg<std::string>(
        "format",
        "The frames are raw planes in this layout, ``\"yuv420p\"``, ``\"nv12\"``, ``\"p010le\"``, ..., as "
        "``fn.tricodec.decode_video(format=...)`` gives them.",
        nullptr)
    .AddOptionalArg<std::string>(
        "pixel_format",
        "Layout of the pictures as they are encoded; default ``\"yuv420p\"``, or, for raw planes, the "
        "nearest to theirs that the encoder takes.",
        nullptr)
    .AddOptionalArg<std::string>(
        "matrix",
        "Color matrix that RGB is converted by and the stream tells: ``\"bt601\"``, ``\"bt709\"``, "
        "``\"bt2020\"``, ...; default BT.601, untold.",
        nullptr)
    .AddOptionalArg<std::string>("range", "The same of the range: ``\"limited\"`` or ``\"full\"``.", nullptr)
    .AddOptionalArg<float>("frame_rate", "Frames per second; 29.97 is 30000/1001. Default that of ``pts``, or 30.",
                           nullptr, true)
    .AddOptionalArg("bit_rate", "Bits per second; 0 is the encoder's own choice, mostly a constant quality.",
                    std::int64_t{0}, true)
    .AddOptionalArg<float>(
        "crf", "Constant quality, the encoder's option \"crf\" (\"cq\" of NVENC): smaller is better and larger.",
        nullptr, true)
    .AddOptionalArg("gop_size", "Most frames from a key frame to the next; -1 is the encoder's own choice.",
                    std::int64_t{-1}, true)
    .AddOptionalArg("num_b_frames", "Most B frames in a row; -1 is the encoder's own choice.", -1)
    .AddOptionalArg<std::string>("preset", "The encoder's option \"preset\": ``\"veryfast\"``.", nullptr)
    .AddOptionalArg<std::vector<std::string>>(
        "options", "More options of the encoder by FFmpeg's names: ``[\"tune=film\", \"refs=2\"]``.", nullptr)
    .AddOptionalArg("encoder_threads", "Threads of the codec; 0 is its own choice. What is encoded may depend on it.",
                    1)
    .AddOptionalArg("rotation", "For the container: degrees clockwise, 0, 90, 180 or 270.", std::int64_t{0}, true)
    .AddOptionalArg("fast_start", "The file's index in front (mp4, mov, mkv, webm).", false)
    .AddOptionalArg("fragmented", "An mp4 or mov in fragments.", false)
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__EncodeVideo, tricodec::plugin::EncodeVideo, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__EncodeVideo, tricodec::plugin::EncodeVideoGpu, ::dali::GPU);
