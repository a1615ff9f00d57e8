// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/kernel_set.h"

#include <algorithm>

#include "base/cuda/driver.h"
#include "base/cuda/kernel_targets.h"
#include "base/cuda/memory_report.h"
#include "tricodec/base/error.h"

namespace tricodec::cuda {

std::string KernelSet::missing_reason() const {
    return missing_kernels_reason();
}

ModuleHandle KernelSet::load(Context& context) const {
    const std::string missing = missing_reason();
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
