// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/kernel_set.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/cuda/driver.h"
#include "base/cuda/memory_report.h"
#include "base/never_destroyed.h"
#include "tricodec/base/error.h"

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
    static NeverDestroyed<KernelTargets> known(are_disabled() ? KernelTargets() : compiled());
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

ModuleHandle KernelSet::load(Context& context) const {
    const std::string missing = missing_kernels_reason();
    TRICODEC_EXPECT(missing.empty(), unsupported, what_ + ": " + missing + "; work on the CPU");
    const ContextScope scope(context);
    ModuleHandle module = nullptr;
    const Result result = api().module_load_data(&module, bytes_);
    const DeviceProperties& gpu = context.properties();
    TRICODEC_EXPECT(result != kNoBinaryForGpu, unsupported,
                    what_ + ": the kernels of this build do not run on " + gpu.name + " (compute capability " +
                        std::to_string(gpu.major) + "." + std::to_string(gpu.minor) +
                        "); rebuild with it in TRICODEC_CUDA_ARCHITECTURES, or work on the CPU");
    check_memory(context, result, "loading kernels");
    return module;
}

FunctionHandle KernelSet::find(const std::shared_ptr<Context>& context, const std::string& name) {
    const std::lock_guard lock(mutex_);
    std::erase_if(loaded_, [](const Loaded& loaded) { return loaded.context.expired(); });
    auto found = std::find_if(loaded_.begin(), loaded_.end(),
                              [&](const Loaded& loaded) { return loaded.context.lock() == context; });
    if (found == loaded_.end()) {
        const ModuleHandle module = load(*context);
        found = loaded_.insert(loaded_.end(), {context, module, {}});
    }
    FunctionHandle& function = found->functions[name];
    if (function == nullptr) {
        const ContextScope scope(*context);
        check(api().module_get_function(&function, found->module, name.c_str()), "finding the kernel " + name);
    }
    return function;
}

}  // namespace tricodec::cuda
