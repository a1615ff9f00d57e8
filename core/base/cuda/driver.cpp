// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/driver.h"

#include "base/fork.h"
#include "base/never_destroyed.h"
#include "base/shared_library.h"
#include "tricodec/base/error.h"

namespace tricodec::cuda {
namespace {

constexpr int kOldestDriver = 11000;  // CUDA 11.0: the oldest with every function of the first list

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

struct Driver {
    Api api;
    ForkMark opened_here;
    std::string reason = open();  // why it is not usable; empty when it is

    std::string open() {
        const ForkGuard guard;
        SharedLibrary library("libcuda.so.1");
        if (!library.is_open()) return "no NVIDIA driver is installed here (" + library.error() + ")";
#define TRICODEC_CUDA_FIND(name, symbol, arguments) library.find(api.name, symbol);
        TRICODEC_CUDA_FUNCTIONS(TRICODEC_CUDA_FIND)
        const std::string missing = library.missing();
        TRICODEC_CUDA_OPTIONAL_FUNCTIONS(TRICODEC_CUDA_FIND)
#undef TRICODEC_CUDA_FIND
        if (api.driver_get_version == nullptr || api.driver_get_version(&api.driver_version) != kSuccess) {
            return "libcuda.so.1 does not tell its version; reinstall the NVIDIA driver";
        }
        if (!missing.empty() || api.driver_version < kOldestDriver) {
            return "the NVIDIA driver is too old: it is of CUDA " + version_text(api.driver_version) + ", " +
                   version_text(kOldestDriver) + " or newer is needed" +
                   (missing.empty() ? "" : " (it has no " + missing + ")");
        }
        return initialise();
    }

    std::string initialise() {
        const Result result = api.init(0);
        if (result == kNoDevice) return "the NVIDIA driver sees no GPU (is CUDA_VISIBLE_DEVICES empty?)";
        if (result == kSystemDriverMismatch || result == kCompatNotSupported) {
            return "the NVIDIA driver's parts are of different versions: " + text(result) +
                   "; reboot, or make the container's libcuda match the host's kernel module";
        }
        if (result == kStubLibrary) return "libcuda.so.1 is the CUDA toolkit's stub; the NVIDIA driver's own is needed";
        if (result != kSuccess) return "the NVIDIA driver does not start: " + text(result);
        if (api.device_get_count(&api.num_devices) != kSuccess || api.num_devices == 0) {
            return "the NVIDIA driver sees no GPU";
        }
        return {};
    }

    [[nodiscard]] std::string text(Result result) const {
        const char* name = nullptr;
        const char* words = nullptr;
        if (api.get_error_name == nullptr || api.get_error_name(result, &name) != kSuccess || name == nullptr) {
            return "CUDA error " + std::to_string(result);
        }
        if (api.get_error_string(result, &words) != kSuccess || words == nullptr) return name;
        return std::string(name) + ": " + words;
    }
};

const Driver& driver() {
    static NeverDestroyed<Driver> opened;
    return *opened;
}

}  // namespace

const Api* try_api(std::string_view* reason) noexcept {
    static constexpr std::string_view kForked =
        "this process was forked from one that had started CUDA, where it does not work; "
        "ask tricodec.node.connect(start=True), or start worker processes with the 'spawn' method";
    std::string_view why;
    const Api* found = nullptr;
    try {
        const auto& opened = driver();
        if (!opened.reason.empty()) {
            why = opened.reason;
        } else if (opened.opened_here.in_child()) {
            why = kForked;
        } else {
            found = &opened.api;
        }
    } catch (...) {
        why = "out of memory";
    }
    if (reason != nullptr) *reason = why;
    return found;
}

const Api& api() {
    std::string_view reason;
    const Api* found = try_api(&reason);
    TRICODEC_EXPECT(found != nullptr, device, "CUDA is not usable: " + std::string(reason) + "; use device='cpu'");
    return *found;
}

std::string describe(Result result) {
    return driver().text(result);
}

bool context_is_lost(Result result) noexcept {
    switch (result) {
        case 201:  // INVALID_CONTEXT
        case 214:  // ECC_UNCORRECTABLE
        case 220:  // NVLINK_UNCORRECTABLE
        case 226:  // CONTAINED
        case 700:  // ILLEGAL_ADDRESS
        case 702:  // LAUNCH_TIMEOUT
        case 709:  // CONTEXT_IS_DESTROYED
        case 710:  // ASSERT
        case 714:  // HARDWARE_STACK_ERROR
        case 715:  // ILLEGAL_INSTRUCTION
        case 716:  // MISALIGNED_ADDRESS
        case 717:  // INVALID_ADDRESS_SPACE
        case 718:  // INVALID_PC
        case 719:  // LAUNCH_FAILED
        case 721:  // TENSOR_MEMORY_LEAK
            return true;
        default:
            return false;
    }
}

bool device_is_at_fault(Result result) noexcept {
    switch (result) {
        case kNotInitialized:
        case kDeinitialized:
        case 46:  // DEVICE_UNAVAILABLE
        case kNoDevice:
        case kInvalidDevice:
        case 205:  // MAP_FAILED
        case 206:  // UNMAP_FAILED
        case 304:  // OPERATING_SYSTEM
        case kInvalidHandle:
        case 802:  // SYSTEM_NOT_READY
        case kSystemDriverMismatch:
            return true;
        default:
            return context_is_lost(result);
    }
}

void fail(Result result, std::string_view what) {
    const auto message = std::string(what) + " failed: " + describe(result);
    if (result == kOutOfMemory) tricodec::fail(ErrorCode::out_of_memory, message);
    if (context_is_lost(result)) {
        tricodec::fail(ErrorCode::device,
                       message +
                           "; the CUDA context is lost, which ends the use of this GPU in this process: "
                           "start a new process, or use device='cpu'");
    }
    tricodec::fail(ErrorCode::device, message);
}

void check(Result result, std::string_view what) {
    if (result != kSuccess) fail(result, what);
}

}  // namespace tricodec::cuda
