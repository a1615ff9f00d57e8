// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <optional>
#include <string>

#include "transform_frames_gpu.h"

namespace tricodec::plugin {
namespace {

constexpr const char* kTransformDoc =
    R"(Crop, resize, color conversion, normalization, data type and layout of raw frames, in one pass.

The frames are the planes of pictures, one after another without padding, as ``fn.tricodec.decode_video(format=...)`` gives
them, or any reader of raw video: ``[H * 3 / 2, W]`` for 4:2:0 (``yuv420p``, ``nv12``, ``p010le``, ...), ``[H * 2, W]`` for
4:2:2, ``[3, H, W]`` for three planes of full size (``yuv444p``, ``gbrp``, ...), ``[H * 3, W]`` for ``nv24``, ``[H, W]`` for
gray, ``[H, W, 3]`` for ``rgb24`` and ``bgr24``; with a first axis of frames for sequences. With ``width`` and ``height``, also
any shape of as many dimensions, or of one, that holds the samples of one picture: that is how pictures of odd sizes come.

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
    .AddArg("format", "FFmpeg's name of the layout of the planes: ``\"yuv420p\"``, ``\"nv12\"``, ``\"p010le\"``, ...",
            DALI_STRING)
    .AddOptionalArg("width", "Pixels of a row; 0 takes it from the shape.", std::int64_t{0}, true)
    .AddOptionalArg("height", "Rows of a picture; 0 takes it from the shape.", std::int64_t{0}, true)
    .AddOptionalArg("rotation",
                    "Degrees clockwise, 0, 90, 180 or 270, that pictures must be turned to stand upright; ``crop`` and "
                    "``size`` are in upright coordinates.",
                    std::int64_t{0}, true)
    .AddOptionalArg("mirrored", "Mirror left-right before the rotation.", false)
    .AddOptionalArg("chroma_location",
                    "Where chroma samples sit: ``\"left\"``, ``\"center\"``, ``\"topleft\"``, ``\"top\"``, "
                    "``\"bottomleft\"``, ``\"bottom\"``; ``\"unspecified\"`` is left.",
                    "unspecified")
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__Transform, tricodec::plugin::TransformFrames, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__Transform, tricodec::plugin::TransformFramesGpu, ::dali::GPU);
