// SPDX-License-Identifier: Apache-2.0
#include "encode/nvenc/cuda_pictures.h"

#include <ffnvcodec/dynlink_cuda.h>  // what the next header wants of cuda.h

extern "C" {
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
}

#include "base/cuda/context.h"
#include "ffmpeg/conversions.h"

namespace tricodec {
namespace {

using BufferRef = std::unique_ptr<AVBufferRef, ff::Deleter<av_buffer_unref>>;

BufferRef open_device(Device device) {
    BufferRef reference(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA));
    TRICODEC_EXPECT(reference != nullptr, unsupported, "this FFmpeg was built without CUDA");
    auto* context = reinterpret_cast<AVHWDeviceContext*>(reference->data);
    auto* cuda_context = static_cast<AVCUDADeviceContext*>(context->hwctx);
    // The primary context is retained until the process ends, so that the encoder may outlive any other user of it.
    cuda_context->cuda_ctx = reinterpret_cast<CUcontext>(cuda::Context::primary(device.index)->handle());
    const int code = av_hwdevice_ctx_init(reference.get());
    TRICODEC_EXPECT(code >= 0, device, "libavutil cannot use " + device.to_string() + ": " + ff::error_text(code));
    return reference;
}

}  // namespace

CudaPictures::CudaPictures(AVCodecContext& context, Device device, PixelFormat format, int width, int height)
    : device_(device) {
    const ff::CallLog call_log;
    const BufferRef opened = open_device(device);
    frames_.reset(av_hwframe_ctx_alloc(opened.get()));
    TRICODEC_EXPECT(frames_ != nullptr, out_of_memory, "could not allocate a description of pictures");
    auto* frames = reinterpret_cast<AVHWFramesContext*>(frames_->data);
    frames->format = AV_PIX_FMT_CUDA;
    frames->sw_format = ff::to_av(format);
    frames->width = width;
    frames->height = height;
    const int code = av_hwframe_ctx_init(frames_.get());
    TRICODEC_EXPECT(
        code >= 0, unsupported,
        "pictures of " + std::string(to_string(format)) + " cannot be encoded on a GPU: " + ff::error_text(code));
    context.pix_fmt = AV_PIX_FMT_CUDA;
    context.sw_pix_fmt = frames->sw_format;
    context.hw_frames_ctx = av_buffer_ref(frames_.get());
    TRICODEC_EXPECT(context.hw_frames_ctx != nullptr, out_of_memory, "could not allocate a reference");
}

ff::FramePtr CudaPictures::picture(const Frame& frame) const {
    // NVENC gets one address and finds the chroma behind the luma.
    const bool fits = frame.device == device_ && frame.has_single_view();
    const Frame there = fits ? frame : to_device(to_host(frame), device_, {});
    if (there.buffer) there.buffer->wait();
    auto picture = to_av_picture(there);
    picture->format = AV_PIX_FMT_CUDA;
    picture->hw_frames_ctx = av_buffer_ref(frames_.get());
    TRICODEC_EXPECT(picture->hw_frames_ctx != nullptr, out_of_memory, "could not allocate a reference");
    return picture;
}

}  // namespace tricodec
