// SPDX-License-Identifier: Apache-2.0
#include "streams/hw_device.h"

#include <map>
#include <mutex>

#include "tricodec/error.h"

namespace tricodec::streams {
namespace {

// AV_CUDA_USE_PRIMARY_CONTEXT of libavutil/hwcontext_cuda.h, which includes CUDA's own headers.
constexpr int kUsePrimaryContext = 1;

struct Devices {
    std::mutex mutex;
    std::map<int, BufferRef> opened;
};

// Leaked on purpose: the driver may be gone when static objects are destroyed.
Devices& devices() {
    static auto* instance = new Devices;
    return *instance;
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
            fail(ErrorCode::device, "hw_accel '" + hw_accel + "' cannot be had on this machine: " +
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

}  // namespace tricodec::streams
