// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include "decode_video.h"
#include "decode_video_mixed.h"
#include "decoding_schema.h"

namespace tricodec::plugin {
namespace {

constexpr const char* kDecodeVideoDoc = R"(Decodes whole video files from memory to tensors of frames.

H.264, HEVC, AV1, VP8, VP9, MPEG-1, MPEG-2, MPEG-4, MJPEG and VC-1, 8 to 12 bits, in MP4, MOV, MKV, WebM, AVI, MPEG-TS or as
bare streams. Choosing frames, cropping, resizing, color conversion, normalization, data type and layout are one pass; the
result is byte for byte what ``tricodec.decode_video`` returns in Python for the same arguments.

Frame ``i`` is the i-th frame in presentation order, exactly, whatever the seek path. The color matrix and range are the
stream's. The work runs on the threads of the pipeline: each video is cut at its key frames, so that also a single long video
uses all of them. With ``device="mixed"`` it runs on all decoders of the GPU, the outputs are there, and their bytes are the same;
what the GPU cannot decode exactly the CPU does.

Outputs:

* frames: ``FHWC`` or ``FCHW`` by ``layout``, of type ``dtype``. Without ``size`` each video keeps its own size. With
  ``format``: raw planes, uint8 or, for more than 8 bits, uint16.
* pts: the frames' presentation times in seconds, 1-D float64.
* with ``num_damaged_packets=True``: how many packets of the video could not be decoded whole, int64 of one element.

A sample that cannot be decoded raises an error that names it, or becomes a sample of 0 frames with ``on_error="empty"``.

Example::

    import nvidia.dali.fn as fn
    import nvidia.dali.types as types
    import tricodec.dali  # registers the operator
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def clips(files):
        encoded, _ = fn.readers.file(files=files)
        frames, pts = fn.tricodec.decode_video(
            encoded, start=30, stride=2, count=16, size=(224, 224), dtype=types.FLOAT, layout="CHW",
            mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
        return frames, pts
)";

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__DecodeVideo)
    .DocStr(tricodec::plugin::kDecodeVideoDoc)
    .AddParent("tricodec__DecodingArguments")
    .NumInput(1)
    .NumOutput(2)
    .InputDox(0, "encoded", "1D TensorList of uint8", "The bytes of whole video files, one a sample.")
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
    .OutputDType(0, tricodec::plugin::frames_dtype)
    .OutputNDim(0, tricodec::plugin::frames_ndim)
    .OutputLayout(0, tricodec::plugin::frames_layout)
    .OutputDType(1, DALI_FLOAT64)
    .OutputNDim(1, 1)
    .OutputLayout(1, ::dali::TensorLayout("F"))
    .OutputDType(2, DALI_INT64)
    .OutputNDim(2, 1)
#endif
    .AdditionalOutputsFn([](const ::dali::OpSpec& spec) {
        return spec.GetArgument<bool>("num_damaged_packets") ? 1 : 0;
    })
    .AddOptionalArg("start", "Number of the first frame; a negative one counts from the end.", std::int64_t{0}, true)
    .AddOptionalArg("stride", "Every how many frames one is taken; at least 1.", std::int64_t{1}, true)
    .AddOptionalArg("count", "How many frames; -1 is to the end of the video.", std::int64_t{-1}, true)
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__DecodeVideo, tricodec::plugin::DecodeVideo, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__DecodeVideo, tricodec::plugin::DecodeVideoMixed, ::dali::Mixed);
