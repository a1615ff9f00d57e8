// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/module.h"

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "base/cuda/driver.h"
#include "tricodec/error.h"

#ifdef TRICODEC_HAVE_KERNELS
extern "C" const unsigned char tricodec_kernels_transform_kernels[] __attribute__((visibility("hidden")));
#endif

namespace tricodec::image::gpu {
namespace {

const void* kernel_bytes() {
#ifdef TRICODEC_HAVE_KERNELS
    return tricodec_kernels_transform_kernels;
#else
    return nullptr;
#endif
}

/// The kernels in one context. They go with the context: there is no way to tell when a borrowed one is gone.
struct Loaded {
    std::weak_ptr<cuda::Context> context;
    cuda::ModuleHandle module = nullptr;
    std::map<std::string, cuda::FunctionHandle> functions;
};

cuda::ModuleHandle load_module(const cuda::Context& context) {
    const std::string missing = missing_kernels_reason();
    TRICODEC_EXPECT(missing.empty(), unsupported, "frames on a GPU cannot be transformed: " + missing);
    const cuda::ContextScope scope(context);
    cuda::ModuleHandle module = nullptr;
    const cuda::Result result = cuda::api().module_load_data(&module, kernel_bytes());
    const cuda::DeviceProperties& gpu = context.properties();
    TRICODEC_EXPECT(result != cuda::kNoBinaryForGpu, unsupported,
                    "frames on a GPU cannot be transformed: the kernels of this build do not run on " + gpu.name +
                        " (compute capability " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor) +
                        "); rebuild with it in TRICODEC_CUDA_ARCHITECTURES, or use frames on the CPU");
    cuda::check(result, "loading the transform's kernels");
    return module;
}

struct Registry {
    std::mutex mutex;
    std::list<Loaded> loaded;
};

// Leaked on purpose: a context may be gone before static objects are.
Registry& registry() {
    static auto* all = new Registry;
    return *all;
}

}  // namespace

std::string missing_kernels_reason() {
    if (kernel_bytes() != nullptr) return {};
    return "this build has no CUDA kernels, because nvcc was not found when it was built";
}

cuda::FunctionHandle find_kernel(const std::shared_ptr<cuda::Context>& context, const std::string& name) {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.loaded, [](const Loaded& loaded) { return loaded.context.expired(); });
    auto found = std::find_if(all.loaded.begin(), all.loaded.end(),
                              [&](const Loaded& loaded) { return loaded.context.lock() == context; });
    if (found == all.loaded.end()) {
        const cuda::ModuleHandle module = load_module(*context);
        found = all.loaded.insert(all.loaded.end(), {context, module, {}});
    }
    cuda::FunctionHandle& function = found->functions[name];
    if (function == nullptr) {
        const cuda::ContextScope scope(*context);
        const cuda::Result result = cuda::api().module_get_function(&function, found->module, name.c_str());
        cuda::check(result, "finding the kernel " + name);
    }
    return function;
}

}  // namespace tricodec::image::gpu
