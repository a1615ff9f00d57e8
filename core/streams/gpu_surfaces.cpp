// SPDX-License-Identifier: Apache-2.0
#include "streams/gpu_surfaces.h"

#include <map>
#include <mutex>

#include "base/cuda/context.h"
#include "base/never_destroyed.h"
#include "tricodec/base/error.h"

namespace tricodec::streams {
namespace {

// AV_CUDA_USE_PRIMARY_CONTEXT of libavutil/hwcontext_cuda.h, which includes CUDA's own headers.
constexpr int kUsePrimaryContext = 1;

struct Devices {
    std::mutex mutex;
    std::map<int, BufferRef> opened;
};

Devices& devices() {
    static NeverDestroyed<Devices> instance;
    return *instance;
}

/// Copies a plane of a picture to a plane of a surface; strides are in bytes.
void copy_plane(const cuda::Api& api, const std::byte* from, std::int64_t from_stride, std::uint8_t* to, int to_stride,
                std::int64_t width_bytes, std::int64_t height) {
    cuda::Copy2D copy;
    copy.source_device = reinterpret_cast<cuda::DevicePointer>(from);
    copy.source_stride_bytes = static_cast<std::size_t>(from_stride);
    copy.target_device = reinterpret_cast<cuda::DevicePointer>(to);
    copy.target_stride_bytes = static_cast<std::size_t>(to_stride);
    copy.width_bytes = static_cast<std::size_t>(width_bytes);
    copy.height = static_cast<std::size_t>(height);
    cuda::check(api.copy_2d_async(&copy, nullptr), "copying a picture to a surface");
}

void expect_rows(bool contiguous, const char* what) {
    TRICODEC_EXPECT(contiguous, invalid_argument, std::string("pictures on a GPU must have ") + what);
}

}  // namespace

int gpu_number(const std::string& hw_accel) {
    constexpr std::string_view kPrefix = "cuda";
    const std::string_view text(hw_accel);
    const auto number = text.substr(std::min(text.size(), kPrefix.size()));
    const bool digits = number.size() > 1 && number.size() < 5 && number[0] == ':' &&
                        number.find_first_not_of("0123456789", 1) == std::string_view::npos;
    TRICODEC_EXPECT(text.starts_with(kPrefix) && (number.empty() || digits), invalid_argument,
                    "hw_accel '" + hw_accel + "' is not accepted; use 'cuda' or 'cuda:N', or None for the CPU");
    return number.empty() ? 0 : std::stoi(std::string(number.substr(1)));
}

Device device_of(const std::string& hw_accel) {
    if (hw_accel.empty() || hw_accel == "cpu") return {};
    return {Device::Kind::cuda, gpu_number(hw_accel)};
}

BufferRef hw_device(const std::string& hw_accel) {
    const int number = gpu_number(hw_accel);
    auto& all = devices();
    std::lock_guard lock(all.mutex);
    auto& device = all.opened[number];
    if (device == nullptr) {
        ff::install_log();
        const ff::CallLog call_log;
        AVBufferRef* made = nullptr;
        const int code = av_hwdevice_ctx_create(&made, AV_HWDEVICE_TYPE_CUDA, std::to_string(number).c_str(), nullptr,
                                                kUsePrimaryContext);
        if (code < 0) {
            fail(ErrorCode::device, "hw_accel '" + hw_accel + "' is not available on this machine: " +
                                        ff::error_text(code) + "; use None for the CPU");
        }
        device.reset(made);
    }
    BufferRef shared(av_buffer_ref(device.get()));
    TRICODEC_EXPECT(shared != nullptr, out_of_memory, "could not share a device");
    return shared;
}

void clear_hw_devices() noexcept {
    auto& all = devices();
    std::lock_guard lock(all.mutex);
    all.opened.clear();
}

SurfaceMaker::SurfaceMaker(const std::string& hw_accel, AVPixelFormat format, int width, int height)
    : gpu_(gpu_number(hw_accel)), format_(format), width_(width), height_(height) {
    TRICODEC_EXPECT(format == AV_PIX_FMT_YUV444P || format == AV_PIX_FMT_NV12 || format == AV_PIX_FMT_GBRP ||
                        format == AV_PIX_FMT_RGB0 || format == AV_PIX_FMT_BGR0,
                    invalid_argument,
                    std::string("format '") + av_get_pix_fmt_name(format) +
                        "' is not encoded from a GPU's memory; use yuv444p, nv12, gbrp, rgb0 or bgr0");
    const ff::CallLog call_log;
    const auto device = hw_device(hw_accel);
    frames_.reset(av_hwframe_ctx_alloc(device.get()));
    TRICODEC_EXPECT(frames_ != nullptr, out_of_memory, "could not allocate surfaces");
    auto& frames = *reinterpret_cast<AVHWFramesContext*>(frames_->data);
    frames.format = AV_PIX_FMT_CUDA;
    frames.sw_format = format;
    frames.width = width;
    frames.height = height;
    frames.initial_pool_size = 0;  // grows while an encoder holds surfaces
    ff::check(av_hwframe_ctx_init(frames_.get()), "cannot make surfaces on '" + hw_accel + "'");
}

AVFrame* SurfaceMaker::make(const TensorView& picture) {
    TRICODEC_EXPECT(picture.device.index == gpu_, invalid_argument,
                    "the tensor is on '" + picture.device.to_string() +
                        "', but the stream was made for 'cuda:" + std::to_string(gpu_) + "'");
    const ff::CallLog call_log;
    surface_ = ff::make_frame();
    ff::check(av_hwframe_get_buffer(frames_.get(), surface_.get(), 0), "could not take a surface");
    const auto& api = cuda::api();
    const cuda::ContextScope scope(*cuda::Context::primary(gpu_));
    const auto* from = static_cast<const std::byte*>(picture.data);
    const auto& strides = picture.strides_bytes;
    if (format_ == AV_PIX_FMT_NV12) {
        expect_rows(strides[2] == 1, "contiguous rows");
        copy_plane(api, from, strides[1], surface_->data[0], surface_->linesize[0], width_, height_);
        copy_plane(api, from + height_ * strides[1], strides[1], surface_->data[1], surface_->linesize[1], width_,
                   height_ / 2);
    } else if (format_ == AV_PIX_FMT_YUV444P || format_ == AV_PIX_FMT_GBRP) {
        expect_rows(strides[2] == 1, "contiguous rows: call .contiguous()");
        const auto& description = *av_pix_fmt_desc_get(format_);
        for (int c = 0; c < 3; ++c) {
            const int plane = description.comp[c].plane;
            copy_plane(api, from + c * strides[0], strides[1], surface_->data[plane], surface_->linesize[plane], width_,
                       height_);
        }
    } else {
        expect_rows(picture.shape[0] == 4 && strides[0] == 1 && strides[2] == 4,
                    "four channels that lie side by side: torch.nn.functional.pad(x, (0, 0, 0, 0, 0, 1))"
                    ".contiguous(memory_format=torch.channels_last)");
        copy_plane(api, from, strides[1], surface_->data[0], surface_->linesize[0], std::int64_t{4} * width_, height_);
    }
    cuda::check(api.stream_synchronize(nullptr), "copying a picture to a surface");
    return surface_.get();
}

}  // namespace tricodec::streams
