// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/kernel_targets.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace tricodec::cuda {
namespace {

bool are_disabled() {
    const char* text = std::getenv("TRICODEC_DISABLE_CUDA_KERNELS");
    return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

KernelTargets compiled() {
#ifdef TRICODEC_KERNEL_ARCHITECTURES
    return {{TRICODEC_KERNEL_ARCHITECTURES}, TRICODEC_KERNEL_PTX};
#else
    return {};
#endif
}

}  // namespace

bool KernelTargets::run_on(int major, int minor) const noexcept {
    const bool binary = std::any_of(architectures.begin(), architectures.end(), [&](int architecture) {
        return architecture / 10 == major && architecture % 10 <= minor;
    });
    return binary || (ptx != 0 && ptx <= major * 10 + minor);
}

const KernelTargets& kernel_targets() {
    static const auto* known = new KernelTargets(are_disabled() ? KernelTargets() : compiled());
    return *known;
}

std::string missing_kernels_reason() {
    if (kernel_targets().ptx != 0) return {};
    if (compiled().ptx != 0) return "TRICODEC_DISABLE_CUDA_KERNELS is set";
    return "this build has no CUDA kernels, because nvcc was not found when it was built";
}

std::string missing_kernels_reason(const std::string& gpu, int major, int minor) {
    auto reason = missing_kernels_reason();
    if (!reason.empty() || kernel_targets().run_on(major, minor)) return reason;
    return "the kernels of this build do not run on " + gpu + " (compute capability " + std::to_string(major) + "." +
           std::to_string(minor) + "); rebuild with it in TRICODEC_CUDA_ARCHITECTURES";
}

std::string kernels_in_words() {
    const KernelTargets targets = compiled();
    if (targets.ptx == 0) return "not in this build";
    std::string text = "in this build for ";
    for (const int architecture : targets.architectures) text += "sm_" + std::to_string(architecture) + ", ";
    return text + "PTX of compute_" + std::to_string(targets.ptx);
}

}  // namespace tricodec::cuda
